// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// WorkNames returns the names that an Application's new work may have, in the order
// in which they are tried: the contract's first, then ones with more of the UID for
// when another work has it. The last one has the delivered identity in it, so that there is
// one however many former identities wait for their agent; a work of that name carries the UID.
func WorkNames(app *argocd.Application) []string {
	uid := string(app.UID)
	identity := sha256.Sum256([]byte(DeliveredName(app).String()))
	return []string{
		contract.WorkName(app.Name, uid),
		contract.SafeWorkName(app.Name + "-" + uid[:min(13, len(uid))]),
		contract.SafeWorkName(app.Name + "-" + uid),
		contract.SafeWorkName(app.Name + "-" + uid + "-" + hex.EncodeToString(identity[:4])),
	}
}

// ProvenByName reports whether a work's name proves that it is the Application's, whatever it
// delivers.
func ProvenByName(app *argocd.Application, name string) bool {
	return slices.Contains(WorkNames(app)[:3], name)
}

// IsOwnWork reports whether a work is proven to be the Application's: its name was
// made from the Application's UID, or it carries that UID in full.
func IsOwnWork(app *argocd.Application, work *manifestcache.Work) bool {
	return slices.Contains(WorkNames(app), work.Name) ||
		app.UID != "" && work.Annotations[contract.HubUIDAnnotation] == string(app.UID)
}

// Delivers reports whether a work lies on the Application's target and delivers just
// what the Application is to be there.
func Delivers(app *argocd.Application, work *manifestcache.Work) bool {
	there, ok := work.Delivers()
	return ok && work.Namespace == app.Annotations[contract.ClusterAnnotation] && there == DeliveredName(app)
}

// IsCurrent reports whether a work stands for the Application on its target: it delivers
// just what the Application is to be there, or it is the Application's own and delivers
// no Application any more, which is repaired. A work delivers one identity (cluster,
// namespace, name) for life: an own work of another identity is a former one.
func IsCurrent(app *argocd.Application, work *manifestcache.Work) bool {
	if _, ok := work.Delivers(); !ok {
		return work.Namespace == app.Annotations[contract.ClusterAnnotation] && IsOwnWork(app, work)
	}
	return Delivers(app, work)
}

// CurrentWork returns, of works that name the Application, the one that stands for it on its
// target: the youngest of those that [IsCurrent] accepts; of the same second the one whose
// name sorts last. nil when there is none. A work that is being deleted is for the caller to
// leave out.
func CurrentWork(app *argocd.Application, works []*manifestcache.Work) (current *manifestcache.Work) {
	for _, work := range works {
		if IsCurrent(app, work) && (current == nil || younger(work, current)) {
			current = work
		}
	}
	return current
}

func younger(a, b *manifestcache.Work) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name > b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}
