// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Keys of rendered mode, in which the hub's Argo CD renders an Application and
// delivers the manifests themselves in ManifestWorks.
const (
	// RenderedLabel is "true" on a rendered Application and on its ManifestWorks.
	RenderedLabel = group + "rendered"
	// RenderedApplicationAnnotation on such a work holds the Application's name as
	// Argo CD passes it to a plugin: "<namespace>_<name>" outside Argo CD's namespace.
	RenderedApplicationAnnotation = group + "rendered-application"
)

// RenderedWorkName returns the name of a rendered Application's ManifestWork.
// application is what Argo CD passes to a plugin; suffix distinguishes the works of
// one Application. The one without a suffix has the Application's name. Every other ends
// in a hash of both, since an Application of the same cluster may be called like the work
// of another. Names past 180 characters are cut and get a hash: the agent prefixes its
// own object for the work with 65 characters.
func RenderedWorkName(application, suffix string) string {
	name := strings.ReplaceAll(application, "_", ".") + suffix
	if name != application {
		sum := sha256.Sum256([]byte(application + "\x00" + suffix))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return shorten(name, 180)
}
