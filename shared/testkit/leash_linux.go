// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A killed or timed-out test binary runs no cleanup. So etcd and kube-apiserver
// are started through a link to the test binary, which asks the kernel to end it
// with its parent and then becomes the real program; and a janitor, the test
// binary once more, removes the folder when the pipe to its parent breaks.
const (
	programsVariable = "MULTICLUSTER_INTEGRATIONS_TEST_PROGRAMS"
	janitorVariable  = "MULTICLUSTER_INTEGRATIONS_TEST_JANITOR"
)

func init() {
	if folder := os.Getenv(janitorVariable); folder != "" {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent is gone
		_ = os.RemoveAll(folder)
		os.Exit(0)
	}
	programs := os.Getenv(programsVariable)
	if name := filepath.Base(os.Args[0]); programs != "" && (name == "etcd" || name == "kube-apiserver") {
		err := become(filepath.Join(programs, name))
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// become replaces this process by a program that ends with its parent.
func become(program string) error {
	runtime.LockOSThread() // the wish is the thread's that makes it
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask to end with the parent: %w", err)
	}
	if os.Getppid() == 1 {
		return fmt.Errorf("%s: the test is gone already", program)
	}
	return syscall.Exec(program, os.Args, os.Environ())
}

// Command is exec.CommandContext for a program that is to end with this process,
// however that ends.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

// leash returns a folder of programs that end with this process, and a temporary
// folder, with the process's TMPDIR pointing there, that goes with it too.
// release removes it.
func leash(programs string) (folder string, release func() error, err error) {
	temp, err := os.MkdirTemp("", "multicluster-integrations-test-")
	if err != nil {
		return "", nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(temp, "programs")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", nil, err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			return "", nil, err
		}
	}
	janitor := exec.Command(self)
	janitor.Env = append(os.Environ(), janitorVariable+"="+temp)
	janitor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not meant for it
	pipe, err := janitor.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	if err := janitor.Start(); err != nil {
		return "", nil, fmt.Errorf("start janitor: %w", err)
	}
	if err := os.Setenv(programsVariable, programs); err != nil {
		return "", nil, err
	}
	if err := os.Setenv("TMPDIR", temp); err != nil {
		return "", nil, err
	}
	return folder, func() error {
		_ = pipe.Close()
		return janitor.Wait()
	}, nil
}
