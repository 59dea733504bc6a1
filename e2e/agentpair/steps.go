// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

func (p *pair) register(ctx context.Context) string {
	example, limit := p.example(ctx), 20*time.Second
	if p.bring {
		limit = 90 * time.Second
	}
	began := time.Now()
	if p.bring {
		for _, c := range p.fleet.Managed {
			must.OK(scenario.WantArgoCD(ctx, p.fleet.Hub, c.Name, true))
		}
	}
	p.apply(ctx, example...)
	s := p.ready(ctx)
	took := time.Since(began)
	if s.Principal.Address != "127.0.0.1" || s.Principal.Port != principalPort || s.Principal.Version != "0.9.0" {
		must.OK(fmt.Errorf("the principal is %+v", s.Principal))
	}
	for _, condition := range s.Conditions {
		if condition.Status == metav1.ConditionTrue && condition.Reason != "AsExpected" {
			must.OK(fmt.Errorf("condition %s says %s: %s", condition.Type, condition.Reason, condition.Message))
		}
	}
	for _, c := range p.fleet.Managed {
		p.argocd(ctx, c)
	}
	if took > limit {
		must.OK(fmt.Errorf("it took %s, not %s", took, limit))
	}
	return fmt.Sprintf("%d clusters connected after %.1f s", len(p.fleet.Managed), took.Seconds())
}

// argocd waits until Argo CD runs on a cluster, if the add-on manager installs it.
func (p *pair) argocd(ctx context.Context, c *env.Cluster) {
	if !p.bring {
		return
	}
	await(ctx, "Argo CD on "+c.Name, func(ctx context.Context) (bool, string) {
		set := &appsv1.StatefulSet{}
		must.OK(c.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: env.ArgoCDController}, set))
		return set.Status.ReadyReplicas == 1, fmt.Sprint(set.Status)
	})
}

func (p *pair) managed(ctx context.Context) string {
	must.OK(p.fleet.Hub.ApplyFiles(ctx, scenario.Examples("agent/guestbook.yaml")))
	for _, c := range p.fleet.Managed {
		awaitApplication(ctx, p.fleet.Hub, env.ArgoCDNamespace, "guestbook-"+c.Name, well)
		runs(ctx, c)
	}
	return "Synced and Healthy on the hub"
}

// runs checks that a cluster has the Deployment that Argo CD deployed.
func runs(ctx context.Context, c *env.Cluster) {
	must.OK(c.Client.Get(ctx, client.ObjectKey{Namespace: workload, Name: "guestbook-ui"}, &appsv1.Deployment{}))
}

func (p *pair) otherNamespace(ctx context.Context) string {
	c := p.fleet.Managed[0]
	p.apply(ctx, application("team-a", "theirs", "agents", map[string]any{"name": c.Name, "namespace": "team-a"}))
	// The cluster's Argo CD reads only its own namespace, so this step only checks that the Application
	// arrives.
	awaitApplication(ctx, c, "team-a", "theirs", func(string, string) bool { return true })
	return ""
}

// atRest counts gitopscluster's writes while nothing happens.
func (p *pair) atRest(ctx context.Context, lasts time.Duration) string {
	await(ctx, "the last write", func(context.Context) (bool, string) {
		info := must.Get(os.Stat(p.audit))
		return time.Since(info.ModTime()) > 5*time.Second, info.ModTime().String()
	})
	before := must.Get(os.ReadFile(p.audit))
	select {
	case <-ctx.Done():
		must.OK(ctx.Err())
	case <-time.After(lasts):
	}
	if more := must.Get(os.ReadFile(p.audit))[len(before):]; len(more) > 0 {
		must.OK(fmt.Errorf("writes in %s: %s", lasts, more))
	}
	return fmt.Sprintf("none in %s; %d since the start", lasts, bytes.Count(before, []byte("\n")))
}

func (p *pair) generation(ctx context.Context) string {
	p.annotate(ctx, agents, "certificate-generation", "2")
	for _, c := range p.fleet.Managed {
		await(ctx, "a certificate of generation 2 on "+c.Name, func(ctx context.Context) (bool, string) {
			subject := clientSubject(ctx, c)
			return subject == "CN="+c.Name+",O=g2", subject
		})
	}
	p.ready(ctx)
	return ""
}

