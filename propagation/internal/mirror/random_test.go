// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/steps"
)

// random has the steps of users and agents, which are the model.
type random struct {
	*fleet
	r        *rand.Rand
	clusters []*clusterv1.ManagedCluster
	away     map[string]bool // clusters that are not available
	apps     map[string]*pulled
	next     int
	stop     func()
}

// pulled is an Application and its expected status.
type pulled struct {
	app    *argocd.Application
	target string // the cluster that the Application names
	off    bool   // the Application has no pull label
	works  map[string]*workv1.ManifestWork
	words  map[string]string // the last report of each cluster's agent, in short form
	// operator began the operation that the status shows. It is empty if that is unknown, because the
	// Application moved, or another client wrote its status.
	operator string
}

// model returns the expected status of each Application.
func (f *random) model() map[string]string {
	want := map[string]string{}
	for name, p := range f.apps {
		if p.off && len(p.works) == 0 {
			continue // it keeps its status, and another client may write it
		}
		const unknown = "Unknown/Unknown@"
		said, reported := p.words[p.target]
		switch {
		case p.works[p.target] == nil:
			want[name] = unknown
		case f.away[p.target] && reported:
			want[name] = unknown + said[len("Healthy/Synced@"):] + " ClusterUnreachableWarning"
		case f.away[p.target]:
			want[name] = unknown + " ClusterUnreachableWarning"
		case reported:
			want[name] = said
		default:
			want[name] = unknown
		}
	}
	return want
}

// Users, agents and failures act in random order. In the end each Application shows its cluster's last
// report, and a restart writes nothing more.
func TestRandomSteps_endWithTheLastReports(t *testing.T) {
	r, n := steps.Random(t, 400)
	f := &random{fleet: newFleet(t), r: r, away: map[string]bool{}, apps: map[string]*pulled{}}
	for range 3 {
		f.clusters = append(f.clusters, f.cluster())
	}
	f.restart()
	for i := range n {
		f.step()
		if i%50 == 49 {
			f.rest()
		}
	}
	f.rest()
	f.stop()
	writes, _ := start(t, Options{}, nil)
	probe := f.app("probe", f.clusters[0].Name)
	awaitStatus(t, probe, "Unknown/Unknown@")
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes after a restart, want the probe's: what was right was written again", n)
	}
}

func (f *random) step() {
	switch n := f.r.IntN(100); {
	case n < 15:
		f.deploy()
	case n < 50:
		f.say()
	case n < 60:
		f.retarget()
	case n < 70:
		f.deliver()
	case n < 76:
		f.withdraw()
	case n < 82:
		f.meddle()
	case n < 86:
		f.remove()
	case n < 96:
		c := f.clusters[f.r.IntN(len(f.clusters))]
		f.away[c.Name] = !f.away[c.Name]
		available(f.t, c, map[bool]metav1.ConditionStatus{true: metav1.ConditionUnknown, false: metav1.ConditionTrue}[f.away[c.Name]])
	default:
		f.restart()
	}
}

// restart restarts the mirror. A tenth of its patches fail, half of these after the API server has accepted
// them.
func (f *random) restart() {
	if f.stop != nil {
		f.stop()
	}
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(f.r.Uint64(), 0))
	roll := func() int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(20)
	}
	_, f.stop = start(f.t, Options{CompareGrace: time.Millisecond}, func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				fate := roll()
				if fate == 0 {
					return errInjected
				}
				err := c.Patch(ctx, o, p, options...)
				if fate == 1 {
					err = errors.Join(err, errInjected)
				}
				return err
			},
		})
	})
}

// rest waits until every Application has its expected status.
func (f *random) rest() {
	f.t.Helper()
	want := f.model()
	testkit.Eventually(f.t, "every Application to say what its cluster said", func() error {
		var errs []error
		for _, name := range slices.Sorted(maps.Keys(want)) {
			got, p := statusOf(f.t, f.apps[name].app), f.apps[name]
			if short := got.short(); short != want[name] {
				errs = append(errs, fmt.Errorf("%s on %s says %q, want %q", name, p.target, short, want[name]))
			}
			if p.operator != "" && got.operator() != p.operator {
				errs = append(errs, fmt.Errorf("the operation of %s is by %q, want %q", name, got.operator(), p.operator))
			}
		}
		return errors.Join(errs...)
	})
}

// pick returns a random Application that fits, or nil.
func (f *random) pick(fits func(*pulled) bool) *pulled {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(f.apps)), func(name string) bool { return !fits(f.apps[name]) })
	if len(names) == 0 {
		return nil
	}
	return f.apps[names[f.r.IntN(len(names))]]
}

func anyOf(*pulled) bool { return true }

