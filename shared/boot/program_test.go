// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
)

// fake is a command with one flag. Run calls run, unless it is nil.
type fake struct {
	size int
	run  func(*Env) error
}

func (f *fake) BindFlags(fs *flag.FlagSet) { fs.IntVar(&f.size, "size", 1, "a positive number") }

func (f *fake) Validate() error {
	if f.size < 1 {
		return errors.New("--size: want a positive number")
	}
	return nil
}

func (f *fake) Run(_ context.Context, env *Env) error {
	if f.run == nil {
		return nil
	}
	return f.run(env)
}

var program = Program{Name: "fake", Version: "1.2.3", MetricsPort: 8443, HealthPort: 8081, LeaseName: "fake"}

func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const content = `apiVersion: v1
kind: Config
clusters: [{name: hub, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: hub, context: {cluster: hub}}]
current-context: hub
`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExecute(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		args   []string
		run    func(*Env) error
		code   int
		stdout string
		stderr string
	}{
		"version":           {reason: "it needs no cluster", args: []string{"--version"}, code: 0, stdout: "fake 1.2.3 (revision"},
		"help":              {reason: "asking is no mistake", args: []string{"-h"}, code: 0, stderr: "-metrics-secure"},
		"unknown flag":      {reason: "a typo stops the start", args: []string{"--metrics-adr=:1"}, code: 2, stderr: "metrics-adr"},
		"argument":          {reason: "nothing is read from arguments, so one is a mistake", args: []string{"hub"}, code: 2, stderr: `unexpected argument "hub"`},
		"own flag":          {reason: "the command's own check is asked", args: []string{"--size=0"}, code: 2, stderr: "--size: want a positive number"},
		"two wrong flags":   {reason: "every wrong flag is named at once", args: []string{"--size=0", "--zap-log-level=loud"}, code: 2, stderr: `--zap-log-level "loud"`},
		"address":           {reason: "an address without a port cannot be listened on", args: []string{"--metrics-bind-address=localhost"}, code: 2, stderr: `--metrics-bind-address "localhost": want host:port`},
		"beside":            {reason: "a Deployment has a namespace", args: []string{"--conflicting-deployment=multicluster-integrations"}, code: 2, stderr: `--conflicting-deployment "multicluster-integrations": want`},
		"lease times":       {reason: "a renewal must fit into the lease", args: []string{"--leader-elect", "--leader-elect-renew-deadline=20s"}, code: 2, stderr: "--leader-elect-lease-duration 15s"},
		"lease times idle":  {reason: "unused times need not fit", args: []string{"--leader-elect-renew-deadline=20s"}, code: 0},
		"missing file":      {reason: "the path is in the error", args: []string{"--kubeconfig=/nonexistent/kubeconfig"}, code: 1, stdout: "/nonexistent/kubeconfig"},
		"failing command":   {reason: "a failure is one line and exit code 1", run: func(*Env) error { return errors.New("no such hub") }, code: 1, stdout: "no such hub"},
		"command's success": {reason: "a clean stop is exit code 0", run: func(*Env) error { return nil }, code: 0, stdout: `"stopped"`},
	} {
		t.Run(name, func(t *testing.T) {
			args := tc.args
			if !strings.Contains(strings.Join(args, " "), "--kubeconfig") {
				args = append([]string{"--kubeconfig", kubeconfig(t)}, args...)
			}
			var stdout, stderr bytes.Buffer
			code := Execute(t.Context(), program, &fake{run: tc.run}, args, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("%s: exit code %d, want %d\n%s%s", tc.reason, code, tc.code, &stdout, &stderr)
			}
			if !strings.Contains(stdout.String(), tc.stdout) {
				t.Errorf("%s: stdout %q does not contain %q", tc.reason, &stdout, tc.stdout)
			}
			if !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: stderr %q does not contain %q", tc.reason, &stderr, tc.stderr)
			}
		})
	}
}

func TestExecute_passesConfigAndFlagsToTheCommand(t *testing.T) {
	var got *Env
	c := &fake{run: func(e *Env) error { got = e; return nil }}
	var stdout, stderr bytes.Buffer
	args := []string{"--kubeconfig", kubeconfig(t), "--size=7", "--zap-log-level=debug", "--leader-elect"}
	if code := Execute(t.Context(), program, c, args, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if c.size != 7 {
		t.Errorf("own flag: size %d, want 7", c.size)
	}
	if got.Config.Host != "https://127.0.0.1:1" || got.Config.QPS >= 0 {
		t.Errorf("config: host %q, QPS %v; want the kubeconfig's server and no client-side limit", got.Config.Host, got.Config.QPS)
	}
	if !got.Options.LeaderElect {
		t.Error("--leader-elect did not arrive")
	}
	if !got.Log.V(1).Enabled() {
		t.Error("debug level: V(1) is not enabled")
	}
}

func TestGarbageCollection_operatorsValueCounts(t *testing.T) {
	const usual, wanted = 100, 33
	saving := program
	saving.GCPercent = wanted
	for gogc, want := range map[string]uint64{"": wanted, "100": usual} {
		t.Setenv("GOGC", gogc)
		before := debug.SetGCPercent(usual)
		var got uint64
		c := &fake{run: func(*Env) error {
			sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			metrics.Read(sample)
			got = sample[0].Value.Uint64()
			return nil
		}}
		var stdout, stderr bytes.Buffer
		if code := Execute(t.Context(), saving, c, []string{"--kubeconfig", kubeconfig(t)}, &stdout, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		debug.SetGCPercent(before)
		if got != want {
			t.Errorf("GOGC=%q: the heap grows by %d %%, want %d", gogc, got, want)
		}
	}
}

func TestNewLogger_writesJSONWithTheVersionFirst(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Execute(t.Context(), program, &fake{}, []string{"--kubeconfig", kubeconfig(t)}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	first, _, _ := strings.Cut(stdout.String(), "\n")
	var line struct{ Level, Msg, Component, Version string }
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatalf("first line %q: %v", first, err)
	}
	if line.Level != "info" || line.Msg != "starting" || line.Component != "fake" || line.Version != "1.2.3" {
		t.Errorf("first line says %+v", line)
	}
}

func TestFlags_includeLeaderElectOnlyWithALease(t *testing.T) {
	alone := program
	alone.LeaseName = ""
	if f := Flags(alone, &fake{}, &Options{}).Lookup("leader-elect"); f != nil {
		t.Error("--leader-elect exists in a binary that never elects")
	}
	if f := Flags(program, &fake{}, &Options{}).Lookup("leader-elect"); f == nil {
		t.Error("--leader-elect is missing in a binary that elects")
	}
}
