// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package poll asks search at an interval and keeps the intermediate reports
// right. What it knows of a managed cluster is replaced by a good answer only: a
// failed or incomplete one leaves it, and dates it when it lasts. What a good answer
// leaves out goes when a second read and a question for the object itself confirm
// it; until then it is held, each resource and each Application for itself. A
// report says which clusters have not been read at all.
package poll
