// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// writer packs; its counterpart is reader. What one writes the other reads, in the
// same order. Nothing packed outlives the process.
type writer struct{ out []byte }

func (w *writer) number(n int64) { w.out = binary.AppendVarint(w.out, n) }

// text writes s, as its number in the dictionary if it is there.
func (w *writer) text(s string, repeats bool) {
	if repeats {
		if n, known := words.number(s); known {
			w.number(int64(-1 - n))
			return
		}
	}
	w.number(int64(len(s)))
	w.out = append(w.out, s...)
}

// shortest is the length up to which an annotation's value is taken for a word.
const shortest = 8

func (w *writer) annotations(a map[string]string) {
	w.number(int64(len(a)))
	for _, key := range slices.Sorted(maps.Keys(a)) {
		w.text(key, true)
		w.text(a[key], key == wire.HubNamespaceAnnotation || key == wire.HostingAnnotation || len(a[key]) <= shortest)
	}
}

func (w *writer) status(s *workv1.ManifestWorkStatus) {
	w.conditions(s.Conditions)
	w.number(int64(len(s.ResourceStatus.Manifests)))
	for i := range s.ResourceStatus.Manifests {
		m := &s.ResourceStatus.Manifests[i]
		r := &m.ResourceMeta
		w.number(int64(r.Ordinal))
		for _, s := range []string{r.Group, r.Version, r.Kind, r.Resource, r.Namespace} {
			w.text(s, true)
		}
		w.text(r.Name, false)
		w.conditions(m.Conditions)
		w.number(int64(len(m.StatusFeedbacks.Values)))
		for j := range m.StatusFeedbacks.Values {
			w.value(&m.StatusFeedbacks.Values[j])
		}
	}
}

func (w *writer) conditions(list []metav1.Condition) {
	w.number(int64(len(list)))
	for i := range list {
		c := &list[i]
		w.text(c.Type, true)
		w.text(string(c.Status), true)
		w.text(c.Reason, true)
		w.text(c.Message, c.Status == metav1.ConditionTrue && words.takes(c.Message))
		w.number(c.ObservedGeneration)
		w.time(c.LastTransitionTime.Time)
	}
}

// time writes a time to the second, which is all that an object has of it.
func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.number(0)
		return
	}
	w.number(1)
	w.number(t.Unix())
}

// Which of a value's members are there.
const (
	hasString = 1 << iota
	hasInteger
	hasBoolean
	hasRaw
)

func (w *writer) value(v *workv1.FeedbackValue) {
	w.text(v.Name, true)
	w.text(string(v.Value.Type), true)
	f := &v.Value
	var has int64
	for bit, there := range map[int64]bool{hasString: f.String != nil, hasInteger: f.Integer != nil, hasBoolean: f.Boolean != nil, hasRaw: f.JsonRaw != nil} {
		if there {
			has |= bit
		}
	}
	w.number(has)
	if f.String != nil {
		w.text(*f.String, words.takes(*f.String))
	}
	if f.Integer != nil {
		w.number(*f.Integer)
	}
	if f.Boolean != nil {
		w.number(map[bool]int64{true: 1}[*f.Boolean])
	}
	if f.JsonRaw != nil {
		w.text(*f.JsonRaw, false)
	}
}
