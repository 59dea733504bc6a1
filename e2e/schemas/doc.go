// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemas tests that delivery keeps every field of the CustomResourceDefinitions of an Argo
// CD that is newer than the newest one of the fleet. It has only tests.
package schemas
