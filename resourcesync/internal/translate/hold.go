// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Held counts the held Applications, and the held resources of existing Applications.
func Held(apps []Application) (applications, resources int) {
	for i := range apps {
		if apps[i].AbsentSince.IsZero() {
			resources += len(apps[i].Held)
		} else {
			applications++ // its resources go with it
		}
	}
	return applications, resources
}

// Merge returns fresh and, as held, the values that only known has. Values that were held before
// keep their time, others are held since now. An Application that now belongs to another
// ApplicationSet is not missing, nor is a resource that now belongs to another Application.
func Merge(known, fresh []Application, now time.Time) []Application {
	out := slices.Clone(fresh)
	listed := map[intermediate.Resource]bool{}
	existing := map[[2]string]bool{}
	for i := range fresh {
		existing[[2]string{fresh[i].Namespace, fresh[i].Name}] = true
		for _, r := range fresh[i].Resources {
			listed[r] = true
		}
	}
	for i := range known {
		before := &known[i]
		if at := find(out[:len(fresh)], before); at != nil {
			at.hold(before, listed, now)
		} else if !existing[[2]string{before.Namespace, before.Name}] {
			out = append(out, before.holdWhole(now))
		}
	}
	slices.SortFunc(out, func(a, b Application) int { return a.Compare(&b) })
	return out
}

// Loses reports whether an Application of fresh lists less than known does.
func Loses(known, fresh []Application) bool {
	for i := range known {
		if at := find(fresh, &known[i]); at != nil && slices.ContainsFunc(known[i].Resources, func(r intermediate.Resource) bool {
			_, listed := slices.BinarySearchFunc(at.Resources, r, CompareResources)
			return !listed
		}) {
			return true
		}
	}
	return false
}

// HasResources reports whether an Application has resources that are not held.
func HasResources(apps []Application) bool {
	return slices.ContainsFunc(apps, func(a Application) bool { return a.AbsentSince.IsZero() && len(a.Resources) > len(a.Held) })
}

// Expire returns apps without the values that have been held since before a time. expired is true
// if it dropped any.
func Expire(apps []Application, before time.Time) (kept []Application, expired bool) {
	over := func(h intermediate.HeldResource) bool { return h.Since.Before(before) }
	gone := func(a Application) bool { return !a.AbsentSince.IsZero() && a.AbsentSince.Before(before) }
	if !slices.ContainsFunc(apps, func(a Application) bool {
		return gone(a) || a.AbsentSince.IsZero() && slices.ContainsFunc(a.Held, over)
	}) {
		return apps, false
	}
	kept = slices.DeleteFunc(slices.Clone(apps), gone)
	for i := range kept {
		a := &kept[i]
		if !a.AbsentSince.IsZero() || !slices.ContainsFunc(a.Held, over) {
			continue
		}
		since := a.heldSince()
		a.Resources = slices.DeleteFunc(slices.Clone(a.Resources), func(r intermediate.Resource) bool {
			at, held := since[r]
			return held && at.Before(before)
		})
		a.Held = slices.DeleteFunc(slices.Clone(a.Held), over)
	}
	return kept, true
}

// holdWhole returns the Application as held, because answers leave it out.
func (a *Application) holdWhole(now time.Time) Application {
	out := *a
	if out.AbsentSince.IsZero() {
		out.AbsentSince = now
	}
	since := a.heldSince()
	out.Held = nil
	for _, r := range out.Resources {
		at, held := since[r]
		if !held {
			at = now
		}
		out.Held = append(out.Held, intermediate.HeldResource{Resource: r, Since: at})
	}
	return out
}

// hold adds the resources of before that are not listed to a's own.
func (a *Application) hold(before *Application, listed map[intermediate.Resource]bool, now time.Time) {
	since := before.heldSince()
	resources := slices.Clip(a.Resources) // shared memory must not change
	var held []intermediate.HeldResource
	for _, r := range before.Resources {
		if listed[r] {
			continue
		}
		at, known := since[r]
		if !known {
			at = now
		}
		resources = append(resources, r)
		held = append(held, intermediate.HeldResource{Resource: r, Since: at})
	}
	if len(held) == 0 {
		return
	}
	slices.SortFunc(resources, CompareResources)
	a.Resources, a.Held = resources, held
}

func (a *Application) heldSince() map[intermediate.Resource]time.Time {
	if len(a.Held) == 0 {
		return nil
	}
	out := make(map[intermediate.Resource]time.Time, len(a.Held))
	for _, h := range a.Held {
		out[h.Resource] = h.Since
	}
	return out
}

// find returns the Application with the identity of a in a sorted list, or nil.
func find(in []Application, a *Application) *Application {
	i, ok := slices.BinarySearchFunc(in, a, func(e Application, a *Application) int { return e.Compare(a) })
	if !ok {
		return nil
	}
	return &in[i]
}
