// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
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
	// maxRest limits what is kept of an Application in addition to its spec: metadata, operation and
	// status. A status with one message of each kind is smaller. maxConditions limits the conditions
	// of an Application that is not pulled. maxReference limits project and destination of a spec
	// that is left out. All are bytes: tenants write these values.
	maxRest, maxConditions, maxReference = 16 << 10, 64 << 10, 4 << 10
	// omittedMember is in a spec that is not kept completely, with its number of bytes. omittedHash
	// identifies the part of it that is delivered. omittedRest identifies everything that is left
	// out of an Application. A CRD prunes such members, so that no stored spec has them.
	omittedMember, omittedHash, omittedRest = "multicluster-integrations/bytes", "multicluster-integrations/hash", "multicluster-integrations/rest"
)

// readKeys are the labels and annotations that are read of every Application. The others are only
// delivered.
var readKeys = map[string]bool{
	contract.PullLabel: true, contract.ClusterAnnotation: true, contract.AppNamespaceAnnotation: true,
	contract.DestinationNameAnnotation: true, contract.DestinationServerAnnotation: true,
	contract.DeletionPolicyAnnotation: true, contract.ManagementPolicyAnnotation: true, contract.PausedAnnotation: true,
	argocd.SkipReconcileAnnotation: true, argocd.RefreshAnnotation: true, argocd.IgnoreSyncLabel: true,
}

// TrimApplication returns the transform of a cache of Applications. It drops, in place, the fields
// that no reader needs, and shares values that many objects have in common. Dropped parts of a
// status are safe, because all patches are merge patches. A spec or an operation of more than
// specLimit bytes is never delivered. The cache keeps the spec's project and destination, and the
// values that [Omitted] needs.
func TrimApplication(specLimit int) func(any) (any, error) {
	return (*Specs)(nil).TrimApplication(specLimit)
}

// TrimApplication is the function [TrimApplication] for a cache that limits the memory of all
// Applications together. It leaves out large specs for which there is no room. Of an Application
// that is large without its spec, it keeps only the fields by which the Application is found (see
// [Reduced]).
func (s *Specs) TrimApplication(specLimit int) func(any) (any, error) {
	return func(in any) (any, error) {
		if app, ok := in.(*argocd.Application); ok {
			trimApplication(app, specLimit, s)
		}
		return in, nil
	}
}

// Omitted returns the size of a spec or operation that the cache does not keep completely, or 0 for
// a complete one. It must not be delivered.
func Omitted(raw json.RawMessage) int { return omitted(raw).Bytes }

// OmittedHash returns the hash of the delivered part of a spec that the cache does not keep
// completely. known is false for a complete spec.
func OmittedHash(spec json.RawMessage) (hash string, known bool) {
	o := omitted(spec)
	return o.Hash, o.Bytes > 0
}

// Reduced reports whether the cache keeps only the fields by which an Application is found. Its
// status, its operation, its finalizers, and most labels and annotations are missing then, and have
// to be read from the API server.
func Reduced(app *argocd.Application) bool { return omitted(app.Spec).Rest != "" }

// omission is in the place of JSON that is left out.
type omission struct {
	Bytes int    `json:"multicluster-integrations/bytes"`
	Hash  string `json:"multicluster-integrations/hash"`
	Rest  string `json:"multicluster-integrations/rest"`
}

func omitted(raw json.RawMessage) (o omission) {
	if len(raw) > 4*maxReference || !bytes.Contains(raw, []byte(omittedMember)) {
		return o // the kept form is smaller
	}
	_ = json.Unmarshal(raw, &o) // malformed JSON is kept unchanged
	return o
}

func trimApplication(app *argocd.Application, specLimit int, specs *Specs) {
	if Reduced(app) {
		return // a resync of the informer
	}
	app.TypeMeta = metav1.TypeMeta{}
	app.ManagedFields = nil
	app.Namespace = Intern(app.Namespace)
	if _, exists := app.Annotations[corev1.LastAppliedConfigAnnotation]; exists {
		app.Annotations = maps.Clone(app.Annotations)
		delete(app.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	if app.Labels[contract.PullLabel] == "" && app.Annotations[contract.ClusterAnnotation] == "" {
		app.Spec, app.Operation, app.Status = nil, nil, ownConditions(app.Status)
		app.Labels, app.Annotations = only(app.Labels, math.MaxInt), only(app.Annotations, math.MaxInt)
	}
	if len(app.Operation) > specLimit {
		app.Operation = encoded(map[string]any{omittedMember: len(app.Operation)}, nil)
	}
	if len(app.Status) > bulky {
		app.Status = trimStatus(app.Status)
	}
	switch {
	case specs != nil && rest(app) > maxRest:
		specs.reduce(app)
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
}

// rest returns about the bytes that are kept of an Application in addition to its spec.
func rest(app *argocd.Application) int {
	size := len(app.Operation) + len(app.Status)
	for _, m := range []map[string]string{app.Labels, app.Annotations} {
		for key, value := range m {
			size += len(key) + len(value) + overhead
		}
	}
	for _, finalizer := range app.Finalizers {
		size += len(finalizer) + overhead
	}
	for _, owner := range app.OwnerReferences {
		size += len(owner.APIVersion) + len(owner.Kind) + len(owner.Name) + len(owner.UID) + overhead
	}
	return size
}

// only returns the members of labels or annotations that are read, with values of at most limit
// bytes.
func only(m map[string]string, limit int) map[string]string {
	kept := map[string]string{}
	for key := range readKeys {
		if value, exists := m[key]; exists && len(value) <= limit {
			kept[key] = value
		}
	}
	return kept
}

// reduce leaves out of an Application all fields but those by which it is found. The new spec is
// another one after each change of a field that is left out.
func (s *Specs) reduce(app *argocd.Application) {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{app.Labels, app.Annotations, app.Finalizers, app.Operation, app.Status, app.Spec}) // it was decoded before
	kept := s.members(app)
	kept[omittedRest] = hex.EncodeToString(sum.Sum(nil)[:16])
	set := contract.Name(app.OwningApplicationSet(), &contract.Rejected{})
	app.OwnerReferences = nil
	if set != "" {
		app.OwnerReferences = []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: set}}
	}
	app.Labels, app.Annotations, app.Finalizers = only(app.Labels, contract.MaxName), only(app.Annotations, contract.MaxName), nil
	app.Spec, app.Operation, app.Status = encoded(kept, nil), nil, nil
	s.leaveOut(app.UID)
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
