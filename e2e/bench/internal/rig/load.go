// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

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

// Pulled selects the ManifestWorks and Applications of propagation.
const Pulled = "?labelSelector=" + contract.PullLabel + "%3Dtrue"

// trickleReports is the highest number of reports that a steady load changes. The rate of changes of a report
// decides how long a change waits, and how many changes share a write.
const trickleReports = 10

// Load acts as the components around the product, on the hub and on the managed clusters.
type Load struct {
	Hub      *hub.Client
	Size     Size
	Random   *rand.Rand
	setUIDs  map[string]string
	Apps     []*Application
	revision int
	Degraded bool // agents report Degraded from now on
}

func newLoad(at *hub.Client, size Size) *Load {
	// A fixed seed: each run makes the same choices.
	return &Load{Hub: at, Size: size, Random: rand.New(rand.NewPCG(1, 2)), setUIDs: map[string]string{}}
}

// Application is a simulated Application and its ManifestWork.
type Application struct {
	Set, Cluster string
	Work         string
	Generation   int64
	Revision     string // the last revision that its managed cluster reported
}

// Name returns the name of the hub Application.
func (a *Application) Name() string { return simulate.ApplicationName(a.Set, a.Cluster) }

// Path returns the path of the ManifestWork on the API server.
func (a *Application) Path() string { return simulate.WorksIn(a.Cluster) + "/" + a.Work }

type metadata struct {
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
}

// AddSet creates an ApplicationSet and stores its UID.
func (l *Load) AddSet(ctx context.Context, name string) error {
	var created struct {
		Metadata metadata `json:"metadata"`
	}
	err := l.Hub.Do(ctx, http.MethodPost, simulate.Sets, simulate.Set(name), &created)
	l.setUIDs[name] = created.Metadata.UID
	return err
}

// AddClusters creates managed clusters that are available.
func (l *Load) AddClusters(ctx context.Context, names []string) error {
	return hub.Parallel(ctx, len(names), func(ctx context.Context, i int) (err error) {
		defer must.Return(&err)
		must.OK(l.Hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(names[i])))
		must.OK(l.Hub.Create(ctx, simulate.ManagedClusters, simulate.ManagedCluster(names[i])))
		return l.Hub.Merge(ctx, simulate.ManagedClusters+"/"+names[i]+"/status", simulate.Available())
	})
}

// AddApplications creates, for the clusters from first to before last, the objects that OCM's placement and
// the ApplicationSet controller would create.
func (l *Load) AddApplications(ctx context.Context, first, last int) (err error) {
	defer must.Return(&err)
	clusters := ClusterNames(first, last)
	must.OK(l.AddClusters(ctx, clusters))
	must.OK(l.decide(ctx, last))
	for _, cluster := range clusters {
		for s := range l.Size.Sets {
			l.Apps = append(l.Apps, &Application{Set: memory.SetName(s), Cluster: cluster})
		}
	}
	fresh := l.Apps[len(l.Apps)-len(clusters)*l.Size.Sets:]
	return hub.Parallel(ctx, len(fresh), func(ctx context.Context, i int) error {
		a := fresh[i]
		return l.Hub.Create(ctx, simulate.Applications, simulate.Application(a.Set, l.setUIDs[a.Set], a.Cluster))
	})
}

// decide makes the Placement select the clusters from 0 to before last.
func (l *Load) decide(ctx context.Context, last int) error {
	for n := 0; n*simulate.DecisionSize < last; n++ {
		name, body := simulate.Decision(n)
		if err := l.Hub.Create(ctx, simulate.Decisions, body); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			return err
		}
		chosen := ClusterNames(n*simulate.DecisionSize, min(last, (n+1)*simulate.DecisionSize))
		if err := l.Hub.Merge(ctx, simulate.Decisions+"/"+name+"/status", simulate.Decided(chosen)); err != nil {
			return err
		}
	}
	return nil
}

// ClusterNames returns the names of the clusters from first to before last.
func ClusterNames(first, last int) []string {
	var names []string
	for c := first; c < last; c++ {
		names = append(names, memory.ClusterName(c))
	}
	return names
}

