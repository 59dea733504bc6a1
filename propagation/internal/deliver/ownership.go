// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/workindex"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// relation is what a work whose annotations name an Application is to it.
//
// The annotations alone prove nothing: a work agent may change the metadata of every
// ManifestWork in its own namespace, and would otherwise hold up the deletion of
// another tenant's Application, or have works deleted and made again for ever, by
// naming it. What an agent can neither change nor make is a work's name and
// namespace. So a work is an Application's own when
//
//   - its name was made from the Application's UID, or
//   - it carries that UID in full, which propagation writes on a work that it adopts
//     and which only clusters that had the Application have ever seen, or
//   - it lies on the Application's present target and delivers just what is wanted
//     there: of an earlier life of the Application (deleted and made again, restored
//     from a backup), whose copy is to go on running. What such an agent could
//     pretend concerns its own cluster only.
//
// A work that names an Application without any of these belongs to whichever
// Application has its name, or is a leftover of an earlier life on an earlier
// target. That one is deleted, once, and nothing waits for it.
//
// The proofs lie in the objects themselves: they are the same after a restart, and
// only an adoption writes anything.
type relation int

const (
	ownedByOther relation = iota // another Application's, whatever the annotations say
	leftover                     // no living Application's
	adoptable                    // of an earlier life, and just what is wanted
	own                          // proven
)

func (r *Reconciler) relation(ctx context.Context, app *argocd.Application, work *workv1.ManifestWork) (relation, error) {
	if payload.IsOwnWork(app, work) {
		return own, nil
	}
	if there, ok := workindex.Delivered(work); payload.Delivers(app, work, there, ok) {
		return adoptable, nil
	}
	owner, err := r.ownerByName(ctx, work)
	if err != nil || owner {
		return ownedByOther, err
	}
	return leftover, nil
}

// ownerByName reports whether a work's name is that of a pulled Application which is
// to be on the work's cluster: that one repairs what was changed on it.
func (r *Reconciler) ownerByName(ctx context.Context, work *workv1.ManifestWork) (bool, error) {
	var list argocd.ApplicationList
	err := r.client.List(ctx, &list, client.MatchingFields{applicationsByCluster: work.Namespace}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list Applications of cluster %s: %w", work.Namespace, err)
	}
	for i := range list.Items {
		pulled, _ := contract.IsTrue(list.Items[i].Labels[contract.PullLabel])
		if pulled && slices.Contains(payload.WorkNames(&list.Items[i]), work.Name) {
			return true, nil
		}
	}
	return false, nil
}

// copies are the works of one Application.
type copies struct {
	// current carries the Application to its target; nil when none does.
	current *workv1.ManifestWork
	// terminating is on the target and on its way out.
	terminating *workv1.ManifestWork
	// surplus are on the target, too, and go once current is applied.
	surplus []workv1.ManifestWork
	// elsewhere are on clusters that are not the target, or not any more.
	elsewhere []workv1.ManifestWork
	// all are all of these, proven those whose end the Application's deletion waits for.
	all, proven []workv1.ManifestWork
}

// copiesOf sorts the works that name an Application; [payload.CurrentWork] says which
// of several on the target is the current one.
func (r *Reconciler) copiesOf(ctx context.Context, app *argocd.Application, works []workv1.ManifestWork) (copies, error) {
	var c copies
	staying := make([]*workv1.ManifestWork, 0, len(works))
	for i := range works {
		if works[i].DeletionTimestamp == nil {
			staying = append(staying, &works[i])
		}
	}
	if i := payload.CurrentWork(app, staying, workindex.Delivered); i >= 0 {
		c.current = staying[i]
	}
	for i := range works {
		work := &works[i]
		is, err := r.relation(ctx, app, work)
		if err != nil {
			return c, err
		}
		if is == ownedByOther {
			continue
		}
		c.all = append(c.all, *work)
		if is != leftover {
			c.proven = append(c.proven, *work)
		}
		switch {
		case work.Namespace != app.Annotations[contract.ClusterAnnotation]:
			c.elsewhere = append(c.elsewhere, *work)
		case work.DeletionTimestamp != nil:
			c.terminating = work
		case work != c.current:
			c.surplus = append(c.surplus, *work)
		}
	}
	return c, nil
}

// unowned returns the works that no living Application has by its name: the works
// of an Application that is gone.
func (r *Reconciler) unowned(ctx context.Context, works []workv1.ManifestWork) ([]workv1.ManifestWork, error) {
	var list []workv1.ManifestWork
	for i := range works {
		owned, err := r.ownerByName(ctx, &works[i])
		if err != nil {
			return nil, err
		}
		if !owned {
			list = append(list, works[i])
		}
	}
	return list, nil
}
