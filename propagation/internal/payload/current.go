// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// WorkNames returns the names that an Application's new work may have, in the order
// in which they are tried: the contract's first, then ones with more of the UID for
// when another work has it.
func WorkNames(app *argocd.Application) []string {
	uid := string(app.UID)
	return []string{
		contract.WorkName(app.Name, uid),
		contract.SafeWorkName(app.Name + "-" + uid[:min(13, len(uid))]),
		contract.SafeWorkName(app.Name + "-" + uid),
	}
}

// IsOwnWork reports whether a work is proven to be the Application's: its name was
// made from the Application's UID, or it carries that UID in full.
func IsOwnWork(app *argocd.Application, work metav1.Object) bool {
	return slices.Contains(WorkNames(app), work.GetName()) ||
		app.UID != "" && work.GetAnnotations()[contract.HubUIDAnnotation] == string(app.UID)
}

// Delivers reports whether a work lies on the Application's target and delivers just
// what the Application is to be there. delivered is what the work delivers, ok is
// false when that is no Application of the name that the work's annotations give.
func Delivers(app *argocd.Application, work metav1.Object, delivered types.NamespacedName, ok bool) bool {
	return ok && work.GetNamespace() == app.Annotations[contract.ClusterAnnotation] && delivered == DeliveredName(app)
}

// IsCurrent reports whether a work stands for the Application on its target: it delivers
// just what the Application is to be there, or it is the Application's own and delivers
// no Application any more, which is repaired. A work delivers one identity (cluster,
// namespace, name) for life: an own work of another identity is a former one.
func IsCurrent(app *argocd.Application, work metav1.Object, delivered types.NamespacedName, ok bool) bool {
	if !ok {
		return work.GetNamespace() == app.Annotations[contract.ClusterAnnotation] && IsOwnWork(app, work)
	}
	return Delivers(app, work, delivered, ok)
}

// CurrentWork returns the place, in works that name the Application, of the one that
// stands for it on its target: the youngest of those that [IsCurrent] accepts; of the same
// second the one whose name sorts last. -1 when there is none. A work that is being
// deleted is for the caller to leave out.
func CurrentWork[W metav1.Object](app *argocd.Application, works []W, delivered func(W) (types.NamespacedName, bool)) int {
	current := -1
	for i, work := range works {
		if there, ok := delivered(work); !IsCurrent(app, work, there, ok) {
			continue
		}
		if current < 0 || younger(work, works[current]) {
			current = i
		}
	}
	return current
}

func younger(a, b metav1.Object) bool {
	created, before := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if created.Equal(&before) {
		return a.GetName() > b.GetName()
	}
	return before.Before(&created)
}
