// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command parity delivers Applications of many shapes to a fleet of real parts, and prints
// what of the status that the managed cluster's Argo CD writes is in that of the hub's
// Application: a table in Markdown, and how many fields are the same, differ or are lost. Then
// it runs Argo CD's notifications controller on both sides and counts what they send.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func main() {
	record := flag.String("record", "", "a folder for the statuses that were compared")
	transitions := flag.Int("notifications", 1000, "how many transitions to send notifications of, 0 for none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(env.WithParent(ctx), *record, *transitions); err != nil {
		fmt.Fprintf(os.Stderr, "\nparity: %v\n", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context, record string, transitions int) (err error) {
	// the repository servers find helm and kustomize there
	if err := os.Setenv("PATH", filepath.Join(testkit.Root(), "bin")+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return err
	}
	if err := env.Build(ctx); err != nil {
		return err
	}
	fleet, err := env.Start(ctx, env.Options{Old: []string{"cluster2"}, StatusPoll: 2 * time.Second, SaveMemory: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	if err := scenario.Prepare(ctx, fleet); err != nil {
		return err
	}
	all := shapes()
	for _, c := range fleet.Managed {
		for i := range all {
			if err := all[i].create(ctx, fleet, c.Name); err != nil {
				return err
			}
		}
	}
	for i, c := range fleet.Managed {
		names, verdicts := []string{}, map[string]map[string]verdict{}
		for j := range all {
			s := &all[j]
			hub, cluster, err := s.settled(ctx, fleet, c)
			if err != nil {
				return err
			}
			if verdicts[s.name], err = compare(hub, cluster); err != nil {
				return fmt.Errorf("%s: %w", s.application(c.Name), err)
			}
			if err := save(record, s.application(c.Name), hub, cluster); err != nil {
				return err
			}
			names = append(names, s.name)
		}
		fmt.Printf("\n## %s: %s\n\n%s\n", c.Name, []string{"the newest Argo CD", "the oldest Argo CD"}[i], table(names, verdicts))
		for _, name := range names {
			counts := count(verdicts[name])
			fmt.Printf("%s: %d the same, %d different, %d lost\n", name, counts[same], counts[different], counts[lost])
		}
	}
	if transitions == 0 {
		return nil
	}
	return notifications(ctx, fleet, transitions)
}

// create makes the shape's Application for a cluster on the hub.
func (s *shape) create(ctx context.Context, fleet *env.Fleet, cluster string) error {
	name := s.application(cluster)
	if _, err := fleet.Git.Commit(ctx, "Add "+name, s.content(name)); err != nil {
		return err
	}
	spec, err := s.spec(name)
	if err != nil {
		return err
	}
	return fleet.Hub.Client.Create(ctx, application(name, cluster, spec))
}

// application returns a hub Application for a cluster.
func application(name, cluster string, spec json.RawMessage) *argocd.Application {
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: env.ArgoCDNamespace, Name: name,
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: spec,
	}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	return a
}

// quiet is how long neither status may change before they are compared: longer than a work
// agent that polls takes, and shorter than Argo CD's own resync, which renews reconciledAt.
const quiet = 3 * time.Second

// settled waits until the shape's Application is as it will be, and returns its status on
// the hub and on the cluster.
func (s *shape) settled(ctx context.Context, fleet *env.Fleet, c *env.Cluster) (hub, cluster json.RawMessage, err error) {
	key := client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: s.application(c.Name)}
	health, sync, phase := cmp.Or(s.health, argocd.HealthHealthy), cmp.Or(s.sync, argocd.SyncSynced), cmp.Or(s.phase, argocd.OperationSucceeded)
	if s.manual {
		phase = ""
	}
	var last string
	var since time.Time
	err = env.WaitFor(ctx, 2*time.Minute, key.Name+" to be as it will be, here and there", func(ctx context.Context) (bool, string) {
		var here, there argocd.Application
		if err := errors.Join(fleet.Hub.Client.Get(ctx, key, &here), c.Client.Get(ctx, key, &there)); err != nil {
			return false, err.Error()
		}
		hub, cluster = here.Status, there.Status
		if saw := essence(there.Status) + " there, here " + essence(here.Status); saw != last {
			last, since = saw, time.Now()
		}
		want := func(status json.RawMessage) bool {
			is, other := essence(status), sync+" "+phase
			return is == health+" "+other || health == anyHealth && strings.HasSuffix(is, " "+other)
		}
		return want(here.Status) && want(there.Status) && time.Since(since) >= quiet, last
	})
	return hub, cluster, err
}

// essence is health, sync and phase of a status.
func essence(raw json.RawMessage) string {
	var s struct {
		Health         struct{ Status string }
		Sync           struct{ Status string }
		OperationState struct{ Phase string }
	}
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return "unreadable"
	}
	return strings.Join([]string{s.Health.Status, s.Sync.Status, s.OperationState.Phase}, " ")
}

// save writes both statuses of an Application into a folder, unless that is "".
func save(folder, name string, hub, cluster json.RawMessage) error {
	if folder == "" {
		return nil
	}
	for side, status := range map[string]json.RawMessage{"hub": hub, "cluster": cluster} {
		if err := os.WriteFile(filepath.Join(folder, name+"."+side+".json"), status, 0o600); err != nil {
			return err
		}
	}
	return nil
}
