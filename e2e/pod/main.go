// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pod runs the product's pod as a user would. A kubelet and containerd are a node of the fleet's hub.
// kubectl applies deploy/install.yaml with the images of a release. The command checks the processes,
// delivers the guestbook, and replaces one container after the other. run.sh starts it in separate namespaces
// for processes, mounts and network, which end with the command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

const (
	// plugins is the folder of the CNI plugins in Debian's package.
	plugins = "/usr/lib/cni"
	// nodeAddress is the address of the node. run.sh adds it to loopback, like [env.ServiceAddress].
	nodeAddress = "10.97.0.1"
)

// options are the settings of a run.
type options struct {
	folder                       string
	images, next, nextTag, pause string
}

func main() {
	var o options
	flag.StringVar(&o.folder, "folder", "", "folder for all that is written, whose name the cgroups have, too")
	flag.StringVar(&o.images, "images", "bin/pod/images", "folder with the OCI layouts of the images that deploy/install.yaml names")
	flag.StringVar(&o.next, "next", "bin/pod/next", "folder with the OCI layouts of the images to upgrade to")
	flag.StringVar(&o.nextTag, "next-tag", "next", "tag of the images to upgrade to")
	flag.StringVar(&o.pause, "pause", "bin/product/pause", "the program of a pod's sandbox")
	flag.Parse()
	env.Main("pod", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	if os.Getpid() != 1 || o.folder == "" {
		return errors.New("it needs namespaces of its own: start it by e2e/pod/run.sh, as `make pod` does")
	}
	say("Starting the fleet: a hub without the product, a managed cluster, Open Cluster Management, Argo CD.")
	fleet, err := env.Start(ctx, env.Options{Clusters: []string{"cluster1"}, Product: []string{}, Node: true, SaveMemory: true, Progress: say})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			_, keepErr := fleet.Processes.KeepLogs()
			err = errors.Join(err, keepErr)
		}
		// The folder contains mounts, which end with the namespace. Afterwards run.sh removes it.
		_ = fleet.Stop()
	}()
	p := &product{fleet: fleet, tag: o.nextTag}
	if err := must.Try(func() { p.node = startNode(ctx, fleet, o) }); err != nil {
		return err
	}
	return scenario.Run(ctx, p.steps(), say)
}

func say(line string) { fmt.Println(line) }
