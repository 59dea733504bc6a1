// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
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

func (f *gatherer) relation(ctx context.Context, app *argocd.Application, work *manifestcache.Cached) (relation, error) {
	if payload.IsOwnWork(app, work) {
		return own, nil
	}
	if there, ok := work.Kept.Delivers(); payload.Delivers(app, work, there, ok) {
		return adoptable, nil
	}
	owner, err := f.ownerByName(ctx, work)
	if err != nil || owner {
		return ownedByOther, err
	}
	return leftover, nil
}

// ownerByName reports whether a work's name is that of a pulled Application which is
// to be on the work's cluster: that one repairs what was changed on it.
func (f *gatherer) ownerByName(ctx context.Context, work *manifestcache.Cached) (bool, error) {
	var list argocd.ApplicationList
	err := f.client.List(ctx, &list, client.MatchingFields{applicationsByCluster: work.Namespace}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list Applications of cluster %s: %w", work.Namespace, err)
	}
	for i := range list.Items {
		if contract.IsPulled(list.Items[i].Labels) && slices.Contains(payload.WorkNames(&list.Items[i]), work.Name) {
			return true, nil
		}
	}
	return false, nil
}

// copies are the works of one Application.
type copies struct {
	// current carries the Application to its target; nil when none does.
	current *manifestcache.Cached
	// terminating is on the target and on its way out.
	terminating *manifestcache.Cached
	// surplus are on the target, too, and go once current is applied.
	surplus []manifestcache.Cached
	// elsewhere are on clusters that are not the target, or not any more; former are on the
	// target and deliver another identity. Both go once current is applied.
	elsewhere, former []manifestcache.Cached
	// all are all of these, proven those whose end the Application's deletion waits for.
	all, proven []manifestcache.Cached
}

// standing returns the work that runs on the target for as long as what is wanted does not:
// the current one, else a former one. nil when there is none.
func (c *copies) standing() *manifestcache.Cached {
	if c.current != nil || len(c.former) == 0 {
		return c.current
	}
	return &c.former[0]
}

// copiesOf sorts the works that name an Application; [payload.CurrentWork] says which
// of several on the target is the current one.
func (f *gatherer) copiesOf(ctx context.Context, app *argocd.Application, works []manifestcache.Cached) (copies, error) {
	var c copies
	staying := make([]*manifestcache.Cached, 0, len(works))
	for i := range works {
		if works[i].DeletionTimestamp == nil {
			staying = append(staying, &works[i])
		}
	}
	if i := payload.CurrentWork(app, staying, func(w *manifestcache.Cached) (types.NamespacedName, bool) { return w.Kept.Delivers() }); i >= 0 {
		c.current = staying[i]
	}
	for i := range works {
		work := &works[i]
		is, err := f.relation(ctx, app, work)
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
		case !current(app, work):
			c.former = append(c.former, *work)
		case work.DeletionTimestamp != nil:
			c.terminating = work
		case work != c.current:
			c.surplus = append(c.surplus, *work)
		}
	}
	return c, nil
}

func current(app *argocd.Application, work *manifestcache.Cached) bool {
	there, ok := work.Kept.Delivers()
	return payload.IsCurrent(app, work, there, ok)
}

// unowned returns the works that no living Application has by its name: the works
// of an Application that is gone.
func (f *gatherer) unowned(ctx context.Context, works []manifestcache.Cached) ([]manifestcache.Cached, error) {
	var list []manifestcache.Cached
	for i := range works {
		owned, err := f.ownerByName(ctx, &works[i])
		if err != nil {
			return nil, err
		}
		if !owned {
			list = append(list, works[i])
		}
	}
	return list, nil
}
