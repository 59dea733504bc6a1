// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// parentVariable makes this test binary run as the program that a test kills.
const parentVariable = "FLEET_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		if err := parent(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// household is the report of a parent about its fleet.
type household struct {
	Folder string
	PIDs   []int
	API    string
}

// parent starts the smallest fleet and waits to be killed.
func parent() error {
	fleet, err := env.Start(context.Background(), env.Options{HubOnly: true, Product: []string{}})
	if err != nil {
		return err
	}
	h := household{Folder: fleet.Processes.Folder(), API: strings.TrimPrefix(fleet.Hub.Config.Host, "https://")}
	for _, p := range fleet.Processes.All() {
		h.PIDs = append(h.PIDs, p.PID())
	}
	if err := json.NewEncoder(os.Stdout).Encode(h); err != nil {
		return err
	}
	select {}
}

// When a program with a running fleet is killed, no process, port or folder remains.
func TestStart_leavesNothingAfterAKill(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), parentVariable+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it is dead unless the test failed
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the parent said nothing: %v", err)
	}
	var h household
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatal(err)
	}
	if !accepts(t, h.API) || len(h.PIDs) < 2 {
		t.Fatalf("no fleet runs: %+v", h)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	err = env.Wait(t.Context(), "nothing to be left", func(context.Context) (bool, string) {
		_, folder := os.Stat(h.Folder)
		running := slices.DeleteFunc(slices.Clone(h.PIDs), func(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
		return os.IsNotExist(folder) && len(running) == 0 && !accepts(t, h.API), fmt.Sprintf("folder: %v, processes: %v", folder, running)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func accepts(t *testing.T, address string) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// The error of a failed start names the failed process and contains the end of its log. Only the logs remain.
func TestStart_namesTheReasonOfAFailure(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := env.Start(t.Context(), env.Options{HubOnly: true, Product: []string{}, APIServer: []string{"--no-such-flag"}})
	if err == nil {
		t.Fatal("an API server with an unknown flag came up")
	}
	for _, part := range []string{"hub-apiserver ended by itself", "unknown flag: --no-such-flag", "all logs: "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*fleet*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// The caller's variables are in the environment of the hub's API server, and of no other process.
func TestStart_passesTheEnvironmentToTheAPIServerAlone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const variable = "GOMEMLIMIT=9876543210"
	fleet, err := env.Start(t.Context(), env.Options{HubOnly: true, Product: []string{}, APIServerEnvironment: []string{variable}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range fleet.Processes.All() {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Contains(strings.Split(string(environment), "\x00"), variable), p.Name == "hub-apiserver"; got != want {
			t.Errorf("%s has %s: %v, want %v", p.Name, variable, got, want)
		}
	}
}

// Two fleets in parallel never use the same ports. A stopped fleet releases its ports.
func TestStart_givesEachFleetSeparatePorts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	began := time.Now()
	hosts := make(chan string, 2)
	failed := make(chan error, 2)
	for range 2 {
		go func() {
			fleet, err := env.Start(t.Context(), env.Options{HubOnly: true, Product: []string{}})
			if err == nil {
				hosts <- fleet.Hub.Config.Host
				err = fleet.Stop()
			}
			failed <- err
		}()
	}
	if err := errors.Join(<-failed, <-failed); err != nil {
		t.Fatal(err)
	}
	if one, two := <-hosts, <-hosts; one == two {
		t.Errorf("both fleets used %s", one)
	}
	t.Logf("both came and went in %s", time.Since(began).Round(time.Millisecond))
}
