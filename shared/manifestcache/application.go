// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

const (
	// bulky is the size from which a status is decoded to shorten it.
	bulky = 1024
	// maxConditions limits the conditions of an Application that is not pulled. maxReference limits
	// project and destination of a spec that is too large. Both are bytes: tenants write these
	// values.
	maxConditions, maxReference = 64 << 10, 4 << 10
	// omittedMember is in a spec that is not kept completely, with its number of bytes. omittedHash
	// identifies the part of it that is delivered. A CRD prunes such members, so that no stored
	// spec has them.
	omittedMember, omittedHash = "multicluster-integrations/bytes", "multicluster-integrations/hash"
)

// TrimApplication returns the transform of a cache of Applications. It drops, in place, the fields
// that no reader needs, and shares values that many objects have in common. Dropped parts of a
// status are safe, because all patches are merge patches. A spec of more than specLimit bytes is
// never delivered. The cache keeps its project and destination, and the values that [OmittedSpec]
// needs.
func TrimApplication(specLimit int) func(any) (any, error) {
	return (*Specs)(nil).TrimApplication(specLimit)
}

// TrimApplication is the function [TrimApplication] for a cache that limits the memory of all specs
// together.
func (s *Specs) TrimApplication(specLimit int) func(any) (any, error) {
	return func(in any) (any, error) {
		if app, ok := in.(*argocd.Application); ok {
			trimApplication(app, specLimit, s)
		}
		return in, nil
	}
}

// OmittedSpec returns the size of a spec that the cache does not keep completely, or 0 for a
// complete one. Such a spec must not be delivered.
func OmittedSpec(spec json.RawMessage) int {
	size, _ := omitted(spec)
	return size
}

// OmittedHash returns the hash of the delivered part of a spec that the cache does not keep
// completely. known is false for a complete spec.
func OmittedHash(spec json.RawMessage) (hash string, known bool) {
	size, hash := omitted(spec)
	return hash, size > 0
}

func omitted(spec json.RawMessage) (size int, hash string) {
	if len(spec) > 4*maxReference || !bytes.Contains(spec, []byte(omittedMember)) {
		return 0, "" // the kept form is smaller
	}
	var kept struct {
		Bytes int    `json:"multicluster-integrations/bytes"`
		Hash  string `json:"multicluster-integrations/hash"`
	}
	_ = json.Unmarshal(spec, &kept) // a malformed spec is kept unchanged
	return kept.Bytes, kept.Hash
}

func trimApplication(app *argocd.Application, specLimit int, specs *Specs) {
	app.TypeMeta = metav1.TypeMeta{}
	app.ManagedFields = nil
	app.Namespace = Intern(app.Namespace)
	if _, exists := app.Annotations[corev1.LastAppliedConfigAnnotation]; exists {
		app.Annotations = maps.Clone(app.Annotations)
		delete(app.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	switch {
	case app.Labels[contract.PullLabel] == "" && app.Annotations[contract.ClusterAnnotation] == "":
		app.Spec, app.Operation, app.Status = nil, nil, ownConditions(app.Status)
	case len(app.Spec) > specLimit:
		specs.Forget(app.UID)
		app.Spec = specs.omit(app)
	}
	app.Labels, app.Annotations = shareMap(app.Labels), shareMap(app.Annotations)
	app.Finalizers, app.OwnerReferences = shareFinalizers(app.Finalizers), shareOwners(app.OwnerReferences)
	if app.Spec != nil {
		app.Spec = specs.keep(app)
	} else {
		specs.Forget(app.UID)
	}
	if len(app.Status) > bulky {
		app.Status = trimStatus(app.Status)
	}
}

// ownConditions returns a status that has only its conditions, if one of them is ours. An
// Application that was pulled before has such a status, and they have to be removed. A patch
// contains the whole list, so that all of it is kept.
func ownConditions(raw json.RawMessage) json.RawMessage {
	list := membersOf(raw)["conditions"]
	var conditions []struct {
		Type string `json:"type"`
	}
	if len(list) > maxConditions || json.Unmarshal(list, &conditions) != nil {
		return nil
	}
	for _, c := range conditions {
		if status.IsOwnCondition(c.Type) || strings.HasPrefix(c.Type, contract.ConditionPrefix) {
			return encoded(map[string]any{"conditions": list}, nil)
		}
	}
	return nil
}

func trimStatus(raw json.RawMessage) json.RawMessage {
	fields := membersOf(raw)
	if fields == nil {
		return raw // its reader reports it
	}
	for _, name := range []string{"resources", "history", "summary"} {
		delete(fields, name)
	}
	if operation := membersOf(fields["operationState"]); operation["syncResult"] != nil {
		// The names of all members stay: the patch of the next operation removes these members.
		result := membersOf(operation["syncResult"])
		for name := range result {
			if name != "revision" && name != "revisions" {
				result[name] = json.RawMessage("0")
			}
		}
		operation["syncResult"] = encoded(result, json.RawMessage("{}"))
		fields["operationState"] = encoded(operation, fields["operationState"])
	}
	return encoded(fields, raw)
}

// membersOf returns the members of an object, or nil for anything else.
func membersOf(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

func encoded(value any, otherwise json.RawMessage) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return otherwise
	}
	return raw
}