func (f *random) anyCluster() string { return f.clusters[f.r.IntN(len(f.clusters))].Name }

func (f *random) deploy() {
	if len(f.apps) >= 8 {
		return
	}
	f.next++
	p := &pulled{target: f.anyCluster(), works: map[string]*workv1.ManifestWork{}, words: map[string]string{}}
	p.app = f.app(fmt.Sprintf("app-%d", f.next), p.target)
	f.apps[p.app.Name] = p
}

// deliver creates the work on the target cluster of an Application.
func (f *random) deliver() {
	if p := f.pick(func(p *pulled) bool { return !p.off && p.works[p.target] == nil }); p != nil {
		p.works[p.target] = f.work(p.app, p.target)
	}
}

// say makes an agent report, even the agent of a former cluster.
func (f *random) say() {
	p := f.pick(func(p *pulled) bool { return len(p.works) > 0 })
	if p == nil {
		f.deliver()
		return
	}
	clusters := slices.Sorted(maps.Keys(p.works))
	cluster := clusters[f.r.IntN(len(clusters))]
	// Both have the same length, so that the model can cut them off.
	health := []string{"Healthy", "Missing"}[f.r.IntN(2)]
	revision := fmt.Sprintf("%08x", f.r.Uint32())
	phase := []string{"Running", "Failed", "Succeeded"}[f.r.IntN(3)]
	f.next++
	claim, user := fmt.Sprintf("operation-%d", f.next), ""
	if cluster == p.target {
		if p.operator = "automated"; f.r.IntN(2) == 0 {
			user = fmt.Sprintf("user-%d", f.next)
			p.operator = user
		}
		ask(f.t, p.app, p.works[cluster], claim, user)
	}
	values := []string{"healthStatus", health, "syncStatus", "Synced", "syncRevision", revision,
		"operationStatePhase", phase, "operationStateStartedAt", time.Date(2036, 11, 20, 9, 0, f.next, 0, time.UTC).Format(time.RFC3339)}
	if user != "" {
		values = append(values, contract.FeedbackRequest, claim)
		if phase == "Running" {
			values = append(values, contract.FeedbackOperationOwner, "work-agent")
		}
	}
	report(f.t, p.works[cluster], values...)
	p.words[cluster] = health + "/Synced@" + revision + " " + phase
}

// withdraw deletes a work on any cluster.
func (f *random) withdraw() {
	if p := f.pick(func(p *pulled) bool { return len(p.works) > 0 }); p != nil {
		clusters := slices.Sorted(maps.Keys(p.works))
		f.drop(p, clusters[f.r.IntN(len(clusters))])
	}
}

func (f *random) drop(p *pulled, cluster string) {
	if err := hub.client.Delete(context.Background(), p.works[cluster]); err != nil {
		f.t.Fatalf("delete ManifestWork: %v", err)
	}
	testkit.Edit(f.t, hub.client, p.app, func(a *argocd.Application) { a.Operation = nil })
	delete(p.works, cluster)
	delete(p.words, cluster)
	p.operator = ""
}

// retarget moves an Application, or removes its pull label.
func (f *random) retarget() {
	p := f.pick(anyOf)
	if p == nil {
		return
	}
	p.operator = ""
	if p.off = f.r.IntN(3) == 0; !p.off {
		p.target = f.anyCluster()
	}
	testkit.Edit(f.t, hub.client, p.app, func(a *argocd.Application) {
		a.Labels = map[string]string{contract.PullLabel: "true"}
		if p.off {
			a.Labels = nil
		}
		a.Annotations[contract.ClusterAnnotation] = p.target
		a.Operation = nil // a pending operation would keep its state empty, here and below
	})
}

// meddle writes status fields that belong to the mirror.
func (f *random) meddle() {
	if p := f.pick(anyOf); p != nil {
		lies := []string{`{"health":{"status":"Healthy"},"sync":{"status":"Synced","revision":"lie"}}`, `{}`, `{"conditions":[{"type":"ClusterUnreachableWarning","message":"lie"}]}`}
		lie := lies[f.r.IntN(len(lies))]
		p.operator = ""
		testkit.Edit(f.t, hub.client, p.app, func(a *argocd.Application) { a.Status, a.Operation = []byte(lie), nil })
	}
}

func (f *random) remove() {
	if p := f.pick(anyOf); p != nil {
		for _, cluster := range slices.Sorted(maps.Keys(p.works)) {
			f.drop(p, cluster)
		}
		if err := hub.client.Delete(context.Background(), p.app); err != nil {
			f.t.Fatalf("delete Application: %v", err)
		}
		delete(f.apps, p.app.Name)
	}
}