// hangs suspends an agent, waits until gitopscluster reports it as not connected, and resumes the agent.
func (p *pair) hangs(ctx context.Context) string {
	name := p.fleet.Managed[0].Name
	pid, since := 0, time.Now()
	await(ctx, "the agent to stay connected after the restarts of the step before", func(ctx context.Context) (bool, string) {
		running, connected := 0, false
		if process := p.agents[name].process.Load(); process != nil {
			running = process.PID()
			looked := time.Now()
			p.ready(ctx)
			connected = time.Since(looked) < time.Second // it was already connected
		}
		if !connected || running != pid {
			pid, since = running, time.Now()
		}
		return connected && time.Since(since) > 15*time.Second, fmt.Sprintf("process %d, connected %v", running, connected)
	})
	must.OK(syscall.Kill(pid, syscall.SIGSTOP))
	began := time.Now()
	p.await(ctx, "NotConnected", agents, func(s status) bool {
		c := meta.FindStatusCondition(s.Conditions, "AgentsConnected")
		return c != nil && c.Status != metav1.ConditionTrue && strings.Contains(c.Message, name)
	})
	took := time.Since(began)
	must.OK(syscall.Kill(pid, syscall.SIGCONT))
	p.ready(ctx)
	return fmt.Sprintf("NotConnected after %.1f s", took.Seconds())
}

// autonomous moves the second cluster to another GitOpsCluster and so to another mode.
func (p *pair) autonomous(ctx context.Context) string {
	c := p.fleet.Managed[1]
	objects := must.Get(env.ReadObjects(file("autonomous.yaml")))
	must.OK(unstructured.SetNestedField(objects[0].Object, c.Redis, "spec", "agent", "redis", "address"))
	// The managed Application is deleted first, because its finalizer needs a managed agent.
	set := object("argoproj.io/v1alpha1", "ApplicationSet", env.ArgoCDNamespace, "guestbook-agents")
	must.OK(p.hub.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	gone(ctx, p.fleet.Hub, set)
	o := application(env.ArgoCDNamespace, "guestbook-"+c.Name, "", nil)
	must.OK(p.hub.Delete(ctx, o))
	gone(ctx, p.fleet.Hub, o)
	gone(ctx, c, o)
	p.label(ctx, c, autonomous)
	p.apply(ctx, objects...)
	if s := p.await(ctx, "every agent", autonomous, connected(1)); s.Principal.Address != "localhost" {
		must.OK(fmt.Errorf("the principal is %+v", s.Principal))
	}
	must.OK(c.Apply(ctx, application(env.ArgoCDNamespace, "own", "default", map[string]any{"server": "https://kubernetes.default.svc", "namespace": workload})))
	awaitApplication(ctx, p.fleet.Hub, c.Name, "own", func(sync, _ string) bool { return sync == "OutOfSync" })
	p.patch(ctx, application(c.Name, "own", "", nil), `{"operation":{"sync":{"revision":"main"},"initiatedBy":{"username":"admin"}}}`)
	awaitApplication(ctx, p.fleet.Hub, c.Name, "own", well)
	p.tree(ctx, c, "own", c.Name+"_own")
	return ""
}

// leave removes the agent from one cluster by its Placement, then from the other by its GitOpsCluster. The
// workload and Argo CD stay, and every object of the agent is deleted.
func (p *pair) leave(ctx context.Context) string {
	first := p.fleet.Managed[0]
	of := metav1.ObjectMeta{Namespace: env.ArgoCDNamespace}
	p.label(ctx, first, "none")
	of.Name = first.Name + "-cluster-secret"
	gone(ctx, p.fleet.Hub, &corev1.Secret{ObjectMeta: of})
	for _, name := range []string{agents, autonomous} {
		must.OK(p.hub.Delete(ctx, gitopsCluster(name)))
		gone(ctx, p.fleet.Hub, gitopsCluster(name))
	}
	for _, of.Name = range principalSecrets {
		gone(ctx, p.fleet.Hub, &corev1.Secret{ObjectMeta: of})
	}
	for _, c := range p.fleet.Managed {
		for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
			for _, name := range []string{agentName, "argocd-agent-params", "argocd-agent-ca", clientSecret, "mci-argocd-agent", "mci-argocd-agent-live-view-hub-ui"} {
				if err := c.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, o); !apierrors.IsNotFound(err) {
					must.OK(fmt.Errorf("%T %s is still on %s: %w", o, name, c.Name, err))
				}
			}
		}
		p.argocd(ctx, c)
		runs(ctx, c)
	}
	return ""
}
