// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/quickstart"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// options are the fleet's components of deploy/components.
var options = []string{"gitopsclusters", "gitopsclusters-agent", env.LiveView, env.Page, env.Placement, env.RenderedMode}

// pods are the processes that replace the pod of each Deployment.
var pods = map[string][]string{
	env.ProductNamespace:           {env.Propagation + "-0", env.ResourceSync + "-0", env.Aggregation + "-0"},
	env.Account(env.GitOpsCluster): {env.GitOpsCluster + "-0"},
	env.Account(env.LiveView):      {env.LiveView},
	env.Account(env.Page):          {env.Page + "-0"},
	env.Account(env.Placement):     {env.Placement + "-0"},
	env.Account(env.RenderedMode):  {env.RenderedMode + "-0"},
}

var (
	fleet *env.Fleet
	views env.Views
)

func TestMain(m *testing.M) {
	o := env.Options{
		Product: []string{env.Propagation, env.ResourceSync, env.Aggregation, env.Placement, env.RenderedMode},
		Agents:  true, Page: true, Arguments: map[string][]string{env.Aggregation: {"--rendered"}},
	}
	os.Exit(env.RunTests(m.Run, o, func(ctx context.Context, f *env.Fleet) (err error) {
		defer must.Return(&err)
		fleet, views = f, env.Views{Fleet: f}
		must.OK(views.Start(ctx))
		must.OK(installDeployments(ctx))
		must.OK(installPrincipal(ctx))
		must.OK(env.RenderedHub{Fleet: f}.Start(ctx))
		must.OK(scenario.Prepare(ctx, f))
		must.OK(prepareRendered(ctx))
		must.OK(requestAgents(ctx))
		return f.Hub.ApplyFiles(ctx, scenario.Examples("guestbook-app-set.yaml"))
	}))
}

// A hub loses all its data, and the commands of the page restore it. A pulled and a rendered Application
// without owner are restored, and ApplicationSets re-create the others, while a page of Argo CD is open. The
// workloads and the CA of the agents stay the same, and no operation of a pulled Application runs again.
func TestRestore_keepsTheWorkloads(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "docs", "restore.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, steps, found := strings.Cut(string(text), "\n## Restore\n")
	if !found {
		t.Fatal("docs/restore.md has no section Restore")
	}
	openView(t)
	createKept(t)
	createRendered(t)
	awaitReported(t)
	before, operations, trusted := running(t), operationsOf(t), authority(t)

	folder := t.TempDir()
	for _, b := range quickstart.Blocks(page) {
		run(t, folder, b)
	}
	if err := (env.LostHub{Fleet: fleet}).Replace(t.Context()); err != nil {
		t.Fatal(err)
	}
	loseViews(t)
	if err := views.StartViewer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := installDeployments(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := installPrincipal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := (env.RenderedHub{Fleet: fleet}).StartController(t.Context()); err != nil {
		t.Fatal(err)
	}
	blocks := quickstart.Blocks(steps)
	for i, b := range blocks {
		run(t, folder, b)
		started := followDeployments(t)
		if last := i >= len(blocks)-2; (len(started) > 0) != last {
			t.Fatalf("after block %d of %d these controllers run: %q\n%s", i+1, len(blocks), started, b.Commands)
		}
		if strings.Contains(b.Commands, "get placementdecisions") {
			awaitApplications(t)
			awaitEviction(t)
		}
	}
	awaitReported(t)
	forgetTheLostHub(t)
	if diff := cmp.Diff(before, running(t)); diff != "" {
		t.Errorf("what runs on managed clusters has changed:\n%s", diff)
	}
	if diff := cmp.Diff(operations, operationsOf(t)); diff != "" {
		t.Errorf("operations ran again:\n%s", diff)
	}
	if authority(t) != trusted {
		t.Error("the agents have another CA")
	}
}

// run runs a block of the page in the folder with the backup.
func run(t *testing.T, folder string, b quickstart.Block) {
	t.Helper()
	kubectl, err := env.Part("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", b.Commands)
	command.Dir = folder
	command.Env = append(os.Environ(), "KUBECONFIG="+fleet.Hub.Kubeconfig, "PATH="+filepath.Dir(kubectl)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	t.Logf("%s\n%s", b.Commands, out)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, b.Commands, out)
	}
}

// installDeployments applies the shipped Deployments. No controller creates their pods (see
// [followDeployments]).
func installDeployments(ctx context.Context) (err error) {
	defer must.Return(&err)
	objects := must.Get(env.Render(ctx, testkit.Root(), filepath.Join("overlays", "ocm"), options...))
	return fleet.Hub.Apply(ctx, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Deployment" })...)
}

// followDeployments acts as the kubelet of the hub. It starts and stops processes according to the replicas
// of their Deployments, and returns the running ones.
func followDeployments(t *testing.T) (started []string) {
	t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "apps/v1", "kind": "DeploymentList"}}
	if err := fleet.Hub.Client.List(t.Context(), list, client.InNamespace(env.ProductNamespace)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(pods) {
		t.Fatalf("%d Deployments for %d pods", len(list.Items), len(pods))
	}
	for i := range list.Items {
		replicas, _, err := unstructured.NestedInt64(list.Items[i].Object, "spec", "replicas")
		if err != nil {
			t.Fatal(err)
		}
		processes := pods[list.Items[i].GetName()]
		if len(processes) == 0 {
			t.Fatalf("no process plays the pod of Deployment %s", list.Items[i].GetName())
		}
		for _, name := range processes {
			follow(t, name, replicas > 0)
			if replicas > 0 {
				started = append(started, name)
			}
		}
	}
	return started
}

// follow starts or stops a process.
func follow(t *testing.T, name string, runs bool) {
	t.Helper()
	p, err := fleet.Processes.Get(name)
	switch {
	case err != nil:
	case !runs:
		err = p.Stop(t.Context())
	case p.PID() == 0:
		if err = p.Start(t.Context()); err == nil {
			err = p.AwaitReady(t.Context())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openView subscribes to the channel through which argocd-server updates a page, until the test ends.
func openView(t *testing.T) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: views.HubRedis()})
	s := c.Subscribe(t.Context(), "app|managed-resources|"+kept+"|1.8.3")
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// loseViews empties the hub's Redis, because a lost hub loses it, too.
func loseViews(t *testing.T) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: views.HubRedis()})
	defer c.Close() // nothing is buffered
	if err := c.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// viewed reports whether the hub's Redis has the tree of the Application with an open page.
func viewed(ctx context.Context) (bool, string) {
	c := redis.NewClient(&redis.Options{Addr: views.HubRedis()})
	defer c.Close() // nothing is buffered
	n, err := c.Exists(ctx, "app|resources-tree|"+kept+"|1.8.3.gz").Result()
	return n == 1, fmt.Sprintf("%d views, %v", n, err)
}
