// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Meta is the metadata of an object without its managed fields, a quarter of what
// is sent, which are passed over.
type Meta struct {
	metav1.ObjectMeta `json:",inline"`
	ManagedFields     Skip `json:"managedFields"`
}

// Skip stands in a type for a part of an object that is not decoded.
type Skip struct{}

// UnmarshalJSON does nothing.
func (*Skip) UnmarshalJSON([]byte) error { return nil }
