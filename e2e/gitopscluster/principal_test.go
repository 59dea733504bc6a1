// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/standin"
)

const (
	image         = "quay.io/argoprojlabs/argocd-agent:v0.9.0"
	address       = "principal.example.com"
	principalName = "argocd-agent-principal"
	// certificates is the annotation of a pod template with a digest of the files that its process reads at
	// its start.
	certificates = "apps.open-cluster-management.io/certificates"
	tick         = 100 * time.Millisecond
)

// principal acts as argocd-agent's principal on the hub. It acts as the Deployment controller, and serves TLS
// with the content of its Secrets at its last start.
type principal struct {
	mu     sync.Mutex
	server *standin.Server
	// started is the digest on the pod template at the last start.
	started string
	trouble error
}

// play restarts the principal whenever the digest on its pod template changes.
func (p *principal) play(ctx context.Context) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		err := p.look(ctx)
		p.mu.Lock()
		p.trouble = err
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.server != nil {
				_ = p.server.Close() // nothing was written
			}
			return
		case <-ticks.C:
		}
	}
}

func (p *principal) look(ctx context.Context) error {
	d := &appsv1.Deployment{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: principalName}, d); err != nil {
		return err
	}
	if digest := d.Spec.Template.Annotations[certificates]; digest != "" && digest != p.started {
		if err := p.restart(ctx, digest); err != nil {
			return err
		}
	}
	want := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1}
	if p.server != nil { // the principal does not start without its Secrets
		want.ReadyReplicas, want.AvailableReplicas = 1, 1
	}
	if d.Status.ObservedGeneration == want.ObservedGeneration && d.Status.AvailableReplicas == want.AvailableReplicas {
		return nil
	}
	d.Status = want
	return hub.Status().Update(ctx, d)
}

func (p *principal) restart(ctx context.Context, digest string) error {
	var ca, leaf corev1.Secret
	for name, secret := range map[string]*corev1.Secret{"argocd-agent-ca": &ca, "argocd-agent-principal-tls": &leaf} {
		if err := hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, secret); err != nil {
			return err
		}
	}
	next, err := standin.Start(ca.Data, leaf.Data, standin.Auth, nil)
	if err != nil {
		return err
	}
	p.mu.Lock()
	before := p.server
	p.server, p.started = next, digest
	p.mu.Unlock()
	if before != nil {
		return before.Close()
	}
	return nil
}

// now returns the principal's address, and the digest at its last start.
func (p *principal) now() (server, started string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return "", "", fmt.Errorf("the principal is not up: %w", p.trouble)
	}
	return p.server.Address(), p.started, nil
}

// agentOf returns an agent with the current Secrets of a cluster.
func agentOf(ctx context.Context, c *env.Cluster) (standin.Agent, error) {
	var pair, ca corev1.Secret
	for name, secret := range map[string]*corev1.Secret{clientSecret: &pair, "argocd-agent-ca": &ca} {
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, secret); err != nil {
			return standin.Agent{}, err
		}
	}
	return standin.Agent{Roots: ca.Data["ca.crt"], Certificate: pair.Data["tls.crt"], Key: pair.Data["tls.key"]}, nil
}

// agents are the agents of all clusters, each with the Secrets from the start of its pod. They dial the
// principal repeatedly.
type agents struct {
	mu      sync.Mutex
	dials   map[string]int
	refused []string
}

// dialing starts the agents. They stop with the test, or when end is called.
func dialing(t *testing.T) (a *agents, end func()) {
	t.Helper()
	a = &agents{dials: map[string]int{}}
	ctx, cancel := context.WithCancel(fleetContext(t))
	var running sync.WaitGroup
	for _, c := range fleet.Managed {
		running.Go(func() { a.run(ctx, c) })
	}
	end = func() { cancel(); running.Wait() }
	t.Cleanup(end)
	return a, end
}

func (a *agents) run(ctx context.Context, c *env.Cluster) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	var pod types.UID
	var agent standin.Agent
	for {
		server, started, err := peer.now() // read first: an agent that is replaced in the meantime proves nothing
		if up := podOf(ctx, c); err == nil && up != "" {
			if up != pod {
				if mounted, err := agentOf(ctx, c); err == nil {
					pod, agent = up, mounted
				}
			}
			if up == pod {
				a.dial(c.Name, agent, server, started)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// podOf returns the UID of the agent's ready pod, or "".
func podOf(ctx context.Context, c *env.Cluster) types.UID {
	var pods corev1.PodList
	if c.Client.List(ctx, &pods, client.InNamespace(env.ArgoCDNamespace), agentPods) != nil {
		return ""
	}
	for i := range pods.Items {
		for _, condition := range pods.Items[i].Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pods.Items[i].DeletionTimestamp.IsZero() {
				return pods.Items[i].UID
			}
		}
	}
	return ""
}

func (a *agents) dial(cluster string, agent standin.Agent, server, started string) {
	name, err := agent.Dial(server, address, nil)
	_, now, _ := peer.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil && name == cluster:
		a.dials[cluster]++
	case now == started: // otherwise the principal was restarted in the meantime
		a.refused = append(a.refused, fmt.Sprintf("%s, as %q: %v", cluster, name, err))
	}
}
