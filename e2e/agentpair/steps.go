// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

// workload is the namespace on the clusters that their Argo CD may write to.
const workload = "guestbook"

func gitopsCluster(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apps.open-cluster-management.io/v1beta1")
	o.SetKind("GitOpsCluster")
	o.SetNamespace(env.ArgoCDNamespace)
	o.SetName(name)
	return o
}

// label has a Placement select a cluster.
func label(ctx context.Context, hub client.Client, c *env.Cluster, placement string) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"placement":%q}}}`, placement)
	return hub.Patch(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (p *pair) annotate(ctx context.Context, name, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"apps.open-cluster-management.io/%s":%q}}}`, key, value)
	return p.hub.Patch(ctx, gitopsCluster(name), client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (p *pair) register(ctx context.Context) (string, error) {
	example, err := p.example(ctx)
	if err != nil {
		return "", err
	}
	began := time.Now()
	if err := p.fleet.Hub.ApplyFiles(ctx, example); err != nil {
		return "", err
	}
	s, err := p.ready(ctx, managed, len(p.fleet.Managed))
	if err != nil {
		return "", err
	}
	took := time.Since(began)
	if s.Principal.Address != "127.0.0.1" || s.port != principalPort || s.Principal.Version != "0.9.0" {
		return "", fmt.Errorf("the principal is %+v at port %d", s.Principal, s.port)
	}
	for _, condition := range s.Conditions {
		if condition.Status == metav1.ConditionTrue && condition.Reason != "AsExpected" {
			return "", fmt.Errorf("condition %s says %s: %s", condition.Type, condition.Reason, condition.Message)
		}
	}
	if took > 20*time.Second {
		return "", fmt.Errorf("it took %s", took)
	}
	return fmt.Sprintf("%d clusters connected after %.1f s", len(p.fleet.Managed), took.Seconds()), nil
}

// application makes an Application of the guestbook.
func application(namespace, name, project string, destination map[string]any) *unstructured.Unstructured {
	spec := map[string]any{
		"project": project, "destination": destination,
		"source": map[string]any{"repoURL": env.RepositoryURL, "path": "guestbook", "targetRevision": "main"},
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
}

// awaitApplication waits until the status of an Application passes.
func awaitApplication(ctx context.Context, c *env.Cluster, namespace, name string, check func(sync, health string) bool) error {
	return env.Wait(ctx, fmt.Sprintf("Application %s/%s on %s", namespace, name, c.Name), func(ctx context.Context) (bool, string) {
		o := application(namespace, name, "", nil)
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
		return check(sync, health), fmt.Sprint(o.Object["status"])
	})
}

func well(sync, health string) bool { return sync == "Synced" && health == "Healthy" }

func (p *pair) managed(ctx context.Context) (string, error) {
	if err := p.fleet.Hub.ApplyFiles(ctx, scenario.Examples("agent/guestbook.yaml")); err != nil {
		return "", err
	}
	for _, c := range p.fleet.Managed {
		if err := awaitApplication(ctx, p.fleet.Hub, env.ArgoCDNamespace, "guestbook-"+c.Name, well); err != nil {
			return "", err
		}
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: workload, Name: "guestbook-ui"}, &appsv1.Deployment{}); err != nil {
			return "", err
		}
	}
	return "Synced and Healthy on the hub", nil
}

func (p *pair) otherNamespace(ctx context.Context) (string, error) {
	c := p.fleet.Managed[0]
	if err := p.fleet.Hub.Apply(ctx, application("team-a", "theirs", "agents", map[string]any{"name": c.Name, "namespace": "team-a"})); err != nil {
		return "", err
	}
	// The cluster's Argo CD looks at its own namespace only: what counts is that it arrives.
	return "", awaitApplication(ctx, c, "team-a", "theirs", func(string, string) bool { return true })
}

// atRest counts what gitopscluster writes while nothing happens.
func (p *pair) atRest(ctx context.Context, lasts time.Duration) (string, error) {
	if err := env.Wait(ctx, "the last write", func(context.Context) (bool, string) {
		info, err := os.Stat(p.audit)
		return err == nil && time.Since(info.ModTime()) > 5*time.Second, fmt.Sprint(err)
	}); err != nil {
		return "", err
	}
	before, err := p.writes()
	if err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(lasts):
	}
	after, err := p.writes()
	if err != nil {
		return "", err
	}
	if more := after[len(before):]; len(more) > 0 {
		return "", fmt.Errorf("%d writes in %s: %q", len(more), lasts, more)
	}
	return fmt.Sprintf("none in %s; %d since the start", lasts, len(before)), nil
}

func parseEvent(line string) (string, bool) {
	var e struct{ Verb, RequestURI string }
	return e.Verb + " " + e.RequestURI, json.Unmarshal([]byte(line), &e) == nil
}

func (p *pair) generation(ctx context.Context) (string, error) {
	if err := p.annotate(ctx, managed, "certificate-generation", "2"); err != nil {
		return "", err
	}
	for _, c := range p.fleet.Managed {
		if err := env.Wait(ctx, "a certificate of generation 2 on "+c.Name, func(ctx context.Context) (bool, string) {
			subject, err := p.subject(ctx, c)
			return err == nil && subject == "CN="+c.Name+",O=g2", fmt.Sprint(subject, err)
		}); err != nil {
			return "", err
		}
	}
	_, err := p.ready(ctx, managed, len(p.fleet.Managed))
	return "", err
}

