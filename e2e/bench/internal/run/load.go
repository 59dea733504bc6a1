// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// pulled selects what propagation writes.
const pulled = "?labelSelector=" + contract.PullLabel + "%3Dtrue"

// trickleReports is how many reports a trickle changes at most. How long a change waits, and
// how many share a write, goes by how often its report changes, not by how many there are.
const trickleReports = 10

// load plays what surrounds the product on the hub and at the edge.
type load struct {
	hub      *hub.Client
	size     Size
	random   *rand.Rand
	setUIDs  map[string]string
	apps     []*application
	revision int
	degraded bool // agents report trouble from now on
}

func newLoad(at *hub.Client, size Size) *load {
	// The same choices in every run.
	return &load{hub: at, size: size, random: rand.New(rand.NewPCG(1, 2)), setUIDs: map[string]string{}}
}

// application is a simulated Application and its work.
type application struct {
	set, cluster string
	work         string
	generation   int64
	revision     string // that its managed cluster last reported
}

// name is the hub Application's.
func (a *application) name() string { return simulate.ApplicationName(a.set, a.cluster) }

// path is the work's on the API server.
func (a *application) path() string { return simulate.WorksIn(a.cluster) + "/" + a.work }

type metadata struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
}

// addSet creates an ApplicationSet and remembers its UID.
func (l *load) addSet(ctx context.Context, name string) error {
	var created struct {
		Metadata metadata `json:"metadata"`
	}
	err := l.hub.Do(ctx, http.MethodPost, simulate.Sets, simulate.Set(name), &created)
	l.setUIDs[name] = created.Metadata.UID
	return err
}

// addClusters creates managed clusters that are available.
func (l *load) addClusters(ctx context.Context, names []string) error {
	return hub.Parallel(ctx, len(names), func(ctx context.Context, i int) (err error) {
		defer must.Return(&err)
		must.OK(l.hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(names[i])))
		must.OK(l.hub.Create(ctx, simulate.ManagedClusters, simulate.ManagedCluster(names[i])))
		return l.hub.Merge(ctx, simulate.ManagedClusters+"/"+names[i]+"/status", simulate.Available())
	})
}

// addApplications creates, for the clusters from first to last, what OCM's placement
// and the ApplicationSet controller would create.
func (l *load) addApplications(ctx context.Context, first, last int) (err error) {
	defer must.Return(&err)
	clusters := clusterNames(first, last)
	must.OK(l.addClusters(ctx, clusters))
	must.OK(l.decide(ctx, last))
	for _, cluster := range clusters {
		for s := range l.size.Sets {
			l.apps = append(l.apps, &application{set: memory.SetName(s), cluster: cluster})
		}
	}
	fresh := l.apps[len(l.apps)-len(clusters)*l.size.Sets:]
	return hub.Parallel(ctx, len(fresh), func(ctx context.Context, i int) error {
		a := fresh[i]
		return l.hub.Create(ctx, simulate.Applications, simulate.Application(a.set, l.setUIDs[a.set], a.cluster))
	})
}

// decide makes the placement select the clusters from 0 to last.
func (l *load) decide(ctx context.Context, last int) error {
	for n := 0; n*simulate.DecisionSize < last; n++ {
		name, body := simulate.Decision(n)
		if err := l.hub.Create(ctx, simulate.Decisions, body); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			return err
		}
		chosen := clusterNames(n*simulate.DecisionSize, min(last, (n+1)*simulate.DecisionSize))
		if err := l.hub.Merge(ctx, simulate.Decisions+"/"+name+"/status", simulate.Decided(chosen)); err != nil {
			return err
		}
	}
	return nil
}

func clusterNames(first, last int) []string {
	var names []string
	for c := first; c < last; c++ {
		names = append(names, memory.ClusterName(c))
	}
	return names
}

