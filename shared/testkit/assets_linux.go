// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"open-cluster-management.io/multicluster-integrations/shared/testkit/supervisor"
)

// A killed or timed-out test binary runs no cleanup. So envtest starts etcd and kube-apiserver
// through a link to the test binary. The linked process asks the kernel to end it with its parent,
// and then becomes the real program. A supervisor removes the folder.
const programsVariable = "MULTICLUSTER_INTEGRATIONS_TEST_PROGRAMS"

func init() {
	programs := os.Getenv(programsVariable)
	if name := filepath.Base(os.Args[0]); programs != "" && (name == "etcd" || name == "kube-apiserver") {
		err := become(filepath.Join(programs, name))
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// become replaces this process by a program that ends with its parent.
func become(program string) error {
	runtime.LockOSThread() // the setting belongs to the thread
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask to end with the parent: %w", err)
	}
	if os.Getppid() == 1 {
		return fmt.Errorf("%s: the test is gone already", program)
	}
	return syscall.Exec(program, os.Args, os.Environ())
}

// Command is exec.CommandContext for a program that ends with this process, however this process
// ends.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

// supervised returns a folder of programs that end with this process. The temporary folder, to
// which TMPDIR then points, is removed with it as well. release removes it earlier.
func supervised(programs string) (folder string, release func() error, err error) {
	s, err := supervisor.Start("", "multicluster-integrations-test-")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(s.Folder(), "programs")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", nil, err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			return "", nil, err
		}
	}
	if err := os.Setenv(programsVariable, programs); err != nil {
		return "", nil, err
	}
	return folder, s.Close, os.Setenv("TMPDIR", s.Folder())
}