// hangs stops an agent, which then is not connected, and lets it go on.
func (p *pair) hangs(ctx context.Context) (string, error) {
	pid, since := 0, time.Now()
	if err := env.Wait(ctx, "the agent to stay connected after the restarts of the step before", func(ctx context.Context) (bool, string) {
		running, connected := 0, false
		if process := p.agents[p.fleet.Managed[0].Name].process.Load(); process != nil {
			running = process.PID()
			looked := time.Now()
			_, err := p.ready(ctx, managed, len(p.fleet.Managed))
			connected = err == nil && time.Since(looked) < time.Second // it was so already
		}
		if !connected || running != pid {
			pid, since = running, time.Now()
		}
		return connected && time.Since(since) > 15*time.Second, fmt.Sprintf("process %d, connected %v", running, connected)
	}); err != nil {
		return "", err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return "", err
	}
	began := time.Now()
	_, err := p.await(ctx, "NotConnected", managed, func(s said) bool {
		c := meta.FindStatusCondition(s.Conditions, "AgentsConnected")
		return c != nil && c.Status != metav1.ConditionTrue && strings.Contains(c.Message, p.fleet.Managed[0].Name)
	})
	took := time.Since(began)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return "", err
	}
	if err != nil {
		return "", err
	}
	_, err = p.ready(ctx, managed, len(p.fleet.Managed))
	return fmt.Sprintf("NotConnected after %.1f s", took.Seconds()), err
}

// autonomous has the second cluster change its GitOpsCluster, and with it the mode.
func (p *pair) autonomous(ctx context.Context) (string, error) {
	c := p.fleet.Managed[1]
	objects, err := env.ReadObjects(file("e2e/agentpair/testdata/autonomous.yaml"))
	if err != nil {
		return "", err
	}
	if err := unstructured.SetNestedField(objects[0].Object, c.Redis, "spec", "agent", "redis", "address"); err != nil {
		return "", err
	}
	// Its Application goes first: the finalizer of a managed one needs a managed agent.
	set := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"namespace": env.ArgoCDNamespace, "name": "guestbook-agents"},
	}}
	if err := p.hub.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		return "", err
	}
	if err := gone(ctx, p.fleet.Hub, set); err != nil {
		return "", err
	}
	if err := p.remove(ctx, "guestbook-"+c.Name); err != nil {
		return "", err
	}
	if err := label(ctx, p.hub, c, "autonomous"); err != nil {
		return "", err
	}
	if err := p.fleet.Hub.Apply(ctx, objects...); err != nil {
		return "", err
	}
	s, err := p.ready(ctx, "autonomous", 1)
	if err != nil {
		return "", err
	}
	if s.Principal.Address != "localhost" {
		return "", fmt.Errorf("the principal is %+v", s.Principal)
	}
	if err := c.Apply(ctx, application(env.ArgoCDNamespace, "own", "default", map[string]any{"server": "https://kubernetes.default.svc", "namespace": workload})); err != nil {
		return "", err
	}
	if err := awaitApplication(ctx, p.fleet.Hub, c.Name, "own", func(sync, _ string) bool { return sync == "OutOfSync" }); err != nil {
		return "", err
	}
	operation := `{"operation":{"sync":{"revision":"main"},"initiatedBy":{"username":"admin"}}}`
	if err := p.hub.Patch(ctx, application(c.Name, "own", "", nil), client.RawPatch(types.MergePatchType, []byte(operation))); err != nil {
		return "", err
	}
	if err := awaitApplication(ctx, p.fleet.Hub, c.Name, "own", well); err != nil {
		return "", err
	}
	return "", p.tree(ctx, c, "own", c.Name+"_own")
}

// remove deletes an Application of the hub and waits until it is gone from everywhere.
func (p *pair) remove(ctx context.Context, name string) error {
	for _, c := range append([]*env.Cluster{p.fleet.Hub}, p.fleet.Managed...) {
		o := application(env.ArgoCDNamespace, name, "", nil)
		if c == p.fleet.Hub {
			if err := c.Client.Delete(ctx, o); err != nil {
				return err
			}
		}
		if err := gone(ctx, c, o); err != nil {
			return err
		}
	}
	return nil
}

func gone(ctx context.Context, c *env.Cluster, o client.Object) error {
	return env.Wait(ctx, fmt.Sprintf("the end of %T %s on %s", o, o.GetName(), c.Name), func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// leave takes the agent off one cluster by its Placement, then off the other by its
// GitOpsCluster. What runs there stays, and nothing of the agent does.
func (p *pair) leave(ctx context.Context) (string, error) {
	first := p.fleet.Managed[0]
	if err := label(ctx, p.hub, first, "none"); err != nil {
		return "", err
	}
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}}
	}
	if err := gone(ctx, p.fleet.Hub, secret(first.Name+"-cluster-secret")); err != nil {
		return "", err
	}
	for _, name := range []string{managed, "autonomous"} {
		if err := p.hub.Delete(ctx, gitopsCluster(name)); err != nil {
			return "", err
		}
		if err := gone(ctx, p.fleet.Hub, gitopsCluster(name)); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"argocd-agent-ca", "argocd-agent-principal-tls", "argocd-agent-resource-proxy-tls", "argocd-agent-jwt"} {
		if err := gone(ctx, p.fleet.Hub, secret(name)); err != nil {
			return "", err
		}
	}
	for _, c := range p.fleet.Managed {
		for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
			list := []string{"argocd-agent-agent", "argocd-agent-params", "argocd-agent-ca", clientSecret, "mci-argocd-agent", "mci-argocd-agent-live-view-admin"}
			for _, name := range list {
				if err := c.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, o); err == nil {
					return "", fmt.Errorf("%T %s is still on %s", o, name, c.Name)
				} else if !apierrors.IsNotFound(err) {
					return "", err
				}
			}
		}
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: workload, Name: "guestbook-ui"}, &appsv1.Deployment{}); err != nil {
			return "", fmt.Errorf("what ran on %s: %w", c.Name, err)
		}
	}
	return "", nil
}
