// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command page runs a fleet with an argocd-server that shows pulled Applications, for the tests of Argo CD's
// page in a browser (e2e/ui). It prints one line of JSON when it is ready, and ends at the end of its
// standard input. The lines "away CLUSTER", "back CLUSTER" and "drift CLUSTER" are commands. It answers each
// command with a line "done".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

func main() { env.Main("page", run) }

func run(ctx context.Context) error {
	if os.Getenv("ARGOCD_WITH_UI") == "" {
		return errors.New("ARGOCD_WITH_UI names no argocd that was built with its page: see e2e/ui/argocd.sh")
	}
	return env.Use(ctx, env.Options{Product: []string{env.Propagation}, ArgoCDAccounts: true, SaveMemory: true}, func(ctx context.Context, fleet *env.Fleet) (err error) {
		defer must.Return(&err)
		live := must.Get(scenario.StartLiveView(ctx, fleet, "--keep=10s"))
		must.OK(json.NewEncoder(os.Stdout).Encode(map[string]string{"url": "http://" + live.Server.Address, "admin": live.Admin, "tenant": live.Tenant}))
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			command, cluster, _ := strings.Cut(lines.Text(), " ")
			must.OK(obey(ctx, live, command, cluster))
			fmt.Println("done")
		}
		return lines.Err()
	})
}

func obey(ctx context.Context, live *scenario.LiveView, command, cluster string) error {
	switch command {
	case "away", "back":
		return live.SetAway(ctx, cluster, command == "away")
	case "drift":
		return drift(ctx, live, cluster)
	}
	return fmt.Errorf("no command is called %q", command)
}

// drift changes the workload of a guestbook without self-heal.
func drift(ctx context.Context, live *scenario.LiveView, cluster string) error {
	app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
	app.SetNamespace(env.ArgoCDNamespace)
	app.SetName("drifting")
	app.SetLabels(map[string]string{"apps.open-cluster-management.io/pull-to-ocm-managed-cluster": "true"})
	app.SetAnnotations(map[string]string{"apps.open-cluster-management.io/ocm-managed-cluster": cluster, "argocd.argoproj.io/skip-reconcile": "true"})
	app.Object["spec"] = map[string]any{
		"project":     "guestbook",
		"source":      map[string]any{"repoURL": env.RepositoryURL, "targetRevision": "main", "path": "notes"},
		"destination": map[string]any{"name": cluster, "namespace": "guestbook"},
		"syncPolicy":  map[string]any{"automated": map[string]any{}},
	}
	return must.Try(func() {
		must.OK(live.Fleet.Hub.Client.Create(ctx, app))
		must.OK(live.AwaitHealthy(ctx, "drifting"))
		notes, managed := &corev1.ConfigMapList{}, live.Fleet.Cluster(cluster)
		must.OK(managed.Client.List(ctx, notes, client.InNamespace("guestbook")))
		for i := range notes.Items {
			o := &notes.Items[i]
			if !strings.HasPrefix(o.Annotations["argocd.argoproj.io/tracking-id"], "drifting:") {
				continue
			}
			for key := range o.Data {
				o.Data[key] = "changed by hand"
				must.OK(managed.Client.Update(ctx, o))
				return
			}
		}
		must.OK(errors.New("nothing of Application drifting has data that could be changed"))
	})
}
