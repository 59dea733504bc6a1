// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// stored returns a work from the API server, or nil if it does not exist.
func stored(t *testing.T, work *workv1.ManifestWork) *workv1.ManifestWork {
	t.Helper()
	live := &workv1.ManifestWork{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(work), live); err != nil {
		if client.IgnoreNotFound(err) != nil {
			t.Fatalf("get ManifestWork: %v", err)
		}
		return nil
	}
	return live
}

// applicationIn returns the Application's manifest, which is the last manifest of a work.
func applicationIn(work *workv1.ManifestWork) string {
	return string(work.Spec.Workload.Manifests[len(work.Spec.Workload.Manifests)-1].Raw)
}

// appliedBeforeItsEnd waits for the deletion of a work and returns its last version. It fails if the agent
// had not applied that version.
func appliedBeforeItsEnd(t *testing.T, work *workv1.ManifestWork) (last *workv1.ManifestWork) {
	t.Helper()
	testkit.Eventually(t, "the work to be deleted", func() error {
		if last = stored(t, work); last == nil || last.DeletionTimestamp == nil {
			return errors.New("not yet")
		}
		return nil
	})
	pruned(t, work)
	applied := int64(0)
	for _, c := range last.Status.Conditions {
		if c.Type == workv1.WorkApplied && c.Status == metav1.ConditionTrue {
			applied = c.ObservedGeneration
		}
	}
	if applied < last.Generation-1 { // the deletion increments the generation
		t.Errorf("generation %d is deleted, its agent has applied %d: agents ignore the spec of a work that is being deleted", last.Generation, applied)
	}
	return last
}

// waitsForAgent waits until the work carries its ending. It fails if the work is deleted before its agent has
// applied the ending.
func waitsForAgent(t *testing.T, work *workv1.ManifestWork, carries func(string) bool) {
	t.Helper()
	testkit.Eventually(t, "the last write", func() error {
		live := stored(t, work)
		if live == nil || live.DeletionTimestamp != nil {
			t.Fatal("the work is deleted before its agent has applied how it ends")
		}
		if !carries(applicationIn(live)) {
			return errors.New("not yet: " + applicationIn(live))
		}
		return nil
	})
	another(t)
	if live := stored(t, work); live == nil || live.DeletionTimestamp != nil {
		t.Fatal("the work is deleted before its agent has applied how it ends")
	}
}

// The agent applies the finalizers of a deleted Application, with or without cascade, before propagation
// deletes the work. A slow agent or a restart of propagation does not change that.
func TestDeletion_waitsUntilFinalizersAreApplied(t *testing.T) {
	cascade := func(raw string) bool { return strings.Contains(raw, argocd.ResourcesFinalizer) }
	// A running propagation writes the removed finalizer separately. The last write also requests the ending.
	ends := func(raw string) bool { return !cascade(raw) && strings.Contains(raw, "end-without-cascade") }
	for name, c := range map[string]struct {
		before, last []string
		want         func(raw string) bool
	}{
		"without cascade": {before: []string{argocd.ResourcesFinalizer}, want: ends},
		"with cascade":    {last: []string{argocd.ResourcesFinalizer}, want: cascade},
	} {
		for _, down := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, propagation down %t", name, down), func(t *testing.T) {
				running := start(t, func(o *Options) { o.RecreateGrace = time.Second })
				p := newPlace(t)
				app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = c.before })
				work := delivered(t, app, p.cluster)
				finalized(t, work)
				applyWell(t, work)
				if down {
					running.stop()
				}
				edit(t, app, func(a *argocd.Application) { a.Finalizers = c.last })
				remove(t, app)
				if down {
					start(t, func(o *Options) { o.RecreateGrace = time.Second })
				}
				waitsForAgent(t, work, c.want)
				applyWell(t, work)
				if last := appliedBeforeItsEnd(t, work); !c.want(applicationIn(last)) {
					t.Errorf("the last word is %s", applicationIn(last))
				}
				testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
			})
		}
	}
}

