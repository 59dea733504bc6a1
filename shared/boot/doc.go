// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boot starts the binaries of this project. They share flags, logs, probes, metrics, the Lease and exit
// codes. A main function has one line:
//
//	func main() { boot.Main(command.Program(), command.New()) }
package boot
