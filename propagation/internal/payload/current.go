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

// WorkNames returns the names that an Application's new work may have, in the order in which they
// are tried. The first one is the contract's name. The next ones have more of the UID, in case
// another work has that name. The last one includes the delivered identity. So a free name exists,
// however many former identities wait for their agent. A work with the last name carries the UID.
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

// ProvenByName reports whether a work's name proves that it belongs to the Application, whatever it
// delivers.
func ProvenByName(app *argocd.Application, name string) bool {
	return slices.Contains(WorkNames(app)[:3], name)
}

// IsOwnWork reports whether a work is proven to belong to the Application. Its name was made from
// the Application's UID, or it carries the whole UID.
func IsOwnWork(app *argocd.Application, work *manifestcache.Work) bool {
	return slices.Contains(WorkNames(app), work.Name) ||
		app.UID != "" && work.Annotations[contract.HubUIDAnnotation] == string(app.UID)
}

// Delivers reports whether a work is on the Application's target and delivers the desired identity.
func Delivers(app *argocd.Application, work *manifestcache.Work) bool {
	existing, ok := work.Delivers()
	return ok && work.Namespace == app.Annotations[contract.ClusterAnnotation] && existing == DeliveredName(app)
}

// IsCurrent reports whether a work delivers the Application to its target with the desired
// identity. An own work that no longer delivers an Application also counts, and is repaired. A work
// never changes its identity (cluster, namespace, name): an own work with another identity is a
// former one.
func IsCurrent(app *argocd.Application, work *manifestcache.Work) bool {
	if _, ok := work.Delivers(); !ok {
		return work.Namespace == app.Annotations[contract.ClusterAnnotation] && IsOwnWork(app, work)
	}
	return Delivers(app, work)
}

// CurrentWork returns the work that delivers the Application to its target, or nil. It is the
// youngest work that [IsCurrent] accepts. If two were created in the same second, the last name
// wins. The caller has to leave out works that are being deleted.
func CurrentWork(app *argocd.Application, works []*manifestcache.Work) *manifestcache.Work {
	return youngest(works, func(w *manifestcache.Work) bool { return IsCurrent(app, w) })
}

// YoungestOwnWork returns the youngest work that [IsOwnWork] accepts, or nil.
func YoungestOwnWork(app *argocd.Application, works []*manifestcache.Work) *manifestcache.Work {
	return youngest(works, func(w *manifestcache.Work) bool { return IsOwnWork(app, w) })
}

func youngest(works []*manifestcache.Work, accept func(*manifestcache.Work) bool) (best *manifestcache.Work) {
	for _, work := range works {
		if accept(work) && (best == nil || younger(work, best)) {
			best = work
		}
	}
	return best
}

func younger(a, b *manifestcache.Work) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name > b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}