// Server-side apply does not remove a finalizer that another field manager owns as well. Argo CD would prune
// resources that must stay, so propagation waits.
func TestDeletion_waitsForFinalizersOfOtherManagers(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	edit(t, app, func(a *argocd.Application) { a.Finalizers = []string{"example.com/kept"} })
	testkit.Eventually(t, "the finalizer to be taken off", func() error {
		if strings.Contains(applicationIn(stored(t, work)), argocd.ResourcesFinalizer) {
			return errors.New("not yet")
		}
		return nil
	})
	remove(t, app)
	waitsForAgent(t, work, func(raw string) bool { return strings.Contains(raw, "end-without-cascade") })
	values := map[string]string{"finalizer0": argocd.ResourcesFinalizer}
	answer(t, client.ObjectKeyFromObject(work), metav1.ConditionTrue, metav1.ConditionTrue, "", values)
	testkit.Eventually(t, "an Event on the ManifestWork", func() error {
		var list eventsv1.EventList
		if err := hub.client.List(t.Context(), &list, client.InNamespace(p.cluster)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Name == work.Name && strings.Contains(e.Note, "has finalizer "+argocd.ResourcesFinalizer+" of another field manager") {
				return nil
			}
		}
		return errors.New("not yet")
	})
	if n := sum(t, "propagation_works_ending", "waits_for", decide.WaitsForFinalizer); n != 1 {
		t.Errorf("the metric has %v that wait for a finalizer", n)
	}
	edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/wake"] = "up" })
	another(t)
	if live := stored(t, work); live == nil || live.DeletionTimestamp != nil {
		t.Fatal("the work went while Argo CD would prune what is to stay")
	}
	applyWell(t, stored(t, work)) // an operator has removed the finalizer on the cluster
	edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/wake"] = "again" })
	appliedBeforeItsEnd(t, work)
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
	testkit.Until(t, "the metric to have none", func() bool { return sum(t, "propagation_works_ending", "waits_for", decide.WaitsForFinalizer) == 0 })
}

// A change from orphan to prune takes effect once the agent has applied it.
func TestDeletion_waitsForTheChangeFromOrphanToPrune(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) {
		a.Finalizers = []string{argocd.ResourcesFinalizer}
		a.Annotations[contract.DeletionPolicyAnnotation] = "orphan"
	})
	work := staying(t, app, true)
	finalized(t, work)
	applyWell(t, stored(t, work))
	first.stop()
	deletionPolicy(t, app, "prune")
	remove(t, app)
	start(t)
	awaitCondition(t, app, policy.WarningCondition, "to apply how it ends")
	applyWell(t, stored(t, work))
	if last := appliedBeforeItsEnd(t, work); orphans(last) {
		t.Error("the last word is that everything stays")
	}
}

// An orphan of a paused Application gets its automation back. Later, propagation could not restore it.
func TestOrphan_getsItsAutomationBack(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", automated, func(a *argocd.Application) {
		a.Annotations[contract.DeletionPolicyAnnotation] = "orphan"
		a.Finalizers = []string{argocd.ResourcesFinalizer}
	})
	work := staying(t, app, true)
	finalized(t, work)
	pause(t, namespace(p.namespace), "sync")
	testkit.Eventually(t, "the pause", func() error {
		if works(t, app)[0].Annotations[contract.PausedAnnotation] == "" {
			return errors.New("not yet")
		}
		return nil
	})
	applyWell(t, stored(t, work))
	first.stop()
	pause(t, namespace(p.namespace), "")
	remove(t, app)
	start(t)
	waitsForAgent(t, work, func(raw string) bool { return strings.Contains(raw, "automated") })
	applyWell(t, stored(t, work))
	appliedBeforeItsEnd(t, work)
}

