// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command parity delivers Applications of many shapes to a fleet of real components. It compares the status
// on the managed cluster with the status of the hub Application. It prints a table in Markdown with each
// field, and how many fields are equal, differ or are lost.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func main() {
	record := flag.String("record", "", "a folder for the statuses that were compared")
	flag.Parse()
	env.Main("parity", func(ctx context.Context) error {
		// The repository servers find helm and kustomize in this folder.
		if err := os.Setenv("PATH", filepath.Join(testkit.Root(), "bin")+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			return err
		}
		o := env.Options{Old: []string{"cluster2"}, StatusPoll: 2 * time.Second, SaveMemory: true}
		return env.Use(ctx, o, func(ctx context.Context, fleet *env.Fleet) error {
			return must.Try(func() { compareAll(ctx, fleet, *record) })
		})
	})
}

func compareAll(ctx context.Context, fleet *env.Fleet, record string) {
	must.OK(scenario.Prepare(ctx, fleet))
	all := shapes()
	for _, c := range fleet.Managed {
		for i := range all {
			all[i].create(ctx, fleet, c.Name)
		}
	}
	for i, c := range fleet.Managed {
		names, verdicts := make([]string, 0, len(all)), map[string]map[string]verdict{}
		for j := range all {
			s := &all[j]
			hub, cluster := s.settled(ctx, fleet, c)
			verdicts[s.name] = must.Get(compare(hub, cluster))
			save(record, s.application(c.Name), hub, cluster)
			names = append(names, s.name)
		}
		fmt.Printf("\n## %s: %s\n\n%s\n", c.Name, []string{"the newest Argo CD", "the oldest Argo CD"}[i], table(names, verdicts))
		for _, name := range names {
			counts := map[verdict]int{}
			for _, v := range verdicts[name] {
				counts[v]++
			}
			fmt.Printf("%s: %d the same, %d different, %d lost\n", name, counts[same], counts[different], counts[lost])
		}
	}
}

// create creates the shape's Application for a cluster on the hub.
func (s *shape) create(ctx context.Context, fleet *env.Fleet, cluster string) {
	name := s.application(cluster)
	must.Get(fleet.Git.Commit(ctx, "Add "+name, s.content(name)))
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: env.ArgoCDNamespace, Name: name,
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: must.Get(s.spec(name)),
	}
	a.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	must.OK(fleet.Hub.Client.Create(ctx, a))
}

// quiet is how long both statuses must be unchanged before the comparison. It is longer than a poll of a work
// agent, and shorter than Argo CD's own resync, which renews reconciledAt.
const quiet = 3 * time.Second

// settled waits until the shape's Application has its final state, and returns its status on the hub and on
// the cluster.
func (s *shape) settled(ctx context.Context, fleet *env.Fleet, c *env.Cluster) (hub, cluster json.RawMessage) {
	key := client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: s.application(c.Name)}
	health, sync, phase := cmp.Or(s.health, argocd.HealthHealthy), cmp.Or(s.sync, argocd.SyncSynced), cmp.Or(s.phase, argocd.OperationSucceeded)
	if s.manual {
		phase = ""
	}
	var last string
	var since time.Time
	must.OK(env.WaitFor(ctx, 2*time.Minute, key.Name+" to be as it will be, on the hub and the cluster", func(ctx context.Context) (bool, string) {
		var onHub, onCluster argocd.Application
		if err := errors.Join(fleet.Hub.Client.Get(ctx, key, &onHub), c.Client.Get(ctx, key, &onCluster)); err != nil {
			return false, err.Error()
		}
		hub, cluster = onHub.Status, onCluster.Status
		if saw := essence(onCluster.Status) + " on the cluster, on the hub " + essence(onHub.Status); saw != last {
			last, since = saw, time.Now()
		}
		want := func(status json.RawMessage) bool {
			got, other := essence(status), sync+" "+phase
			return got == health+" "+other || health == anyHealth && strings.HasSuffix(got, " "+other)
		}
		return want(onHub.Status) && want(onCluster.Status) && time.Since(since) >= quiet, last
	}))
	return hub, cluster
}

// essence returns health, sync status and phase of a status.
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

// save writes both statuses of an Application into a folder, unless folder is "".
func save(folder, name string, hub, cluster json.RawMessage) {
	if folder != "" {
		must.OK(os.WriteFile(filepath.Join(folder, name+".hub.json"), hub, 0o600))
		must.OK(os.WriteFile(filepath.Join(folder, name+".cluster.json"), cluster, 0o600))
	}
}
