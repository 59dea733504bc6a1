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
)

// writer packs; its counterpart is reader. What one writes the other reads, in the
// same order. Nothing packed outlives the process.
type writer struct{ out []byte }

func (w *writer) number(n int64) { w.out = binary.AppendVarint(w.out, n) }

// text writes s, as its number in the dictionary if it is there.
func (w *writer) text(s string) {
	if n, known := words.number(s); known {
		w.number(int64(-1 - n))
		return
	}
	w.number(int64(len(s)))
	w.out = append(w.out, s...)
}

func (w *writer) annotations(a map[string]string) {
	w.number(int64(len(a)))
	for _, key := range slices.Sorted(maps.Keys(a)) {
		w.text(key)
		w.text(a[key])
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
			w.text(s)
		}
		w.text(r.Name)
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
		w.text(c.Type)
		w.text(string(c.Status))
		w.text(c.Reason)
		w.text(c.Message)
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
	w.text(v.Name)
	w.text(string(v.Value.Type))
	f := &v.Value
	var has int64
	for bit, there := range map[int64]bool{hasString: f.String != nil, hasInteger: f.Integer != nil, hasBoolean: f.Boolean != nil, hasRaw: f.JsonRaw != nil} {
		if there {
			has |= bit
		}
	}
	w.number(has)
	if f.String != nil {
		w.text(*f.String)
	}
	if f.Integer != nil {
		w.number(*f.Integer)
	}
	if f.Boolean != nil {
		w.number(map[bool]int64{true: 1}[*f.Boolean])
	}
	if f.JsonRaw != nil {
		w.text(*f.JsonRaw)
	}
}