func automated(a *argocd.Application) {
	a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"project"`, `"syncPolicy":{"automated":{"prune":true}},"project"`, 1))
}

// Annotations of a tenant or an agent do not delay a removal after a lost permission.
func TestPermissionLost_isNotDelayedByTenantOrAgent(t *testing.T) {
	for name, spoil := range map[string]func(*testing.T, *place, *argocd.Application){
		"pause of the Application":     func(t *testing.T, _ *place, a *argocd.Application) { pause(t, a, "delivery") },
		"pause that is no pause":       func(t *testing.T, _ *place, a *argocd.Application) { pause(t, a, "x") },
		"deletion policy that is none": func(t *testing.T, _ *place, a *argocd.Application) { deletionPolicy(t, a, "x") },
		"pause of the ManagedCluster":  func(t *testing.T, p *place, _ *argocd.Application) { pause(t, clusterObject(p.cluster), "delivery") },
		"owner with an invalid name": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) {
				a.OwnerReferences = []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: ".", UID: "x"}}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t)
			p := newPlace(t)
			app := p.deploy("guestbook")
			delivered(t, app, p.cluster)
			spoil(t, p, app)
			p.bind()
			withdrawn(t, app)
		})
	}
}

// A spec that the cluster refuses does not delay a removal after a lost permission for ever. The agent gets an
// ending that it can apply, without the tenant's spec.
func TestPermissionLost_isNotDelayedByARefusedSpec(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", automated)
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	p.bind()
	testkit.Eventually(t, "the deletion of the work", func() error {
		live := stored(t, work)
		switch {
		case live.DeletionTimestamp != nil:
			return nil
		case appliedAt(live) == "" && strings.Contains(applicationIn(live), "repoURL"):
			answer(t, client.ObjectKeyFromObject(work), metav1.ConditionFalse, metav1.ConditionTrue, "Failed to apply manifest: .spec.extra: field not declared in schema", nil)
		case appliedAt(live) == "":
			applyWell(t, live)
		}
		return errors.New("not yet: " + applicationIn(live))
	})
	if last := appliedBeforeItsEnd(t, work); !strings.Contains(applicationIn(last), "end-without-cascade") || strings.Contains(applicationIn(last), "automated") {
		t.Errorf("the last version is %s", applicationIn(last))
	}
	withdrawn(t, app)
}

// The orphan policy of a tenant applies after a lost permission. The delivered Application stays, without its
// automation.
func TestPermissionLost_leavesAnOrphanWithoutAutomation(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", automated, func(a *argocd.Application) { a.Annotations[contract.DeletionPolicyAnnotation] = "orphan" })
	work := staying(t, app, true)
	finalized(t, work)
	applyWell(t, stored(t, work))
	p.bind()
	waitsForAgent(t, work, func(raw string) bool { return !strings.Contains(raw, "automated") })
	applyWell(t, stored(t, work))
	if last := appliedBeforeItsEnd(t, work); !orphans(last) {
		t.Error("the last word is that everything goes")
	}
}

// An administrator's pause delays a removal after a lost permission until it expires.
func TestPermissionLost_waitsForPauseOfTheNamespace(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	pause(t, namespace(p.namespace), "delivery until "+time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	p.bind()
	awaitCondition(t, app, policy.WarningCondition, "its withdrawal waits")
	end := time.Now().Add(4 * time.Second)
	pause(t, namespace(p.namespace), "delivery until "+end.UTC().Format(time.RFC3339))
	withdrawn(t, app)
	if time.Now().Before(end.Truncate(time.Second)) {
		t.Error("it is withdrawn while the pause lasts")
	}
}

// A removal after a lost permission continues as soon as the agent has applied the ending. The refused
// Application may name another cluster, be re-created, or have been paused.
func TestPermissionLost_continuesOnceItsAgentHasApplied(t *testing.T) {
	for name, refuse := range map[string]func(*place, *argocd.Application){
		"moved to a cluster that it may not use": func(p *place, a *argocd.Application) {
			edit(p.t, a, func(a *argocd.Application) {
				a.Annotations[contract.ClusterAnnotation], a.Finalizers = newCluster(p.t), []string{argocd.ResourcesFinalizer}
			})
			p.bind()
		},
		"made again for a cluster that it may not use": func(p *place, a *argocd.Application) {
			remove(p.t, a)
			*a = *p.app(a.Name, func(a *argocd.Application) {
				a.Annotations[contract.ClusterAnnotation], a.Finalizers = newCluster(p.t), []string{argocd.ResourcesFinalizer}
			})
			p.create(a)
			p.bind()
		},
		"changed and revoked while its namespace was paused": func(p *place, a *argocd.Application) {
			pause(p.t, namespace(p.namespace), "delivery")
			p.heldBack()
			edit(p.t, a, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
			p.bind()
			pause(p.t, namespace(p.namespace), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, func(o *Options) { o.RecreateGrace = time.Hour })
			p := newPlace(t)
			app := p.deploy("guestbook")
			work := delivered(t, app, p.cluster)
			finalized(t, work)
			refuse(p, app)
			testkit.Eventually(t, "the work to say how it ends", func() error {
				if live := stored(t, work); live == nil || !strings.Contains(applicationIn(live), argocd.ResourcesFinalizer) {
					return errors.New("not yet")
				}
				return nil
			})
			testkit.Eventually(t, "the Application to say that it is not delivered", func() error {
				if said := storedConditions(t, app); len(said) == 0 {
					return errors.New("not yet")
				}
				return nil
			})
			later := newPlace(t)
			delivered(t, later.deploy("later"), later.cluster) // the reconciles of these changes are finished
			applyWell(t, work)
			begin := time.Now()
			appliedBeforeItsEnd(t, work)
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it went %s after its agent had applied: by the clock, not by that", took)
			}
		})
	}
}

// A pause of the ManagedCluster does not delay a deletion, because the agent can set that pause.
func TestDeletion_isNotDelayedByPauseOfItsCluster(t *testing.T) {
	for _, word := range []string{"prune", "abandon"} {
		t.Run(word, func(t *testing.T) {
			start(t)
			p := newPlace(t)
			app := p.deploy("payments", func(a *argocd.Application) {
				a.Finalizers = []string{argocd.ResourcesFinalizer}
				a.Annotations[contract.DeletionPolicyAnnotation] = word
			})
			delivered(t, app, p.cluster)
			pause(t, clusterObject(p.cluster), "delivery")
			p.heldBack()
			remove(t, app)
			testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
		})
	}
}

// A narrowed AppProject reaches each existing work, whatever else keeps the work unchanged.
func TestProject_reachesUnchangedWorksOnceNarrowed(t *testing.T) {
	const wide = `{"sourceNamespaces":["*"],"destinations":[{"namespace":"*","server":"*"}],"sourceRepos":["*"]}`
	const narrow = `{"sourceNamespaces":["*"],"destinations":[{"namespace":"narrow","server":"https://kubernetes.default.svc"}],"sourceRepos":["*"]}`
	for name, spoil := range map[string]func(*testing.T, *place, *argocd.Application){
		"paused": func(t *testing.T, _ *place, a *argocd.Application) { pause(t, a, "delivery") },
		"on a cluster that the Application has left, paused": func(t *testing.T, p *place, a *argocd.Application) {
			pause(t, a, "delivery")
			other := newCluster(t)
			p.bind(p.cluster, other)
			edit(t, a, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
		},
		"refused for a slip": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { a.Annotations[contract.ManagementPolicyAnnotation] = "x" })
		},
		"too large": func(t *testing.T, _ *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) {
				a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"guestbook","helm":{"values":"`+strings.Repeat("x", 600*1024)+`"}`, 1))
			})
		},
		"deleted and held by a pause": func(t *testing.T, p *place, a *argocd.Application) {
			edit(t, a, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
			pause(t, namespace(p.namespace), "delivery")
			p.heldBack()
			remove(t, a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var argo string
			start(t, anywhere(t), func(o *Options) { argo = o.ArgoCDNamespace })
			p := newPlace(t)
			project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo, Name: "team"}, Spec: []byte(wide)}
			p.create(project)
			app := p.deploy("guestbook", func(a *argocd.Application) {
				a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"project":"default"`, `"project":"team"`, 1))
			})
			projectIs := func(text string) {
				testkit.Eventually(t, "the project to say "+text, func() error {
					own := works(t, app)
					if len(own) != 1 {
						return fmt.Errorf("%d works", len(own))
					}
					for _, m := range own[0].Spec.Workload.Manifests {
						if strings.Contains(string(m.Raw), `"kind":"AppProject"`) && strings.Contains(string(m.Raw), text) {
							return nil
						}
					}
					return fmt.Errorf("not yet: %v", storedConditions(t, app))
				})
			}
			projectIs(`"namespace":"*"`)
			spoil(t, p, app)
			edit(t, project, func(a *argocd.AppProject) { a.Spec = []byte(narrow) })
			projectIs(`"namespace":"narrow"`)
		})
	}
}

// If a pause removes the automation, the agent does not apply a finished operation again.
func TestPause_runsNoFinishedOperationAgain(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", automated)
	m := deliveredTo(t, app, p.cluster)
	ask(t, app)
	sent(t, app, m)
	m.begin()
	m.report()
	m.end() // not reported yet
	pause(t, app, "sync")
	another(t)
	if works(t, app)[0].Annotations[contract.PausedAnnotation] != "" {
		t.Error("the work is written while its cluster may still be at the operation")
	}
	m.report()
	testkit.Eventually(t, "the automation to go", func() error {
		if works(t, app)[0].Annotations[contract.PausedAnnotation] == "" {
			return errors.New("not yet")
		}
		return nil
	})
	m.apply()
	m.begin()
	if m.ran != 1 {
		t.Errorf("%d operations for one request", m.ran)
	}
}