// learnWorks finds out the works of all Applications: their names and generations.
func (l *load) learnWorks(ctx context.Context) error {
	var list struct {
		Items []struct {
			Metadata struct {
				metadata
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := l.hub.Metadata(ctx, simulate.Works+pulled, &list); err != nil {
		return err
	}
	works := make(map[string]metadata, len(list.Items))
	for i := range list.Items {
		m := &list.Items[i].Metadata
		works[m.Annotations[contract.HubNameAnnotation]] = m.metadata
	}
	for _, a := range l.apps {
		w, ok := works[a.name()]
		if !ok {
			return fmt.Errorf("application %s has no ManifestWork", a.name())
		}
		a.work, a.generation = w.Name, w.Generation
	}
	return nil
}

// change is a new revision that an Application is about to run.
type change struct {
	*application
	revision string
	// before is closed when the Application's change before this one was sent; nil:
	// there is none. sent is closed when this one was.
	before, sent chan struct{}
}

// draw chooses n Applications among apps, none again before all have had their
// turn, and a new revision for each.
func (l *load) draw(apps []*application, n int) []change {
	changes := make([]change, n)
	order := l.random.Perm(len(apps))
	for i := range changes {
		a := apps[order[i%len(order)]]
		a.revision = l.nextRevision()
		changes[i] = change{application: a, revision: a.revision, sent: make(chan struct{})}
		if i >= len(order) {
			changes[i].before = changes[i-len(order)].sent
		}
	}
	return changes
}

// send reports a change, after the Application's change before it.
func (l *load) send(ctx context.Context, c change) error {
	defer close(c.sent)
	if c.before != nil {
		select {
		case <-c.before:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.report(ctx, c.application, c.revision)
}

// sendPaced reports so many changes a second.
func (l *load) sendPaced(ctx context.Context, changes []change, perSecond float64) {
	must.OK(paced(ctx, len(changes), perSecond, func(ctx context.Context, i int) error { return l.send(ctx, changes[i]) }))
}

// paced calls work for 0 to n-1, perSecond times a second; a call that takes longer
// than that does not hold up the next. It returns the first error.
func paced(ctx context.Context, n int, perSecond float64, work func(ctx context.Context, i int) error) error {
	tick := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer tick.Stop()
	var group errgroup.Group
	for i := range n {
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), group.Wait())
		case <-tick.C:
			group.Go(func() error { return work(ctx, i) })
		}
	}
	return group.Wait()
}

// report plays the work agent: it reports that an Application runs a new revision.
func (l *load) report(ctx context.Context, a *application, revision string) error {
	feedback := simulate.Healthy(revision)
	if l.degraded {
		feedback.Health = "Degraded"
	}
	return l.hub.Merge(ctx, a.path()+"/status", simulate.WorkStatus(a.set, a.cluster, a.generation, feedback))
}

// nextRevision returns a revision that no Application has had.
func (l *load) nextRevision() string {
	l.revision++
	return simulate.Revision(l.revision)
}

// reportAll reports a new revision, the same for each.
func (l *load) reportAll(ctx context.Context, apps []*application) error {
	revision := l.nextRevision()
	for _, a := range apps {
		a.revision = revision
	}
	return hub.Parallel(ctx, len(apps), func(ctx context.Context, i int) error { return l.report(ctx, apps[i], revision) })
}

// trickled returns the Applications that a trickle changes, and of how many reports they are.
func (l *load) trickled() (apps []*application, reports int) {
	reports = min(trickleReports, l.size.Sets)
	names := map[string]bool{}
	for s := range reports {
		names[memory.SetName(s)] = true
	}
	for _, a := range l.apps {
		if names[a.set] {
			apps = append(apps, a)
		}
	}
	return apps, reports
}

// inTurn draws n Applications, one of each ApplicationSet in turn.
func (l *load) inTurn(n int) []change {
	sets := map[string][]*application{}
	for _, a := range l.apps {
		sets[a.set] = append(sets[a.set], a)
	}
	names := slices.Sorted(maps.Keys(sets))
	changes := make([]change, 0, n)
	for i := range n {
		changes = append(changes, l.draw(sets[names[i%len(names)]], 1)...)
	}
	return changes
}
