// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// pause sets the pause annotation of an object, or removes it for an empty value.
func pause(t *testing.T, o client.Object, value string) {
	t.Helper()
	text := "null"
	if value != "" {
		text = fmt.Sprintf("%q", value)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, contract.PausedAnnotation, text)
	if err := hub.client.Patch(context.Background(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// heldBack creates Applications until a pause delays one. The watch of the paused object may be behind the
// watch of Applications.
func (p *place) heldBack() *argocd.Application {
	p.t.Helper()
	late := p.deploy(fmt.Sprintf("late-%d", serial.Add(1)))
	testkit.Eventually(p.t, "a pause to keep "+late.Name+" back", func() error {
		if len(works(p.t, late)) > 0 {
			late = p.deploy(fmt.Sprintf("late-%d", serial.Add(1)))
		}
		if now := storedConditions(p.t, late); !strings.Contains(now[policy.WarningCondition], "paused") {
			return fmt.Errorf("conditions of %s are %v", late.Name, now)
		}
		return nil
	})
	return late
}

func clusterObject(name string) *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func change(t *testing.T, app *argocd.Application, path string) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), marker(a), path, 1))
	})
}

// A pause on any of the four objects delays changes and is reported. At its end the last state is delivered
// once. On an ApplicationSet or Namespace, it also delays a removal.
func TestPause_delaysChanges(t *testing.T) {
	start(t)
	for kind, on := range map[string]func(*generated) client.Object{
		"Application":    func(g *generated) client.Object { return g.apps[0] },
		"ApplicationSet": func(g *generated) client.Object { return g.set },
		"Namespace":      func(g *generated) client.Object { return namespace(g.namespace) },
		"ManagedCluster": func(g *generated) client.Object { return clusterObject(g.cluster) },
	} {
		t.Run(kind, func(t *testing.T) {
			g := generate(t, argocd.ResourcesFinalizer)
			app := g.apps[0]
			before := works(t, app)[0]
			pause(t, on(g), "delivery")
			testkit.Eventually(t, "the pause to be in force", func() error {
				change(t, app, "first"+fmt.Sprint(serial.Add(1)))
				if !strings.Contains(storedConditions(t, app)[policy.WarningCondition], "by annotation "+contract.PausedAnnotation+" of "+kind) {
					return fmt.Errorf("conditions are %v", storedConditions(t, app))
				}
				return nil
			})
			awaitCondition(t, app, policy.WarningCondition, ": 1 change waits")
			generation := works(t, app)[0].Generation
			change(t, app, "last")
			deleted := g.apps[1]
			holds := kind != "Application" && kind != "ManagedCluster"
			if holds {
				remove(t, deleted)
				awaitCondition(t, deleted, policy.WarningCondition, "its withdrawal waits")
				another(t)
				if own := works(t, deleted); len(own) != 1 || own[0].DeletionTimestamp != nil {
					t.Fatalf("it was withdrawn: %d are left", len(own))
				}
			}
			if now := works(t, app)[0]; now.Generation != generation || now.UID != before.UID {
				t.Fatalf("a paused ManifestWork was written: generation %d became %d", generation, now.Generation)
			}
			pause(t, on(g), "")
			testkit.Eventually(t, "the last state", func() error {
				if now := works(t, app)[0]; now.Generation != generation+1 || !strings.Contains(string(now.Spec.Workload.Manifests[len(now.Spec.Workload.Manifests)-1].Raw), `"path":"last"`) {
					return fmt.Errorf("generation %d became %d", generation, now.Generation)
				}
				return nil
			})
			awaitCondition(t, app, policy.WarningCondition, "")
			if holds {
				withdrawn(t, deleted)
				testkit.Eventually(t, "the deleted Application to be gone", func() error { return gone(deleted) })
			}
		})
	}
}

