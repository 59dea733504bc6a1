// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Identity names an Application on one cluster.
type Identity struct {
	Set             intermediate.Key
	Namespace, Name string
}

// ID returns whose state a is.
func (a *Application) ID() Identity {
	return Identity{Set: a.Set, Namespace: a.Namespace, Name: a.Name}
}

// Absence is what an answer about one cluster leaves out.
type Absence struct {
	// Applications are those that are left out as a whole.
	Applications map[Identity]bool
	// Resources are those that an Application which is there no longer lists, and
	// that no other Application of the cluster lists either.
	Resources map[intermediate.Resource]bool
}

func newAbsence() Absence {
	return Absence{Applications: map[Identity]bool{}, Resources: map[intermediate.Resource]bool{}}
}

// Empty reports whether nothing is left out.
func (a Absence) Empty() bool { return len(a.Applications)+len(a.Resources) == 0 }

// Both returns what a and b leave out.
func (a Absence) Both(b Absence) Absence {
	out := newAbsence()
	for id := range a.Applications {
		if b.Applications[id] {
			out.Applications[id] = true
		}
	}
	for r := range a.Resources {
		if b.Resources[r] {
			out.Resources[r] = true
		}
	}
	return out
}

// Absent compares an answer about one cluster with what is known of it, both
// sorted. What is held already is known to be left out and is not in the result.
func Absent(known, fresh []Application) Absence {
	out := newAbsence()
	listed := listedBy(fresh)
	for i := range known {
		before := &known[i]
		if find(fresh, before) == nil {
			if before.AbsentSince.IsZero() {
				out.Applications[before.ID()] = true
			}
			continue
		}
		since := before.heldSince()
		for _, r := range before.Resources {
			if _, held := since[r]; !held && !listed[r] {
				out.Resources[r] = true
			}
		}
	}
	return out
}

// Held returns what is held of a cluster, and when the oldest of it began.
func Held(apps []Application) (held Absence, oldest time.Time) {
	held = newAbsence()
	note := func(t time.Time) {
		if oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
	}
	for i := range apps {
		a := &apps[i]
		if !a.AbsentSince.IsZero() {
			held.Applications[a.ID()] = true
			note(a.AbsentSince)
			continue // its resources go with it
		}
		for _, h := range a.Held {
			held.Resources[h.Resource] = true
			note(h.Since)
		}
	}
	return held, oldest
}

// Merge returns fresh and, held, what known has beyond it and gone has not. What
// has been held before keeps its time, the rest is held since now.
func Merge(known, fresh []Application, gone Absence, now time.Time) []Application {
	out := slices.Clone(fresh)
	listed := listedBy(fresh)
	for i := range known {
		before := &known[i]
		at := find(out[:len(fresh)], before)
		if at == nil {
			if !gone.Applications[before.ID()] {
				out = append(out, before.holdWhole(now))
			}
			continue
		}
		at.hold(before, func(r intermediate.Resource) bool { return !listed[r] && !gone.Resources[r] }, now)
	}
	slices.SortFunc(out, func(a, b Application) int { return a.Compare(&b) })
	return out
}

// Release returns apps without what is held of them and is gone.
func Release(apps []Application, gone Absence) []Application {
	var out []Application
	for i := range apps {
		a := apps[i]
		if !a.AbsentSince.IsZero() && gone.Applications[a.ID()] {
			continue
		}
		if a.AbsentSince.IsZero() {
			a.release(gone.Resources)
		}
		out = append(out, a)
	}
	return out
}

// Expired returns what has been held since before a time.
func Expired(apps []Application, before time.Time) Absence {
	out := newAbsence()
	for i := range apps {
		a := &apps[i]
		if !a.AbsentSince.IsZero() {
			if a.AbsentSince.Before(before) {
				out.Applications[a.ID()] = true
			}
			continue
		}
		for _, h := range a.Held {
			if h.Since.Before(before) {
				out.Resources[h.Resource] = true
			}
		}
	}
	return out
}

// holdWhole returns the Application as one that answers leave out.
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

// hold adds the resources of before that keep wants to a's own.
func (a *Application) hold(before *Application, keep func(intermediate.Resource) bool, now time.Time) {
	since := before.heldSince()
	own := len(a.Resources)
	resources := slices.Clip(a.Resources) // what it shares with others stays theirs
	var held []intermediate.HeldResource
	for _, r := range before.Resources {
		if _, is := slices.BinarySearchFunc(a.Resources[:own], r, CompareResources); is || !keep(r) {
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

// release takes resources that are held away.
func (a *Application) release(gone map[intermediate.Resource]bool) {
	since := a.heldSince()
	leaves := func(r intermediate.Resource) bool {
		_, held := since[r]
		return held && gone[r]
	}
	if !slices.ContainsFunc(a.Resources, leaves) {
		return
	}
	a.Resources = slices.DeleteFunc(slices.Clone(a.Resources), leaves)
	a.Held = slices.DeleteFunc(slices.Clone(a.Held), func(h intermediate.HeldResource) bool { return gone[h.Resource] })
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

func listedBy(apps []Application) map[intermediate.Resource]bool {
	out := map[intermediate.Resource]bool{}
	for i := range apps {
		for _, r := range apps[i].Resources {
			out[r] = true
		}
	}
	return out
}

// find returns the Application of a sorted list that a names, nil when there is none.
func find(in []Application, a *Application) *Application {
	i, ok := slices.BinarySearchFunc(in, a, func(e Application, a *Application) int { return e.Compare(a) })
	if !ok {
		return nil
	}
	return &in[i]
}
