// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are names in the example of rendered mode.
const (
	renderedSet       = "guestbook-rendered"
	renderedNamespace = "guestbook"
)

// Rendered is the scenario of rendered mode. It runs once, on a fleet with [env.Options.Rendered].
type Rendered struct {
	scenario *Scenario
}

// NewRendered returns the scenario. It passes lines for a reader to log.
func NewRendered(fleet *env.Fleet, view *View, log func(string)) *Rendered {
	return &Rendered{scenario: &Scenario{watch: watch{view: view, set: renderedSet}, fleet: fleet, log: log}}
}

// Steps returns the steps in their order.
func (s *Rendered) Steps() []Step {
	return []Step{
		{"Deliver: apply the examples, and the guestbook comes up on every managed cluster, without Argo CD there", s.Deliver},
		{"Report: what the hub knows about the ApplicationSet", s.scenario.Show},
		{"Change: push a commit, and it travels to the report", s.Change},
		{"Refuse: push a commit with a Secret, and the hub says why nothing changes", s.Refuse},
		{"Withdraw: delete the ApplicationSet, and nothing is left", s.Withdraw},
	}
}

// Latencies returns the measurements in the order of the steps.
func (s *Rendered) Latencies() []Latency { return s.scenario.Latencies() }

// PrepareRendered applies the objects that a platform sets up once for rendered mode, and waits for the
// Placement.
func PrepareRendered(ctx context.Context, fleet *env.Fleet) (err error) {
	defer must.Return(&err)
	for _, c := range fleet.Managed {
		must.OK(c.ApplyFiles(ctx, env.Rendered("managed")))
	}
	must.OK(fleet.Hub.ApplyFiles(ctx, Examples(hub), env.Rendered(hub)))
	return env.Wait(ctx, "the placement to decide", func(ctx context.Context) (bool, string) {
		decided, err := decisions(ctx, fleet)
		return err == nil && decided == len(fleet.Managed), fmt.Sprint(decided, " decisions, ", err)
	})
}

// Deliver applies the unchanged example and waits until the guestbook is healthy on every managed cluster, on
// the hub and in the report.
func (s *Rendered) Deliver(ctx context.Context) (err error) {
	defer must.Return(&err)
	must.OK(PrepareRendered(ctx, s.scenario.fleet))
	began := time.Now()
	must.OK(s.scenario.fleet.Hub.ApplyFiles(ctx, env.Rendered("app-set.yaml")))
	return s.scenario.measure(ctx, "from the ApplicationSet to the report", began, func(cluster string) []mark {
		name := renderedApplication(cluster)
		generated := mark{"a hub Application is generated", func() (bool, string) {
			_, ok := s.scenario.watch.view.Application(hub, name)
			return ok, "no Application " + name + " on the hub"
		}}
		available := mark{"its Deployment is available on the managed cluster", func() (bool, string) {
			for _, d := range all[*appsv1.Deployment](s.scenario.watch.view, cluster) {
				if d.Namespace == renderedNamespace {
					return d.Status.AvailableReplicas == *d.Spec.Replicas, fmt.Sprint(d.Status.AvailableReplicas, " available")
				}
			}
			return false, "no Deployment"
		}}
		return append([]mark{generated, s.written(cluster, "blue"), available}, s.said(cluster, "")...)
	})
}

// Change pushes another colour and waits until it is healthy everywhere.
func (s *Rendered) Change(ctx context.Context) error {
	content, err := s.scenario.fleet.Git.Read(guestbookPath)
	if err != nil {
		return err
	}
	return s.scenario.pushColor(ctx, content, "blue", "green", "from a commit to the report", func(revision string) func(cluster string) []mark {
		return func(cluster string) []mark {
			arrived := mark{"it is on the managed cluster", func() (bool, string) {
				for _, c := range all[*corev1.ConfigMap](s.scenario.watch.view, cluster) {
					if c.Namespace == renderedNamespace && c.Data["color"] == "green" {
						return true, ""
					}
				}
				return false, "no green ConfigMap on " + cluster
			}}
			return append([]mark{s.written(cluster, "green"), arrived}, s.said(cluster, revision)...)
		}
	})
}

// Refuse pushes a Secret and waits until the report shows why it is not delivered. Then it reverts the
// commit.
func (s *Rendered) Refuse(ctx context.Context) (err error) {
	defer must.Return(&err)
	content := must.Get(s.scenario.fleet.Git.Read(guestbookPath))
	must.Get(s.scenario.push(ctx, content+"---\n{apiVersion: v1, kind: Secret, metadata: {name: password}, stringData: {x: hunter2}}\n", "Add a password"))
	for _, c := range s.scenario.fleet.Managed {
		name := renderedApplication(c.Name)
		must.Get(s.scenario.watch.view.Await(ctx, "the refusal of "+name, func() (bool, string) {
			row, _ := s.scenario.watch.view.ReportRow(s.scenario.watch.set, name)
			refused := strings.Contains(row.Message(), "would stand unencrypted in the hub's ManifestWork")
			return refused && row.Health == argocd.HealthHealthy, row.String()
		}))
		row, _ := s.scenario.watch.view.ReportRow(s.scenario.watch.set, name)
		s.scenario.logf("%s, in the report: %s, %s, %s", c.Name, row.Health, row.Sync, row.Message())
	}
	revision := must.Get(s.scenario.push(ctx, content, "Take the password back"))
	for _, c := range s.scenario.fleet.Managed {
		for _, m := range s.said(c.Name, revision) {
			must.Get(s.scenario.watch.view.Await(ctx, c.Name+": "+m.name, m.holds))
		}
	}
	return nil
}

// Withdraw deletes the ApplicationSet and waits until no object of it exists on the hub and the managed
// clusters.
func (s *Rendered) Withdraw(ctx context.Context) error {
	return s.scenario.withdraw(ctx, "Applications, ManifestWorks, workloads and the report", func(context.Context) ([]string, error) { return s.left(), nil })
}

func (s *Rendered) left() []string {
	left := s.scenario.watch.view.remaining(s.scenario.watch.set, contract.RenderedLabel)
	for _, c := range s.scenario.fleet.Managed {
		for _, d := range all[*appsv1.Deployment](s.scenario.watch.view, c.Name) {
			left = append(left, "Deployment "+d.Name+" on "+c.Name)
		}
	}
	return left
}

// renderedApplication returns the name of a cluster's Application in the example.
func renderedApplication(cluster string) string { return cluster + "-" + renderedSet }

// written returns the mark that the ManifestWork of a cluster contains the colour.
func (s *Rendered) written(cluster, color string) mark {
	return mark{"its ManifestWork is written", func() (bool, string) {
		for _, w := range s.scenario.watch.view.Works() {
			if w.Namespace != cluster || w.Annotations[contract.RenderedApplicationAnnotation] != renderedApplication(cluster) {
				continue
			}
			for i := range w.Spec.Workload.Manifests {
				if strings.Contains(string(w.Spec.Workload.Manifests[i].Raw), `"color":"`+color+`"`) {
					return true, ""
				}
			}
		}
		a, _ := s.scenario.watch.view.Application(hub, renderedApplication(cluster))
		return false, "no " + color + " ManifestWork in the namespace " + cluster + " for " + a.String()
	}}
}

// said returns the marks that the hub Application and the report show a cluster's guestbook as healthy.
func (s *Rendered) said(cluster, revision string) []mark {
	name := renderedApplication(cluster)
	return []mark{
		{"the hub Application shows it", s.scenario.watch.syncedAndHealthy(hub, name, revision)},
		{"the report shows it", s.scenario.watch.reported(name, revision)},
	}
}
