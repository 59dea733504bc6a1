// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

var (
	getOptions    = metav1.GetOptions{}
	listOptions   = metav1.ListOptions{}
	createOptions = metav1.CreateOptions{}
	updateOptions = metav1.UpdateOptions{}
	deleteOptions = metav1.DeleteOptions{}
)
