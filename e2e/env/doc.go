// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package env starts and stops a fleet of real components on this machine. The fleet has a hub and managed
// clusters with API servers and controller managers, with Open Cluster Management and Argo CD on both sides.
// It also has kwok for nodes, a git repository, and the product's three binaries with the accounts and
// permissions in deploy.
//
//	fleet, err := env.Start(ctx, env.Options{})
//	if err != nil { ... }
//	defer fleet.Stop()
//
// Every server listens on loopback. The fleet uses one temporary folder. It ends with the program that called
// Start, however that program ends (see package supervisor).
package env
