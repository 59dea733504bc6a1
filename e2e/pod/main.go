// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command pod runs the product's pod as a user would: a kubelet with containerd as a node
// of the fleet's hub, the images of a release, deploy/install.yaml by kubectl. It looks at
// what runs, delivers the guestbook through it, and exchanges one container after the other.
//
// It needs root on Linux. All of it lives in namespaces for processes, mounts and network
// of its own, which end with it however it ends, and in one temporary folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// folderVariable makes this program the one in the namespaces; its value is the folder.
const folderVariable = "MULTICLUSTER_INTEGRATIONS_POD"

// endGrace is how long the program in the namespaces may take to stop what it runs.
const endGrace = 30 * time.Second

func main() {
	runtime.LockOSThread() // the kernel ends a child with the thread that started it
	var o options
	flag.StringVar(&o.images, "images", "bin/pod/images", "folder with the OCI layouts of the images that deploy/install.yaml names")
	flag.StringVar(&o.next, "next", "bin/pod/next", "folder with the OCI layouts of the images to upgrade to")
	flag.StringVar(&o.nextTag, "next-tag", "next", "tag of the images to upgrade to")
	flag.StringVar(&o.pause, "pause", "bin/product/pause", "the program of a pod's sandbox")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	run := outside
	if o.folder = os.Getenv(folderVariable); o.folder != "" {
		run = func(ctx context.Context) error { return inside(ctx, o) }
	}
	if err := run(ctx); err != nil {
		if !errors.Is(err, errInside) {
			fmt.Fprintf(os.Stderr, "\npod: %v\n", err)
		}
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

// errInside is an error that the program in the namespaces has printed.
var errInside = errors.New("the program in the namespaces failed")

// outside runs this program in namespaces of its own and removes what is left when they end.
func outside(ctx context.Context) (err error) {
	if err := check(); err != nil {
		return err
	}
	s, err := newScratch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove(ctx, err != nil && ctx.Err() == nil)) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(env.WithParent(ctx), self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), folderVariable+"="+s.folder, "TMPDIR="+s.folder)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL, Setpgid: true, // a Ctrl-C is for this program, which passes it on
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	if err := cmd.Run(); err != nil {
		return errors.Join(errInside, err)
	}
	return nil
}

// check returns what the machine lacks.
func check() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("a kubelet needs Linux and root")
	}
	const remedy = "install Debian's packages containerd, runc, containernetworking-plugins and iproute2"
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: %s", err, remedy)
		}
	}
	for _, name := range []string{"ptp", "host-local", "loopback"} {
		if _, err := os.Stat(filepath.Join(plugins, name)); err != nil {
			return fmt.Errorf("%w: %s", err, remedy)
		}
	}
	return nil
}