// LearnWorks reads the names and generations of the ManifestWorks of all Applications.
func (l *Load) LearnWorks(ctx context.Context) error {
	var list struct {
		Items []struct {
			Metadata struct {
				metadata
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := l.Hub.Metadata(ctx, simulate.Works+Pulled, &list); err != nil {
		return err
	}
	works := make(map[string]metadata, len(list.Items))
	for i := range list.Items {
		m := &list.Items[i].Metadata
		works[m.Annotations[contract.HubNameAnnotation]] = m.metadata
	}
	for _, a := range l.Apps {
		w, ok := works[a.Name()]
		if !ok {
			return fmt.Errorf("application %s has no ManifestWork", a.Name())
		}
		a.Work, a.Generation = w.Name, w.Generation
	}
	return nil
}

// Change is a new revision that an Application will report.
type Change struct {
	*Application
	Revision string
	// Before is closed when the Application's previous change was sent, and is nil for the first change. Sent
	// is closed when this change was sent.
	Before, Sent chan struct{}
}

// Draw chooses n of the Applications in random order, each with a new revision. It chooses an Application
// again only after all others.
func (l *Load) Draw(apps []*Application, n int) []Change {
	changes := make([]Change, n)
	order := l.Random.Perm(len(apps))
	for i := range changes {
		a := apps[order[i%len(order)]]
		a.Revision = l.NextRevision()
		changes[i] = Change{Application: a, Revision: a.Revision, Sent: make(chan struct{})}
		if i >= len(order) {
			changes[i].Before = changes[i-len(order)].Sent
		}
	}
	return changes
}

// Send reports a change after the previous change of the Application.
func (l *Load) Send(ctx context.Context, c Change) error {
	defer close(c.Sent)
	if c.Before != nil {
		select {
		case <-c.Before:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.Report(ctx, c.Application, c.Revision)
}

// SendPaced reports perSecond changes a second.
func (l *Load) SendPaced(ctx context.Context, changes []Change, perSecond float64) {
	must.OK(Paced(ctx, len(changes), perSecond, func(ctx context.Context, i int) error { return l.Send(ctx, changes[i]) }))
}

// Paced calls work for 0 to n-1, perSecond times a second. A slow call does not delay the next one. Paced
// returns the first error.
func Paced(ctx context.Context, n int, perSecond float64, work func(ctx context.Context, i int) error) error {
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

// Report acts as the work agent: it reports that an Application runs a new revision.
func (l *Load) Report(ctx context.Context, a *Application, revision string) error {
	feedback := simulate.Healthy(revision)
	if l.Degraded {
		feedback.Health = "Degraded"
	}
	return l.Hub.Merge(ctx, a.Path()+"/status", simulate.WorkStatus(a.Set, a.Cluster, a.Generation, feedback))
}

// NextRevision returns an unused revision.
func (l *Load) NextRevision() string {
	l.revision++
	return simulate.Revision(l.revision)
}

// ReportAll reports the same new revision for each Application.
func (l *Load) ReportAll(ctx context.Context, apps []*Application) error {
	revision := l.NextRevision()
	for _, a := range apps {
		a.Revision = revision
	}
	return hub.Parallel(ctx, len(apps), func(ctx context.Context, i int) error { return l.Report(ctx, apps[i], revision) })
}

// Trickled returns the Applications that a steady load changes, and the number of their reports.
func (l *Load) Trickled() (apps []*Application, reports int) {
	reports = min(trickleReports, l.Size.Sets)
	names := map[string]bool{}
	for s := range reports {
		names[memory.SetName(s)] = true
	}
	for _, a := range l.Apps {
		if names[a.Set] {
			apps = append(apps, a)
		}
	}
	return apps, reports
}

// InTurn draws n Applications, one of each ApplicationSet in turn.
func (l *Load) InTurn(n int) []Change {
	sets := map[string][]*Application{}
	for _, a := range l.Apps {
		sets[a.Set] = append(sets[a.Set], a)
	}
	names := slices.Sorted(maps.Keys(sets))
	changes := make([]Change, 0, n)
	for i := range n {
		changes = append(changes, l.Draw(sets[names[i%len(names)]], 1)...)
	}
	return changes
}