// A pause and its end write nothing if nothing has changed.
func TestPause_writesNothing(t *testing.T) {
	p := start(t)
	g := generate(t)
	before := len(p.requests.in(g.namespace, g.cluster))
	pause(t, namespace(g.namespace), "delivery")
	late := g.heldBack()
	for i := range 3 {
		g.each(many, func(a *argocd.Application) {
			pause(t, a, "delivery until "+time.Now().Add(time.Duration(i+1)*time.Hour).UTC().Format(time.RFC3339))
		})
	}
	g.each(many, func(a *argocd.Application) { pause(t, a, "") })
	pause(t, namespace(g.namespace), "")
	delivered(t, late, g.cluster)
	awaitCondition(t, late, policy.WarningCondition, "")
	for _, request := range p.requests.in(g.namespace, g.cluster)[before:] {
		if !strings.Contains(request, "/late-") && !strings.HasPrefix(request, "POST ") {
			t.Errorf("the pause has written %s", request)
		}
	}
}

func TestPause_endsByItself(t *testing.T) {
	start(t)
	p := newPlace(t)
	pause(t, clusterObject(p.cluster), "delivery")
	app := p.heldBack()
	pause(t, clusterObject(p.cluster), "delivery until "+time.Now().Add(4*time.Second).UTC().Format(time.RFC3339))
	delivered(t, app, p.cluster)
	awaitCondition(t, app, policy.WarningCondition, "")
}

func TestPause_delaysChangesIfInvalid(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	pause(t, app, "yes")
	awaitCondition(t, app, policy.WarningCondition, "want delivery or sync")
	change(t, app, "other")
	pause(t, app, "")
	awaitCondition(t, app, policy.WarningCondition, "")
	testkit.Eventually(t, "the change", func() error {
		if now := works(t, app)[0]; now.Generation != work.Generation+1 {
			return fmt.Errorf("generation %d became %d", work.Generation, now.Generation)
		}
		return nil
	})
}

