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

// applicationSpecHash identifies the spec of a delivered Application as [Redirect] returns it.
// Parts of the hub's spec that are not delivered do not count.
func applicationSpecHash(spec json.RawMessage) string {
	sum := sha256.Sum256(spec)
	return hex.EncodeToString(sum[:8])
}

// ApplicationSpecHash identifies the delivered part of an Application's spec. It is "" if the spec
// is malformed.
func ApplicationSpecHash(app *argocd.Application) string {
	spec, err := Redirect(app.Spec, app.Annotations)
	if err != nil {
		return ""
	}
	return applicationSpecHash(spec)
}

// Undelivered reports whether an Application has a spec that its work does not deliver, because of
// a pause or a refusal, or because it waits. A work without a hash counts as delivering the spec.
// So does every work of an Application that is being deleted, because it gets no more changes.
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

// KeepApplicationSpec copies the hash of current to want, which has the Application of current.
// Only other manifests change.
func KeepApplicationSpec(current *manifestcache.Work, want *workv1.ManifestWork) {
	delete(want.Annotations, contract.ApplicationSpecAnnotation)
	if hash := current.Stored.ApplicationSpec; hash != "" {
		want.Annotations[contract.ApplicationSpecAnnotation] = hash
	}
}
