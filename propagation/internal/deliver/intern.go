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
)

// intern returns s as one string for all that are equal.
func intern(s string) string { return unique.Make(s).Value() }

// common holds what many cached objects have in common, each once. It is bounded:
// what does not fit is not shared.
var common = struct {
	mu    sync.Mutex
	maps  map[string]map[string]string
	specs map[uint64]json.RawMessage
}{maps: map[string]map[string]string{}, specs: map[uint64]json.RawMessage{}}

const (
	commonLimit = 8192
	// specLimit is lower, since a spec may be large.
	specLimit = 1024
)

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
	tight := internKeys(m)
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

// internKeys copies m into a map of the right size whose keys are shared.
func internKeys(m map[string]string) map[string]string {
	tight := make(map[string]string, len(m))
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
