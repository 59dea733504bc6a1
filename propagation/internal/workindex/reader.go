// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// reader unpacks what a writer has packed. Texts are parts of the packed string.
type reader struct{ rest string }

// number reads a varint, as [binary.Varint] does from bytes.
func (r *reader) number() int64 {
	var u uint64
	for i := 0; i < len(r.rest) && i < 10; i++ {
		b := r.rest[i]
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	r.rest = ""
	return 0
}

// count reads a number of elements, each of which takes a byte or more.
func (r *reader) count() int { return int(min(max(r.number(), 0), int64(len(r.rest)))) }

func (r *reader) text() string {
	n := r.number()
	if n < 0 {
		return words.word(int(-1 - n))
	}
	n = min(n, int64(len(r.rest)))
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) annotations() map[string]string {
	n := r.count()
	if n == 0 {
		return nil
	}
	a := make(map[string]string, n)
	for range n {
		key := r.text()
		a[key] = r.text()
	}
	return a
}

func (r *reader) status(s *workv1.ManifestWorkStatus) {
	s.Conditions = r.conditions()
	for range r.count() {
		var m workv1.ManifestCondition
		meta := &m.ResourceMeta
		meta.Ordinal = int32(r.number()) //nolint:gosec // it was one
		for _, into := range []*string{&meta.Group, &meta.Version, &meta.Kind, &meta.Resource, &meta.Namespace, &meta.Name} {
			*into = r.text()
		}
		m.Conditions = r.conditions()
		if n := r.count(); n > 0 {
			m.StatusFeedbacks.Values = make([]workv1.FeedbackValue, n)
			for i := range m.StatusFeedbacks.Values {
				r.value(&m.StatusFeedbacks.Values[i])
			}
		}
		s.ResourceStatus.Manifests = append(s.ResourceStatus.Manifests, m)
	}
}

func (r *reader) conditions() []metav1.Condition {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]metav1.Condition, n)
	for i := range list {
		c := &list[i]
		c.Type, c.Status, c.Reason, c.Message = r.text(), metav1.ConditionStatus(r.text()), r.text(), r.text()
		c.ObservedGeneration = r.number()
		if r.number() != 0 {
			c.LastTransitionTime = metav1.NewTime(time.Unix(r.number(), 0))
		}
	}
	return list
}

func (r *reader) value(v *workv1.FeedbackValue) {
	v.Name, v.Value.Type = r.text(), workv1.ValueType(r.text())
	has := r.number()
	if has&hasString != 0 {
		s := r.text()
		v.Value.String = &s
	}
	if has&hasInteger != 0 {
		n := r.number()
		v.Value.Integer = &n
	}
	if has&hasBoolean != 0 {
		b := r.number() == 1
		v.Value.Boolean = &b
	}
	if has&hasRaw != 0 {
		s := r.text()
		v.Value.JsonRaw = &s
	}
}
