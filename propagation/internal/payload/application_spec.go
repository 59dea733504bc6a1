// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// applicationSpecHash identifies the spec of a delivered Application, as [Redirect]
// returns it: what of the hub's spec is not delivered is not in it, nor anything of ours.
func applicationSpecHash(spec json.RawMessage) string {
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:8])
}

// ApplicationSpecHash identifies what is delivered of an Application's spec, "" for a malformed one.
func ApplicationSpecHash(app *argocd.Application) string {
	spec, err := Redirect(app.Spec, app.Annotations)
	if err != nil {
		return ""
	}
	return applicationSpecHash(spec)
}

// Undelivered reports whether an Application has a spec that its work does not deliver,
// because it is paused or refused, or waits. A work that does not say which spec it was
// made of is taken to deliver it, and so is every work of an Application that is being
// deleted, which gets no changes any more.
func Undelivered(app *argocd.Application, work *manifestcache.Work) bool {
	hash := work.Stored.ApplicationSpec
	if hash == "" || app.DeletionTimestamp != nil {
		return false
	}
	if omitted, is := manifestcache.OmittedHash(app.Spec); is {
		return omitted != hash
	}
	return ApplicationSpecHash(app) != hash
}

// KeepApplicationSpec makes want, whose Application is that of current, say so: only what
// is beside it changes.
func KeepApplicationSpec(current *manifestcache.Work, want *workv1.ManifestWork) {
	delete(want.Annotations, contract.ApplicationSpecAnnotation)
	if hash := current.Stored.ApplicationSpec; hash != "" {
		want.Annotations[contract.ApplicationSpecAnnotation] = hash
	}
}
