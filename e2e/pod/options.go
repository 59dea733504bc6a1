// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

const (
	// plugins is where Debian's package puts the plugins of CNI.
	plugins = "/usr/lib/cni"
	// nodeAddress is the node's own.
	nodeAddress = "10.97.0.1"
)

// options say what to run.
type options struct {
	folder                       string
	images, next, nextTag, pause string
}

func say(line string) { fmt.Println(line) }
