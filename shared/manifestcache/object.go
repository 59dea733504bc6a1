// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Informers, handlers and predicates take a Work for an object.
var (
	_ metav1.Object  = &Work{}
	_ runtime.Object = &Work{}
)

// GetNamespace implements [metav1.Object].
func (w *Work) GetNamespace() string { return w.Namespace }

// GetName implements [metav1.Object].
func (w *Work) GetName() string { return w.Name }

// GetGeneration implements [metav1.Object].
func (w *Work) GetGeneration() int64 { return w.Generation }

// GetResourceVersion implements [metav1.Object].
func (w *Work) GetResourceVersion() string {
	switch {
	case w.resourceVersion > 0:
		return strconv.FormatUint(w.resourceVersion, 10)
	case w.rare != nil:
		return w.rare.resourceVersion
	}
	return ""
}

// GetCreationTimestamp implements [metav1.Object].
func (w *Work) GetCreationTimestamp() metav1.Time {
	if !w.has.has(hasCreated) {
		return metav1.Time{}
	}
	return unix(int64(w.created))
}

// GetDeletionTimestamp implements [metav1.Object].
func (w *Work) GetDeletionTimestamp() *metav1.Time {
	if !w.has.has(hasDeletion) {
		return nil
	}
	t := unix(w.rare.deleted)
	return &t
}

// Leaving reports whether the work is being deleted.
func (w *Work) Leaving() bool { return w.has.has(hasDeletion) }

// GetLabels returns the labels of the pull model, which are shared.
func (w *Work) GetLabels() map[string]string { return w.labels }

// DeepCopyObject returns the work itself, which never changes.
func (w *Work) DeepCopyObject() runtime.Object { return w }

// object has the methods of an object that are never called: a Work does not keep what the
// getters return, and does not change.
type object struct{}

func (object) GetObjectKind() schema.ObjectKind              { return schema.EmptyObjectKind }
func (object) GetGenerateName() string                       { return "" }
func (object) GetSelfLink() string                           { return "" }
func (object) GetDeletionGracePeriodSeconds() *int64         { return nil }
func (object) GetFinalizers() []string                       { return nil }
func (object) GetOwnerReferences() []metav1.OwnerReference   { return nil }
func (object) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }
func (object) SetNamespace(string)                           {}
func (object) SetName(string)                                {}
func (object) SetGenerateName(string)                        {}
func (object) SetUID(types.UID)                              {}
func (object) SetResourceVersion(string)                     {}
func (object) SetGeneration(int64)                           {}
func (object) SetSelfLink(string)                            {}
func (object) SetCreationTimestamp(metav1.Time)              {}
func (object) SetDeletionTimestamp(*metav1.Time)             {}
func (object) SetDeletionGracePeriodSeconds(*int64)          {}
func (object) SetLabels(map[string]string)                   {}
func (object) SetAnnotations(map[string]string)              {}
func (object) SetFinalizers([]string)                        {}
func (object) SetOwnerReferences([]metav1.OwnerReference)    {}
func (object) SetManagedFields([]metav1.ManagedFieldsEntry)  {}
