// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const victimVariable = "MULTICLUSTER_INTEGRATIONS_TEST_VICTIM"

// TestMain is also the test binary that the test kills: it starts a control plane, reports its folder, and
// waits.
func TestMain(m *testing.M) {
	if os.Getenv(victimVariable) == "" {
		os.Exit(m.Run())
	}
	if _, _, err := Start(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("running in " + os.TempDir())
	select {}
}

func TestStart_leavesNothingAfterAKilledTest(t *testing.T) {
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimVariable+"=1")
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var folder string
	for lines := bufio.NewScanner(stdout); folder == "" && lines.Scan(); {
		t.Log(lines.Text())
		folder = strings.TrimPrefix(lines.Text(), "running in ")
	}
	if running := processesIn(t, folder); len(running) < 2 {
		t.Errorf("before the kill %v run, want etcd and kube-apiserver", running)
	}
	if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // the test has killed it

	Eventually(t, "the end of what it started", func() error {
		if running := processesIn(t, folder); len(running) > 0 {
			return fmt.Errorf("%v run", running)
		}
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(errors.New("the folder is still there"), err)
		}
		return nil
	})
}

// processesIn returns the command lines of the processes with a program in a folder.
func processesIn(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && strings.HasPrefix(string(line), folder+"/") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
