// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boot starts the three binaries: the same flags with the same words,
// the same logs, probes, metrics, lease and exit codes in each.
//
// A main function is one line:
//
//	func main() { boot.Main(command.Program(), command.New()) }
package boot
