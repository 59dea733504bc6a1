// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemas tests that a delivery loses no field of Argo CD's CustomResourceDefinitions. Their version
// is newer than the newest Argo CD of the fleet. The package has only tests.
package schemas
