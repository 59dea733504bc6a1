// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Meta is the metadata of an object without its managed fields. They are a quarter of an object's
// bytes and are not decoded.
type Meta struct {
	metav1.ObjectMeta `json:",inline"`
	ManagedFields     Skip `json:"managedFields"`
}

// Skip is the type of a field that is not decoded.
type Skip struct{}

// UnmarshalJSON does nothing.
func (*Skip) UnmarshalJSON([]byte) error { return nil }