// A pause of syncs removes the automation from the delivered Application, and nothing else. Its end restores
// the automation.
func TestPause_removesTheAutomation(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"project"`, `"syncPolicy":{"automated":{"prune":true},"retry":{"limit":2}},"project"`, 1))
	})
	work := delivered(t, app, p.cluster)
	copyOf := func() string {
		manifests := works(t, app)[0].Spec.Workload.Manifests
		return string(manifests[len(manifests)-1].Raw)
	}
	before := copyOf()
	pause(t, namespace(p.namespace), "sync")
	testkit.Eventually(t, "the automation to go", func() error {
		if now := copyOf(); now != strings.Replace(before, `"automated":{"prune":true},`, "", 1) {
			return fmt.Errorf("the copy is %s", now)
		}
		return nil
	})
	if mark := works(t, app)[0].Annotations[contract.PausedAnnotation]; mark != policy.PauseSync+` {"prune":true}` {
		t.Errorf("of the pause, and what it has taken out, the work says %q", mark)
	}
	late := p.deploy("late")
	awaitCondition(t, late, policy.WarningCondition, "paused (sync)")
	if m := storedConditions(t, app); len(m) > 0 {
		t.Errorf("nothing waits, and it says %v", m)
	}
	pause(t, namespace(p.namespace), "")
	testkit.Eventually(t, "the automation to be back", func() error {
		if now := copyOf(); now != before {
			return fmt.Errorf("the copy is %s", now)
		}
		return nil
	})
	now := works(t, app)[0]
	if now.Generation != work.Generation+2 || now.Annotations[contract.PausedAnnotation] != "" {
		t.Errorf("generation %d became %d, annotations %v", work.Generation, now.Generation, now.Annotations)
	}
}

// OCM removes the works of a cluster that is being deleted, even if the cluster is paused.
func TestPause_keepsNoWorkOfALeavingCluster(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	pause(t, clusterObject(p.cluster), "delivery")
	cluster := clusterObject(p.cluster)
	edit(t, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = []string{"example.com/leaving"} })
	remove(t, cluster)
	withdrawn(t, app)
	edit(t, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = nil })
}

// The condition counts the pending changes: a new spec, an operation, and a move as one creation and one
// removal.
func TestPause_countsPendingChanges(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	pause(t, namespace(p.namespace), "delivery")
	awaitCondition(t, p.heldBack(), policy.WarningCondition, ": 1 change waits")
	edit(t, app, func(a *argocd.Application) { a.Operation = json.RawMessage(`{"sync":{}}`) })
	awaitCondition(t, app, policy.WarningCondition, ": 1 change waits")
	change(t, app, "other")
	awaitCondition(t, app, policy.WarningCondition, ": 2 changes wait")
	elsewhere := newCluster(t)
	p.bind(p.cluster, elsewhere)
	applying(t, elsewhere)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = elsewhere })
	awaitCondition(t, app, policy.WarningCondition, ": 2 changes wait") // one to create, one to remove
	pause(t, namespace(p.namespace), "")
	delivered(t, app, elsewhere)
}

// An Event reports an invalid pause on the object that carries it.
func TestPause_reportsAnInvalidValue(t *testing.T) {
	start(t)
	g := generate(t)
	for kind, o := range map[string]client.Object{argocd.ApplicationSetKind: g.set, "Namespace": namespace(g.namespace), "ManagedCluster": clusterObject(g.cluster)} {
		pause(t, o, "sometimes")
		where := g.namespace
		if kind == "ManagedCluster" {
			where = "default"
		}
		testkit.Eventually(t, "an Event on the "+kind, func() error {
			var list eventsv1.EventList
			if err := hub.client.List(context.Background(), &list, client.InNamespace(where)); err != nil {
				return err
			}
			for _, e := range list.Items {
				if e.Regarding.Kind == kind && e.Regarding.Name == o.GetName() && e.Reason == policy.ReasonInvalidTarget && strings.Contains(e.Note, "want delivery or sync") {
					return nil
				}
			}
			return fmt.Errorf("%d other Events", len(list.Items))
		})
		pause(t, o, "")
	}
}

// A cluster's own ClusterClaim, which its agent copies into the ManagedCluster's status, delays
// deliveries to that cluster alone. It delays no removal.
func TestPause_delaysOnlyDeliveriesByClusterClaim(t *testing.T) {
	p := newPlace(t)
	start(t)
	app, deleted := p.deploy("guestbook"), p.deploy("deleted")
	work := delivered(t, app, p.cluster)
	delivered(t, deleted, p.cluster)
	claim(t, p.cluster, "delivery")
	testkit.Eventually(t, "the pause to be in force", func() error {
		change(t, app, "first"+fmt.Sprint(serial.Add(1)))
		if now := storedConditions(t, app)[policy.WarningCondition]; !strings.Contains(now, "by ClusterClaim "+contract.PauseClaim+" of cluster "+p.cluster) {
			return fmt.Errorf("it says %q", now)
		}
		return nil
	})
	generation := works(t, app)[0].Generation
	change(t, app, "last")

	other := newCluster(t)
	p.bind(p.cluster, other)
	elsewhere := p.deploy("elsewhere", func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	delivered(t, elsewhere, other)
	remove(t, deleted)
	withdrawn(t, deleted)
	if now := works(t, app)[0]; now.Generation != generation || now.UID != work.UID {
		t.Fatalf("a paused ManifestWork was written: generation %d became %d", generation, now.Generation)
	}

	claim(t, p.cluster, "")
	testkit.Eventually(t, "the last state", func() error {
		if now := works(t, app)[0]; now.Generation != generation+1 || !strings.Contains(string(now.Spec.Workload.Manifests[len(now.Spec.Workload.Manifests)-1].Raw), `"path":"last"`) {
			return fmt.Errorf("generation %d became %d", generation, now.Generation)
		}
		return nil
	})
	claim(t, p.cluster, "delivery until tomorrow")
	change(t, app, "another")
	awaitCondition(t, app, policy.WarningCondition, "want delivery or sync")
	p.bind(other)
	withdrawn(t, app)
}

// claim sets the ClusterClaim of a pause, as the cluster's agent does, or removes it for an empty value.
func claim(t *testing.T, cluster, value string) {
	t.Helper()
	c := clusterObject(cluster)
	testkit.EditStatus(t, hub.client, c, func(c *clusterv1.ManagedCluster) {
		c.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: "id.k8s.io", Value: cluster}}
		if value != "" {
			c.Status.ClusterClaims = append(c.Status.ClusterClaims, clusterv1.ManagedClusterClaim{Name: contract.PauseClaim, Value: value})
		}
	})
}
