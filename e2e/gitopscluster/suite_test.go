// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	image   = "quay.io/argoprojlabs/argocd-agent:v0.9.0"
	address = "principal.example.com"
)

var (
	fleet *env.Fleet
	// hub also knows add-ons.
	hub client.Client
	// rooms is the program under test.
	rooms *env.Process
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = env.WithParent(ctx)
	// A test run that is told to end ends: what runs in the fleet ends with it.
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, context.Cause(ctx))
			os.Exit(1)
		case <-done:
		}
	}()
	fleet, err = env.Start(ctx, env.Options{Old: []string{"cluster2"}, Product: []string{}, Progress: func(line string) { fmt.Println(line) }})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	if err := prepare(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		kept, keepErr := fleet.KeepLogs()
		fmt.Println("the logs are kept in", kept)
		err = keepErr
	}
	return code, err
}

// prepare builds and starts the program, and gives each managed cluster what a real one
// has: OCM's rights for its work agent, and somebody who binds pods.
func prepare(ctx context.Context) (err error) {
	scheme, err := env.Scheme()
	if err != nil {
		return err
	}
	if err := addonv1alpha1.Install(scheme); err != nil {
		return err
	}
	if hub, err = client.New(fleet.Hub.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, c := range fleet.Managed {
		if err := c.ApplyFiles(ctx, "testdata/klusterlet.yaml"); err != nil {
			return err
		}
		go bind(fleet.Context(), c)
	}
	binary := filepath.Join(fleet.Folder(), "rehearsal")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./internal/agent/rehearsal")
	build.Dir = filepath.Join(testkit.Root(), env.Propagation)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	roles, err := env.ReadObjects("testdata/roles.yaml")
	if err != nil {
		return err
	}
	rooms, err = fleet.StartProgram(ctx, "rehearsal", binary, roles, "--asked="+file("asked"), "--said="+file("said"))
	return err
}

func file(name string) string { return filepath.Join(fleet.Folder(), name+".json") }

// question is what the program is asked for one cluster, as its file has it.
type question struct {
	Cluster                    string
	Owner                      struct{ Namespace, Name string }
	AgentNamespace, Mode       string
	Address, Image             string
	Port, Generation           int
	LiveView, Leave, Abandoned bool
}

// answer is what the program says of one cluster.
type answer struct {
	WorkApplied, ClientCertificate, Deployed, Connected bool
	Image, Reason, Message, WaitingFor                  string
	Certificate                                         *struct {
		Fingerprint string
		Generation  int
	}
	Done           bool
	Waiting, Error string
}

var (
	asking sync.Mutex
	asked  = map[string]question{}
)

// ask changes what is asked for a cluster.
func ask(t *testing.T, cluster string, change func(*question)) {
	t.Helper()
	asking.Lock()
	defer asking.Unlock()
	q, known := asked[cluster]
	if !known {
		q = question{Cluster: cluster, AgentNamespace: "argocd", Mode: "managed", Address: address, Image: image, Port: 443, Generation: 1, LiveView: true}
		q.Owner.Namespace, q.Owner.Name = "argocd", "fleet"
	}
	change(&q)
	asked[cluster] = q
	content, err := json.Marshal(asked)
	must(t, err)
	must(t, os.WriteFile(file("asked")+".next", content, 0o600))
	must(t, os.Rename(file("asked")+".next", file("asked")))
}

// await waits until what the program says of a cluster passes.
func await(t *testing.T, what, cluster string, check func(answer) bool) answer {
	t.Helper()
	var last answer
	must(t, env.Wait(fleetContext(t), what+" on "+cluster, func(context.Context) (bool, string) {
		said := map[string]answer{}
		content, err := os.ReadFile(file("said"))
		if err == nil {
			err = json.Unmarshal(content, &said)
		}
		last = said[cluster]
		return err == nil && check(last), fmt.Sprintf("%+v %v", last, err)
	}))
	return last
}

// fleetContext ends with the test and with the fleet.
func fleetContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := context.AfterFunc(fleet.Context(), func() { cancel(fleet.Err()) })
	t.Cleanup(func() { stop(); cancel(nil) })
	return ctx
}

// onEachCluster runs a test on the cluster with the newest parts and on the one with the
// oldest.
func onEachCluster(t *testing.T, test func(t *testing.T, c *env.Cluster)) {
	t.Helper()
	for _, c := range fleet.Managed {
		t.Run(c.Name, func(t *testing.T) { test(t, c) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
