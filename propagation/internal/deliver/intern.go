// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// intern returns s as one string for all that are equal.
func intern(s string) string { return unique.Make(s).Value() }

// common holds what many cached objects have in common, each once. It is bounded:
// what does not fit is not shared.
var common = struct {
	mu      sync.Mutex
	strings map[string]*string
	maps    map[string]map[string]string
	specs   map[uint64]json.RawMessage
}{strings: map[string]*string{}, maps: map[string]map[string]string{}, specs: map[uint64]json.RawMessage{}}

const (
	commonLimit = 8192
	// specLimit is lower, since a spec may be large.
	specLimit = 1024
)

// internPointer returns a pointer to s, the same one for strings that repeat: the
// names of health and phase, a revision that a whole ApplicationSet is at.
func internPointer(s *string) *string {
	if s == nil || len(*s) > 64 || strings.Contains(*s, ":") { // a time never repeats
		return s
	}
	common.mu.Lock()
	defer common.mu.Unlock()
	if p, there := common.strings[*s]; there {
		return p
	}
	if len(common.strings) < commonLimit {
		common.strings[*s] = s
	}
	return s
}

// internMap returns a map equal to m, the same one for maps that repeat: the labels
// of all works of an ApplicationSet. Cached objects are never written to.
func internMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		key.WriteString(k + "\x00" + m[k] + "\x00")
	}
	common.mu.Lock()
	defer common.mu.Unlock()
	if is, there := common.maps[key.String()]; there {
		return is
	}
	tight := internKeys(m, 0)
	if len(common.maps) < commonLimit {
		common.maps[key.String()] = tight
	}
	return tight
}

var specSeed = maphash.MakeSeed()

// internSpec returns a spec of the same bytes, the same one for specs that repeat:
// those of an ApplicationSet whose template names nothing of the cluster but its
// destination, which is ours to set anyway. Specs are replaced, never written to.
func internSpec(spec json.RawMessage) json.RawMessage {
	key := maphash.Bytes(specSeed, spec)
	common.mu.Lock()
	defer common.mu.Unlock()
	if is, there := common.specs[key]; there && bytes.Equal(is, spec) {
		return is
	}
	tight := bytes.Clone(spec)
	if len(common.specs) >= specLimit {
		clear(common.specs) // yesterday's specs are not to be kept for ever
	}
	common.specs[key] = tight
	return tight
}

// internKeys copies m into a map of the right size whose keys are shared; extra is
// how many entries will be added.
func internKeys(m map[string]string, extra int) map[string]string {
	tight := make(map[string]string, len(m)+extra)
	for k, v := range m {
		tight[intern(k)] = v
	}
	return tight
}

// exact returns a copy without the room that a decoder leaves for more elements.
func exact[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return append(make([]T, 0, len(s)), s...)
}

func internMeta(o *metav1.ObjectMeta) {
	o.ManagedFields = nil
	o.Namespace = intern(o.Namespace)
	o.Finalizers, o.OwnerReferences = exact(o.Finalizers), exact(o.OwnerReferences)
	for i := range o.Finalizers {
		o.Finalizers[i] = intern(o.Finalizers[i])
	}
	for i := range o.OwnerReferences {
		r := &o.OwnerReferences[i]
		r.APIVersion, r.Kind, r.Name, r.UID = intern(r.APIVersion), intern(r.Kind), intern(r.Name), unique.Make(r.UID).Value()
	}
}

func internStatus(status *workv1.ManifestWorkStatus) {
	internConditions(status.Conditions)
	for i := range status.ResourceStatus.Manifests {
		m := &status.ResourceStatus.Manifests[i]
		m.Conditions = exact(m.Conditions)
		internConditions(m.Conditions)
		r := &m.ResourceMeta
		r.Group, r.Version, r.Kind, r.Resource, r.Namespace = intern(r.Group), intern(r.Version), intern(r.Kind), intern(r.Resource), intern(r.Namespace)
		values := m.StatusFeedbacks.Values
		for j := range values {
			values[j].Name = intern(values[j].Name)
			values[j].Value.Type = unique.Make(values[j].Value.Type).Value()
			values[j].Value.String = internPointer(values[j].Value.String)
		}
		m.StatusFeedbacks.Values = exact(values)
	}
}

func internConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		c.Type, c.Status, c.Reason = intern(c.Type), unique.Make(c.Status).Value(), intern(c.Reason)
		if c.Status == metav1.ConditionTrue {
			c.Message = intern(c.Message)
		}
	}
}
