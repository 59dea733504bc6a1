// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"fmt"
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
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

// copies are the works of one Application.
type copies struct {
	// current carries the Application to its target; nil when none does.
	current *manifestcache.Work
	// terminating is on the target and on its way out.
	terminating *manifestcache.Work
	// surplus are on the target, too, and go once current is applied.
	surplus []*manifestcache.Work
	// elsewhere are on clusters that are not the target, or not any more; former are on the
	// target and deliver another identity. Both go once current is applied.
	elsewhere, former []*manifestcache.Work
	// all are all of these, proven those whose end the Application's deletion waits for.
	all, proven []*manifestcache.Work
}

// standing returns the work that runs on the target for as long as what is wanted does not:
// the current one, else a former one. nil when there is none.
func (c *copies) standing() *manifestcache.Work {
	if c.current != nil || len(c.former) == 0 {
		return c.current
	}
	return c.former[0]
}

// places names works for people.
func places(works []*manifestcache.Work) []string {
	names := make([]string, 0, len(works))
	for _, work := range works {
		names = append(names, fmt.Sprintf("cluster %q (ManifestWork %s)", work.Namespace, work.Name))
	}
	return names
}

// isArgoFinalizer reports whether Argo CD of the managed cluster, not the hub's,
// does what a finalizer asks for.
func isArgoFinalizer(f string) bool {
	base, _, _ := strings.Cut(f, "/")
	return base == argocd.ResourcesFinalizer || base == argocd.PostDeleteFinalizer
}
