// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// loss is what an answer about one cluster lacks of what was known before.
type loss struct {
	// apps are the Applications that vanished.
	apps []string
	// objects are the resources that vanished from Applications that are still
	// there, and that no other Application of the cluster has taken over.
	objects []intermediate.Resource
	// unproven are the Applications that nothing is known of, whose answer shows no
	// object and does not say why. A failed relations statement looks like that.
	unproven []string
}

func (l *loss) none() bool { return len(l.apps)+len(l.objects)+len(l.unproven) == 0 }

// equal tells whether two reads lack the same.
func (l *loss) equal(o *loss) bool {
	return slices.Equal(l.apps, o.apps) && slices.Equal(l.objects, o.objects) && slices.Equal(l.unproven, o.unproven)
}

// lost compares an answer about one cluster with what is known; both are sorted.
func lost(known, fresh []translate.Application) loss {
	var l loss
	listed := map[intermediate.Resource]bool{}
	for i := range fresh {
		for _, r := range fresh[i].Resources {
			listed[r] = true
		}
	}
	find := func(in []translate.Application, a *translate.Application) (*translate.Application, bool) {
		i, ok := slices.BinarySearchFunc(in, a, func(e translate.Application, a *translate.Application) int { return e.Compare(a) })
		if !ok {
			return nil, false
		}
		return &in[i], true
	}
	for i := range known {
		if _, ok := find(fresh, &known[i]); !ok {
			l.apps = append(l.apps, name(&known[i]))
			continue
		}
		for _, r := range known[i].Resources {
			if !listed[r] {
				l.objects = append(l.objects, r)
			}
		}
	}
	for i := range fresh {
		if before, ok := find(known, &fresh[i]); fresh[i].Bare && (!ok || !before.Bare && len(before.Resources) == 0) {
			l.unproven = append(l.unproven, name(&fresh[i]))
		}
	}
	slices.SortFunc(l.objects, translate.CompareResources)
	l.objects = slices.Compact(l.objects)
	return l
}

func name(a *translate.Application) string {
	return a.Set.String() + ":" + a.Namespace + "/" + a.Name
}
