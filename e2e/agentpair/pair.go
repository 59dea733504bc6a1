// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	// principalPort is the port of the principal and the node port of its Service.
	principalPort = 30443
	// agents is the GitOpsCluster of the example, and autonomous is the second GitOpsCluster. managed and
	// autonomous are the names of their Placements and of the labels that these select.
	agents, managed, autonomous = "agents", "managed", "autonomous"
	// workload is the namespace into which each cluster's Argo CD may deploy.
	workload = "guestbook"
)

// pair is a fleet with a principal and its agents.
type pair struct {
	fleet  *env.Fleet
	hub    client.Client
	binary string
	audit  string // the path of the audit log with gitopscluster's writes
	bring  bool   // whether the add-on manager installs Argo CD
	agents map[string]*node
}

func file(name string) string {
	return filepath.Join(testkit.Root(), "e2e", "agentpair", "testdata", name)
}

// manifests returns the folder of the principal's manifests in the source of a binary.
func manifests(binary string) string {
	return filepath.Join(filepath.Dir(binary), "install", "kubernetes", "principal")
}

// example returns deploy/examples/agent, adapted to this fleet, with the principal's manifests from the
// source of the binary.
func (p *pair) example(ctx context.Context) []*unstructured.Unstructured {
	text := strings.NewReplacer("PORT", strconv.Itoa(principalPort), "REDIS", p.fleet.Hub.Redis).Replace(string(must.Get(os.ReadFile(file("kustomization.yaml")))))
	out := must.Get(scenario.RenderAgents(ctx, os.DirFS(manifests(p.binary)), text))
	path := filepath.Join(p.fleet.Processes.Folder(), "agents.yaml")
	must.OK(os.WriteFile(path, out, 0o600))
	return must.Get(env.ReadObjects(path))
}

func (p *pair) apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	must.OK(p.fleet.Hub.Apply(ctx, objects...))
}

func object(version, kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

func gitopsCluster(name string) *unstructured.Unstructured {
	return object("apps.open-cluster-management.io/v1beta1", "GitOpsCluster", env.ArgoCDNamespace, name)
}

// application returns an Application that deploys the guestbook.
func application(namespace, name, project string, destination map[string]any) *unstructured.Unstructured {
	o := object("argoproj.io/v1alpha1", "Application", namespace, name)
	o.Object["spec"] = map[string]any{
		"project": project, "destination": destination,
		"source": map[string]any{"repoURL": env.RepositoryURL, "path": "guestbook", "targetRevision": "main"},
	}
	return o
}

func (p *pair) patch(ctx context.Context, o client.Object, format string, arguments ...any) {
	must.OK(p.hub.Patch(ctx, o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, arguments...))))
}

// label changes a cluster's label so that a Placement selects the cluster.
func (p *pair) label(ctx context.Context, c *env.Cluster, placement string) {
	p.patch(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, `{"metadata":{"labels":{"placement":%q}}}`, placement)
}

func (p *pair) annotate(ctx context.Context, name, key, value string) {
	p.patch(ctx, gitopsCluster(name), `{"metadata":{"annotations":{"apps.open-cluster-management.io/%s":%q}}}`, key, value)
}

// secret returns a Secret of the Argo CD namespace.
func secret(ctx context.Context, c client.Client, name string) *corev1.Secret {
	s := &corev1.Secret{}
	must.OK(c.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, s))
	return s
}

// status is the status of a GitOpsCluster.
type status struct {
	Clusters  struct{ Selected, Registered, Deployed, Connected, Leaving int }
	Principal struct {
		Address, Source, Version string
		Port                     int64
	}
	Conditions []metav1.Condition
}

// await waits until probe returns done. It retries after a failure of probe.
func await(ctx context.Context, what string, probe func(context.Context) (done bool, saw string)) {
	must.OK(env.Wait(ctx, what, func(ctx context.Context) (done bool, saw string) {
		if err := must.Try(func() { done, saw = probe(ctx) }); err != nil {
			return false, err.Error()
		}
		return done, saw
	}))
}

// await waits until the status of a GitOpsCluster passes check, and returns that status.
func (p *pair) await(ctx context.Context, what, name string, check func(status) bool) (last status) {
	await(ctx, fmt.Sprintf("%s of GitOpsCluster %s", what, name), func(ctx context.Context) (bool, string) {
		o := gitopsCluster(name)
		must.OK(p.hub.Get(ctx, client.ObjectKeyFromObject(o), o))
		content := must.Get(json.Marshal(o.Object["status"]))
		last = status{}
		must.OK(json.Unmarshal(content, &last))
		return check(last), string(content)
	})
	return last
}

// connected reports whether n clusters are connected and none is leaving.
func connected(n int) func(status) bool {
	return func(s status) bool {
		return meta.IsStatusConditionTrue(s.Conditions, "Ready") && s.Clusters.Selected == n && s.Clusters.Connected == n && s.Clusters.Leaving == 0
	}
}

// ready waits until every cluster has an agent of the example's GitOpsCluster.
func (p *pair) ready(ctx context.Context) status {
	return p.await(ctx, "every agent", agents, connected(len(p.fleet.Managed)))
}

// awaitApplication waits until the status of an Application passes check.
func awaitApplication(ctx context.Context, c *env.Cluster, namespace, name string, check func(sync, health string) bool) {
	await(ctx, fmt.Sprintf("Application %s/%s on %s", namespace, name, c.Name), func(ctx context.Context) (bool, string) {
		o := application(namespace, name, "", nil)
		must.OK(c.Client.Get(ctx, client.ObjectKeyFromObject(o), o))
		sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
		return check(sync, health), fmt.Sprint(o.Object["status"])
	})
}

func well(sync, health string) bool { return sync == "Synced" && health == "Healthy" }

// gone waits until an object does not exist any more.
func gone(ctx context.Context, c *env.Cluster, o client.Object) {
	await(ctx, fmt.Sprintf("the end of %T %s on %s", o, o.GetName(), c.Name), func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}
