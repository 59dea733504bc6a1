// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// pulled selects what propagation writes.
const pulled = "?labelSelector=" + contract.PullLabel + "%3Dtrue"

type metadata struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
}

// addSet creates an ApplicationSet and remembers its UID.
func (b *bench) addSet(ctx context.Context, name string) error {
	body, err := b.hub.Do(ctx, http.MethodPost, simulate.Sets, "application/json", simulate.Set(name))
	if err != nil {
		return err
	}
	var created struct {
		Metadata metadata `json:"metadata"`
	}
	if err := decode(body, &created); err != nil {
		return err
	}
	b.setUIDs[name] = created.Metadata.UID
	return nil
}

// addClusters creates managed clusters that are available.
func (b *bench) addClusters(ctx context.Context, names []string) error {
	return hub.Parallel(ctx, len(names), func(ctx context.Context, i int) error {
		if err := b.hub.Create(ctx, simulate.Namespaces, simulate.NamespaceObject(names[i])); err != nil {
			return err
		}
		if err := b.hub.Create(ctx, simulate.ManagedClusters, simulate.ManagedCluster(names[i])); err != nil {
			return err
		}
		return b.hub.Merge(ctx, simulate.ManagedClusters+"/"+names[i]+"/status", simulate.Available())
	})
}

// addApplications creates, for the clusters from first to last, what OCM's placement
// and the ApplicationSet controller would create.
func (b *bench) addApplications(ctx context.Context, first, last int) error {
	clusters := clusterNames(first, last)
	if err := b.addClusters(ctx, clusters); err != nil {
		return err
	}
	if err := b.decide(ctx, last); err != nil {
		return err
	}
	for _, cluster := range clusters {
		for s := range b.Size.Sets {
			b.apps = append(b.apps, &application{set: memory.SetName(s), cluster: cluster})
		}
	}
	fresh := b.apps[len(b.apps)-len(clusters)*b.Size.Sets:]
	return hub.Parallel(ctx, len(fresh), func(ctx context.Context, i int) error {
		a := fresh[i]
		return b.hub.Create(ctx, simulate.Applications, simulate.Application(a.set, b.setUIDs[a.set], a.cluster))
	})
}

// decide makes the placement select the clusters from 0 to last.
func (b *bench) decide(ctx context.Context, last int) error {
	for n := 0; n*simulate.DecisionSize < last; n++ {
		name, body := simulate.Decision(n)
		if err := b.hub.Create(ctx, simulate.Decisions, body); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			return err
		}
		chosen := clusterNames(n*simulate.DecisionSize, min(last, (n+1)*simulate.DecisionSize))
		if err := b.hub.Merge(ctx, simulate.Decisions+"/"+name+"/status", simulate.Decided(chosen)); err != nil {
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
func (b *bench) learnWorks(ctx context.Context) error {
	var list struct {
		Items []struct {
			Metadata struct {
				metadata
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := b.hub.Metadata(ctx, simulate.Works+pulled, &list); err != nil {
		return err
	}
	works := make(map[string]metadata, len(list.Items))
	for i := range list.Items {
		m := &list.Items[i].Metadata
		works[m.Annotations[contract.HubNameAnnotation]] = m.metadata
	}
	for _, a := range b.apps {
		w, ok := works[simulate.ApplicationName(a.set, a.cluster)]
		if !ok {
			return fmt.Errorf("application %s has no ManifestWork", simulate.ApplicationName(a.set, a.cluster))
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
func (b *bench) draw(apps []*application, n int) []change {
	changes := make([]change, n)
	order := b.random.Perm(len(apps))
	for i := range changes {
		a := apps[order[i%len(order)]]
		a.revision = b.nextRevision()
		changes[i] = change{application: a, revision: a.revision, sent: make(chan struct{})}
		if i >= len(order) {
			changes[i].before = changes[i-len(order)].sent
		}
	}
	return changes
}

// send reports a change, after the Application's change before it.
func (b *bench) send(ctx context.Context, c change) error {
	defer close(c.sent)
	if c.before != nil {
		select {
		case <-c.before:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.report(ctx, c.application, c.revision)
}

// report plays the work agent: it reports that an Application runs a new revision.
func (b *bench) report(ctx context.Context, a *application, revision string) error {
	feedback := simulate.Healthy(revision)
	if b.degraded {
		feedback.Health = "Degraded"
	}
	return b.hub.Merge(ctx, simulate.WorksIn(a.cluster)+"/"+a.work+"/status", simulate.WorkStatus(a.set, a.cluster, a.generation, feedback))
}

// nextRevision returns a revision that no Application has had.
func (b *bench) nextRevision() string {
	b.revision++
	return simulate.Revision(b.revision)
}

// reportAll reports a new revision, the same for each.
func (b *bench) reportAll(ctx context.Context, apps []*application) error {
	revision := b.nextRevision()
	for _, a := range apps {
		a.revision = revision
	}
	return hub.Parallel(ctx, len(apps), func(ctx context.Context, i int) error { return b.report(ctx, apps[i], revision) })
}
