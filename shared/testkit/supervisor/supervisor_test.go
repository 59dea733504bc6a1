// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/supervisor"
)

// parentVariable makes this test binary the program that a test kills. Its value is the working folder.
const parentVariable = "SUPERVISOR_TEST_PARENT"

const prefix = "supervisor-test-"

func TestMain(m *testing.M) {
	if folder := os.Getenv(parentVariable); folder != "" {
		if err := parent(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// family is a parent's report of the processes that it started.
type family struct {
	Folder     string
	Supervisor int
	// Processes are the child, its child, and a grandchild that left the group.
	Processes []int
}

// parent starts processes and waits to be killed.
func parent(folder string) error {
	w, err := supervisor.Start(folder, prefix)
	if err != nil {
		return err
	}
	pids := filepath.Join(w.Folder(), "pids")
	script := fmt.Sprintf("sleep 1000 & echo $! >>%[1]s.new; setsid sleep 1000 & echo $! >>%[1]s.new; echo $$ >>%[1]s.new; mv %[1]s.new %[1]s; wait", pids)
	p, err := w.Run(context.Background(), supervisor.Spec{
		Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: w.Folder(), Log: filepath.Join(w.Folder(), "log"),
	})
	if err != nil {
		return err
	}
	f := family{Folder: w.Folder(), Supervisor: parentOf(p.PID())}
	for len(f.Processes) < 3 {
		f.Processes = nil
		content, err := os.ReadFile(pids)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for line := range strings.FieldsSeq(string(content)) {
			var pid int
			if _, err := fmt.Sscan(line, &pid); err != nil {
				return err
			}
			f.Processes = append(f.Processes, pid)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		return err
	}
	select {}
}

func TestSupervisor_leavesNothingBehind(t *testing.T) {
	cases := map[string]struct {
		reason string
		kill   func(parent int, f family) error
		// sweeps is true if only the next program removes the folder.
		sweeps bool
	}{
		"the program is killed": {
			reason: "no program can run a clean-up of its own after SIGKILL",
			kill:   func(parent int, _ family) error { return syscall.Kill(parent, syscall.SIGKILL) },
		},
		"the program is interrupted": {
			reason: "a signal without a handler ends it just as suddenly",
			kill:   func(parent int, _ family) error { return syscall.Kill(parent, syscall.SIGINT) },
		},
		"both are killed": {
			reason: "then only the kernel is left to end the children, and the next program to remove the folder",
			kill: func(parent int, f family) error {
				return errors.Join(syscall.Kill(f.Supervisor, syscall.SIGKILL), syscall.Kill(parent, syscall.SIGKILL))
			},
			sweeps: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			parent, f := startParent(t, folder)
			if err := c.kill(parent.Process.Pid, f); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // the test has killed it
			watched := f.Processes
			if c.sweeps {
				watched = f.Processes[2:] // the direct child, because its children have no parent any more
				t.Cleanup(func() {
					for _, pid := range f.Processes[:2] {
						_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
					}
				})
			}
			for _, pid := range append(watched, f.Supervisor) {
				testkit.Until(t, fmt.Sprintf("process %d to end (%s)", pid, c.reason), func() bool { return !alive(pid) })
			}
			testkit.Until(t, "the folder to be removed ("+c.reason+")", func() bool {
				if c.sweeps { // repeatedly, because the last thread of a killed process may still hold the lock
					startAndClose(t, folder)
				}
				left, err := os.ReadDir(folder)
				return err == nil && len(left) == 0
			})
		})
	}
}

func TestSupervisor_endsProcessesIfKilled(t *testing.T) {
	w, err := supervisor.Start(t.TempDir(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	p := sleep(t, w)
	if err := syscall.Kill(parentOf(p.PID()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	within(t, w.Gone(), "the program to notice")
	within(t, p.Ended(), "the process to be reported")
	testkit.Until(t, "the process to end, which the kernel kills", func() bool { return !alive(p.PID()) })
	if _, err := w.Run(t.Context(), supervisor.Spec{Args: []string{"/bin/true"}}); err == nil {
		t.Error("a supervisor that is gone still runs processes")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.Folder()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestProcess_canBeStoppedAndKilled(t *testing.T) {
	w, err := supervisor.Start(t.TempDir(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close() // another test checks this
	for name, end := range map[string]func(*supervisor.Process) error{
		"terminated": func(p *supervisor.Process) error { return p.Stop(t.Context()) },
		"killed":     func(p *supervisor.Process) error { return p.Kill(t.Context()) },
	} {
		p := sleep(t, w)
		if p.State() != "" {
			t.Errorf("%s: a running process has ended: %s", name, p.State())
		}
		if err := end(p); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.State(), name) {
			t.Errorf("state %q, want %q", p.State(), name)
		}
	}
	if _, err := w.Run(t.Context(), supervisor.Spec{Args: []string{"/no/such/program"}, Log: filepath.Join(w.Folder(), "log")}); err == nil {
		t.Error("a program that does not exist was started")
	}
}

func startAndClose(t *testing.T, folder string) {
	t.Helper()
	w, err := supervisor.Start(folder, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func sleep(t *testing.T, w *supervisor.Supervisor) *supervisor.Process {
	t.Helper()
	p, err := w.Run(t.Context(), supervisor.Spec{
		Args: []string{"/bin/sleep", "1000"}, Dir: w.Folder(), Log: filepath.Join(w.Folder(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func startParent(t *testing.T, folder string) (*exec.Cmd, family) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), parentVariable+"="+folder)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // needed only if the test has failed
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the parent said nothing: %v", err)
	}
	var f family
	if err := json.Unmarshal(line, &f); err != nil {
		t.Fatal(err)
	}
	return cmd, f
}

// alive reports whether a process runs. A zombie does not run.
func alive(pid int) bool {
	fields := stat(pid)
	return len(fields) > 0 && fields[0] != "Z"
}

func parentOf(pid int) int {
	var parent int
	if fields := stat(pid); len(fields) > 1 {
		_, _ = fmt.Sscan(fields[1], &parent)
	}
	return parent
}

// stat returns the fields of /proc/PID/stat from the state on.
func stat(pid int) []string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
}

func within(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(testkit.Patience):
		t.Fatalf("wait for %s: not within %s", what, testkit.Patience)
	}
}
