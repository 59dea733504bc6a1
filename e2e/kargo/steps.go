// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// release commits a good version and promotes it to both Stages.
func (p *pipeline) release(ctx context.Context) string {
	f := p.commit(ctx, "Release", good)
	return p.well(ctx, p.promote(ctx, p.canary, f, asIs), f) + "\n" + p.finish(ctx, f)
}

// finish promotes Freight to production after its verification in canary.
func (p *pipeline) finish(ctx context.Context, f freight) string {
	figures := p.well(ctx, p.promote(ctx, p.production, f, asIs), f)
	p.good = append(p.good, f)
	return figures
}

// well waits until a promotion has succeeded, its Stage is healthy and its Freight is verified. It checks
// that the cluster ran one operation, and returns figures.
func (p *pipeline) well(ctx context.Context, made promotion, f freight) string {
	phase, message := p.ended(ctx, made)
	require(phase == succeeded, "Promotion %s is %s: %s", made.name, phase, message)
	took := time.Since(made.made)
	await(ctx, "Stage "+made.stage.name+" to be healthy and its Freight verified", func(ctx context.Context) (bool, string) {
		s := p.status(ctx, made.stage)
		return s.healthy() && s.LastPromotion.Name == made.name && p.verifiedIn(ctx, made.stage, f), fmt.Sprintf("%+v", s)
	})
	verified := time.Since(made.made)
	c := p.once(ctx, made)
	a := p.application(ctx, made.stage)
	require(a.Status.Sync.Status == argocd.SyncSynced && a.Status.Sync.Revision == f.revision && a.Spec.Source.TargetRevision == f.revision,
		"Application %s has %+v, want %s", made.stage.app, a, f.revision)
	return fmt.Sprintf("%s: Succeeded after %.1f s, verified after %.1f s; %s", made.name, took.Seconds(), verified.Seconds(), c)
}

// rest waits until propagation has finished the requests of an Application.
func (p *pipeline) rest(ctx context.Context, s *stage) {
	await(ctx, "the requests of Application "+s.app+" to be done", func(ctx context.Context) (bool, string) {
		a := p.application(ctx, s)
		open := len(a.Operation) > 0 || a.Metadata.Annotations[argocd.RefreshAnnotation] != ""
		for _, c := range a.Status.Conditions {
			open = open || c.Type == "PullDeliveryRequest"
		}
		return !open, fmt.Sprintf("%+v", a)
	})
}

// once waits until propagation has finished the requests. It checks that Kargo wrote one operation and the
// cluster ran one. Kargo may write the same operation again if the status changes before the operation runs,
// which has no effect.
func (p *pipeline) once(ctx context.Context, made promotion) counted {
	s := made.stage
	p.rest(ctx, s)
	c := count(p.audit, s.app, s.cluster.Name, made.made)
	own, phase := s.on.ran(s.app, made.name)
	ran, synced := s.on.all(s.app)
	ran, synced = ran-made.operations, synced-made.synced
	require(own == 1 && ran == 1 && (synced == 1) == (phase == succeeded) && synced <= 1 && c.operations == 1 && c.started <= 4,
		"Promotion %s: Kargo wrote %d operations and began %d, the cluster ran %d, %d of the promotion, %d successfully: want 1 of each",
		made.name, c.operations, c.started, ran, own, synced)
	p.ones++
	p.again += c.started - 1
	return c
}

// stops promotes bad commits, one after the other. Each must stop at canary, and the former Freight must
// repair canary.
func (p *pipeline) stops(ctx context.Context, n int) string {
	stopped, repaired := 0, 0
	before, _ := p.production.on.all(p.production.app)
	for i := range n {
		content, kind := unsyncable, "cannot sync"
		if i%2 == 1 {
			content, kind = degrading, "degrades"
		}
		f := p.commit(ctx, "Break: "+kind, content)
		p.bad = append(p.bad, f)
		made := p.promote(ctx, p.canary, f, asIs)
		phase, message := p.ended(ctx, made)
		require((phase == succeeded) == (i%2 == 1), "Promotion %s of a commit that %s is %s: %s", made.name, kind, phase, message)
		await(ctx, "canary not to be healthy", func(ctx context.Context) (bool, string) {
			s := p.status(ctx, p.canary)
			degraded := p.application(ctx, p.canary).Status.Health.Status == argocd.HealthDegraded
			return !s.healthy() && s.LastPromotion.Name == made.name && (degraded || i%2 == 0), fmt.Sprintf("%+v", s)
		})
		p.once(ctx, made)
		p.refused(ctx, f)
		require(!p.verifiedIn(ctx, p.canary, f), "Freight %s of a commit that %s is verified in canary", f.name, kind)
		stopped++
		say(fmt.Sprintf("%s %s: Promotion %s, %s", made.name, kind, phase, p.status(ctx, p.canary).Health.Status))
		former := p.good[len(p.good)-1]
		say("  repaired by " + p.well(ctx, p.promote(ctx, p.canary, former, asIs), former))
		repaired++
	}
	after, _ := p.production.on.all(p.production.app)
	require(after == before, "production's cluster ran %d operations", after-before)
	p.clean()
	return fmt.Sprintf("stopped at canary: %d of %d; canary repaired by the former freight: %d of %d; operations on production's cluster: 0", stopped, n, repaired, n)
}

// refused checks that Kargo does not promote Freight to production.
func (p *pipeline) refused(ctx context.Context, f freight) {
	made := p.promote(ctx, p.production, f, asIs)
	phase, message := p.ended(ctx, made)
	require(phase != succeeded && strings.Contains(message, "not available"), "Promotion %s is %s: %s", made.name, phase, message)
}

