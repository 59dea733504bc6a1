// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package env starts and stops a fleet of real parts on this machine: a hub and managed clusters with their API servers and
// controller managers, Open Cluster Management and Argo CD on both sides, kwok for nodes, a git repository, and the product's three
// binaries, with the accounts and rights in deploy.
//
//	fleet, err := env.Start(ctx, env.Options{})
//	if err != nil { ... }
//	defer fleet.Stop()
//
// Everything listens on loopback, uses one temporary folder, and ends with the program that called Start, however that program ends
// (see package supervisor).
package env