// clean checks that production's Application never contained a bad commit, neither on its cluster nor on the
// hub.
func (p *pipeline) clean() {
	s := p.production
	for _, f := range p.bad {
		require(!s.on.named(s.app, f.revision) && !s.hub.named(s.app, f.revision), "Application %s named the bad commit %s", s.app, f.revision)
	}
}

// unreachable kills the agents of canary's cluster and promotes during the outage.
func (p *pipeline) unreachable(ctx context.Context) string {
	c := p.canary.cluster.Name
	lease(ctx, p.hub, c, 1)
	agents := []string{c + "-registration-agent", c + "-work-agent"}
	for _, name := range agents {
		must.OK(must.Get(p.fleet.Processes.Get(name)).Kill(ctx))
	}
	var s stageStatus
	await(ctx, "canary not to be healthy", func(ctx context.Context) (bool, string) {
		s = p.status(ctx, p.canary)
		return !s.healthy() && p.application(ctx, p.canary).Status.Health.Status == argocd.HealthUnknown, fmt.Sprintf("%+v", s)
	})
	say(fmt.Sprintf("Stage canary: %s, %s", s.Health.Status, strings.Join(s.Health.Issues, "; ")))
	f := p.commit(ctx, "Release while canary's cluster is unreachable", good)
	made := p.promote(ctx, p.canary, f, asIs)
	p.requested(ctx, made)
	p.refused(ctx, f)
	phase, _ := p.phase(ctx, made)
	s = p.status(ctx, p.canary)
	require(phase == "Running" && !s.healthy() && !p.verifiedIn(ctx, p.canary, f), "Promotion %s is %s, its Stage %+v", made.name, phase, s)
	lease(ctx, p.hub, c, 60)
	for _, name := range agents {
		must.OK(must.Get(p.fleet.Processes.Get(name)).Start(ctx))
	}
	must.OK(p.fleet.AwaitAvailable(ctx, c))
	return "afterwards " + p.well(ctx, made, f) + "\n" + p.finish(ctx, f)
}

// lease sets the lease duration of a managed cluster.
func lease(ctx context.Context, hub client.Client, cluster string, seconds int) {
	must.OK(hub.Patch(ctx, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}},
		client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, seconds))))
}

// requested waits until Kargo has written its operation into the hub Application.
func (p *pipeline) requested(ctx context.Context, made promotion) {
	await(ctx, "Kargo to ask for the operation of "+made.name, func(ctx context.Context) (bool, string) {
		a := p.application(ctx, made.stage)
		return strings.Contains(string(a.Operation), made.name), string(a.Operation)
	})
}

// killedBefore kills propagation before a promotion and starts it during the promotion.
func (p *pipeline) killedBefore(ctx context.Context) string {
	f := p.commit(ctx, "Release, and kill propagation first", good)
	propagation := must.Get(p.fleet.Processes.Get(env.Propagation + "-0"))
	must.OK(propagation.Kill(ctx))
	made := p.promote(ctx, p.canary, f, asIs)
	p.requested(ctx, made)
	must.OK(propagation.Start(ctx))
	return p.well(ctx, made, f) + "\n" + p.finish(ctx, f)
}

// killedAfter kills propagation when the cluster has begun the operation, and starts it when the operation
// has ended.
func (p *pipeline) killedAfter(ctx context.Context) string {
	f := p.commit(ctx, "Release, and kill propagation meanwhile", good)
	propagation := must.Get(p.fleet.Processes.Get(env.Propagation + "-0"))
	made := p.promote(ctx, p.canary, f, asIs)
	await(ctx, "the cluster to begin the operation of "+made.name, func(context.Context) (bool, string) {
		times, phase := made.stage.on.ran(made.stage.app, made.name)
		return times > 0, phase
	})
	must.OK(propagation.Kill(ctx))
	await(ctx, "the cluster to end the operation of "+made.name, func(context.Context) (bool, string) {
		_, phase := made.stage.on.ran(made.stage.app, made.name)
		return phase == argocd.OperationSucceeded, phase
	})
	must.OK(propagation.Start(ctx))
	return p.well(ctx, made, f) + "\n" + p.finish(ctx, f)
}

// withoutTarget promotes former Freight with desiredRevision only, which does not deploy it.
func (p *pipeline) withoutTarget(ctx context.Context) string {
	former, last := p.good[len(p.good)-2], p.good[len(p.good)-1]
	made := p.promote(ctx, p.canary, former, strings.NewReplacer(
		`"updateTargetRevision":true`, `"updateTargetRevision":false`, `"uses":`, `"retry":{"timeout":"15s"},"uses":`,
	).Replace)
	phase, message := p.ended(ctx, made)
	took := time.Since(made.made)
	p.rest(ctx, p.canary)
	c := count(p.audit, p.canary.app, p.canary.cluster.Name, made.made)
	a := p.application(ctx, p.canary)
	require(phase != succeeded && c.started > 1 && a.Spec.Source.TargetRevision == last.revision,
		"Promotion %s is %s: %s; Kargo began %d operations, Application %+v", made.name, phase, message, c.started, a)
	ran, _ := p.canary.on.all(p.canary.app)
	say(fmt.Sprintf("%s: %s after %.1f s, Kargo began %d operations, the cluster ran %d; %s", made.name, phase, took.Seconds(), c.started, ran-made.operations, message))
	return "afterwards " + p.well(ctx, p.promote(ctx, p.canary, last, asIs), last)
}

// total summarizes the run.
func (p *pipeline) total(context.Context) string {
	p.clean()
	return fmt.Sprintf("%d promotions in %s; on production %d good commits, none of %d bad ones; one operation for each of %d promotions, which Kargo wrote %d times more without effect",
		p.promotions, time.Since(p.began).Round(time.Second), len(p.good), len(p.bad), p.ones, p.again)
}
