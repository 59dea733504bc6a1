// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestMismatched(t *testing.T) {
	work := func(cluster string, labels map[string]string) *manifestcache.Work {
		kept, _ := manifestcache.Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Labels: labels, Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "app"}}}, nil)
		return kept
	}
	ours := map[string]string{contract.PullLabel: "true"}
	unlabelled := *cachedApplication()
	unlabelled.Labels = nil
	app, key := *cachedApplication(), []types.NamespacedName{{Namespace: "team", Name: "app"}}
	cases := map[string]struct {
		reason string
		apps   []argocd.Application
		works  []*manifestcache.Work
		want   []types.NamespacedName
	}{
		"nothing":    {reason: "nothing is nothing"},
		"right":      {reason: "a work where it belongs", apps: []argocd.Application{app}, works: []*manifestcache.Work{work("cluster1", ours)}},
		"orphan":     {reason: "a work whose Application is gone", works: []*manifestcache.Work{work("cluster1", ours)}, want: key},
		"unlabelled": {reason: "a work whose Application does not want it", apps: []argocd.Application{unlabelled}, works: []*manifestcache.Work{work("cluster1", ours)}, want: key},
		"elsewhere":  {reason: "a work on another cluster", apps: []argocd.Application{app}, works: []*manifestcache.Work{work("cluster1", ours), work("cluster2", ours)}, want: key},
		"missing":    {reason: "an Application without a work", apps: []argocd.Application{app}, want: key},
		"strangers":  {reason: "a work that is not ours", works: []*manifestcache.Work{work("cluster1", nil)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, mismatched(c.apps, c.works)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	good := Options{Binding: BindingPlacement, Concurrency: 1, SizeLimit: 1, Withdrawals: budget.Settings{Window: time.Minute}}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"binding": func(o *Options) { o.Binding = "any" }, "concurrency": func(o *Options) { o.Concurrency = 0 },
		"size": func(o *Options) { o.SizeLimit = 0 }, "grace": func(o *Options) { o.BindingGrace = -1 },
		"least": func(o *Options) { o.Withdrawals.Group.Least = -1 }, "hub least": func(o *Options) { o.Withdrawals.Hub.Least = -1 }, "window": func(o *Options) { o.Withdrawals.Window = 0 },
	} {
		o := good
		change(&o)
		if o.Validate() == nil {
			t.Errorf("a bad %s is accepted", name)
		}
	}
}

// If a work loses its label, propagation restores the label, and creates no second work.
func TestLabels_areRestored(t *testing.T) {
	p := newPlace(t)
	first := start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	app, kept := p.deploy("unlabelled"), p.deploy("adopted")
	work, old := delivered(t, app, p.cluster), delivered(t, kept, p.cluster)
	kept = remade(t, p, kept) // its work keeps the name of the earlier UID
	adopted(t, kept, old)
	unlabel := func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) }
	labelled := func(app *argocd.Application, work *workv1.ManifestWork) {
		t.Helper()
		testkit.Eventually(t, "the label of "+work.Name, func() error {
			own := works(t, app)
			if len(own) != 1 || own[0].UID != work.UID || own[0].DeletionTimestamp != nil {
				t.Fatalf("there are %d works, or another one", len(own))
			}
			if own[0].Labels[contract.PullLabel] != "true" {
				return errors.New("it is not back")
			}
			return nil
		})
	}
	edit(t, work, unlabel)
	labelled(app, work)
	edit(t, old, unlabel)
	labelled(kept, old)
	first.stop()
	edit(t, work, unlabel)
	start(t)
	labelled(app, work)
}

// The deletion of an Application also finds a work without the label.
func TestLabels_areNotNeededForADeletion(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	app := p.deploy("unlabelled", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	first.stop()
	edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	remove(t, app)
	start(t)
	awaitCondition(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
	testkit.Eventually(t, "the withdrawal", func() error {
		if own := works(t, app); len(own) != 1 || own[0].DeletionTimestamp == nil {
			return errors.New("it is still alive")
		}
		return nil
	})
	pruned(t, work)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

// If a work loses its label during the deletion of its Application, propagation restores the label, whatever
// the work's name is.
func TestLabels_areRestoredDuringADeletion(t *testing.T) {
	start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	finalizer := func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} }
	for name, again := range map[string]bool{"made": false, "remade": true} { // the work of a re-created Application keeps the name of the earlier UID
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			app := p.deploy("unlabelled", func(a *argocd.Application) {
				if !again {
					finalizer(a)
				}
			})
			work := delivered(t, app, p.cluster)
			finalized(t, work)
			if again {
				app = remade(t, p, app, finalizer)
				adopted(t, app, work)
			}
			remove(t, app)
			if again {
				awaitCondition(t, app, policy.WarningCondition, "to apply how it ends")
				applyWell(t, stored(t, work))
			}
			awaitCondition(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
			edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
			edit(t, app, func(a *argocd.Application) { a.Annotations["example.com/wake"] = "up" })
			testkit.Eventually(t, "the label", func() error {
				if stored(t, work).Labels[contract.PullLabel] != "true" {
					return errors.New("it is not back")
				}
				return nil
			})
			awaitCondition(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
			if err := gone(app); err == nil {
				t.Fatal("it was released while its work is there")
			}
			pruned(t, work)
			testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
		})
	}
}

// propagation finds works that lost their label while it was down, even with the name of an earlier UID. It
// creates no second work, and a deletion waits for them.
func TestLabels_areRestoredAfterADowntime(t *testing.T) {
	p := newPlace(t)
	first := start(t, func(o *Options) { o.RecreateGrace = time.Hour })
	kept, again, ended := p.deploy("kept"), p.deploy("again"), p.deploy("ended")
	ofKept, ofAgain, ofEnded := delivered(t, kept, p.cluster), delivered(t, again, p.cluster), delivered(t, ended, p.cluster)
	finalized(t, ofEnded)
	kept = remade(t, p, kept)
	adopted(t, kept, ofKept)
	ended = remade(t, p, ended, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	adopted(t, ended, ofEnded)
	first.stop()
	for _, work := range []*workv1.ManifestWork{ofKept, ofAgain, ofEnded} {
		edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	}
	again = remade(t, p, again)
	remove(t, ended)
	second := start(t)
	for app, work := range map[*argocd.Application]*workv1.ManifestWork{kept: ofKept, again: ofAgain} {
		adopted(t, app, work)
		testkit.Eventually(t, "the label of "+work.Name, func() error {
			if delivered(t, app, p.cluster).Labels[contract.PullLabel] != "true" {
				return errors.New("it is not back")
			}
			return nil
		})
	}
	awaitCondition(t, ended, policy.WarningCondition, ofEnded.Name)
	for _, request := range second.requests.in(p.cluster) {
		if strings.HasPrefix(request, "POST") {
			t.Errorf("propagation sent %s", request)
		}
	}
	applyWell(t, stored(t, ofEnded))
	withdrawn(t, ended)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(ended) })
}

// If the label of a work cannot be restored, its Application reports that. This delays neither the start nor
// other works.
func TestLabels_delayNoOtherWorkIfRefused(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	refused, restored := p.deploy("refused"), p.deploy("restored")
	ofRefused, ofRestored := delivered(t, refused, p.cluster), delivered(t, restored, p.cluster)
	first.stop()
	removeLabel(t, ofRefused, ofRestored)
	patchFirst(t, func(o client.Object) error {
		if o.GetNamespace() == p.cluster && o.GetName() == ofRefused.Name {
			return apierrors.NewForbidden(workv1.Resource("manifestworks"), o.GetName(), errors.New("a webhook denied it"))
		}
		return nil
	})
	delivered(t, p.deploy("another"), p.cluster)
	testkit.Eventually(t, "the label of "+ofRestored.Name, func() error {
		if after := delivered(t, restored, p.cluster); after.UID != ofRestored.UID || after.Labels[contract.PullLabel] != "true" {
			return fmt.Errorf("the other work is %s with labels %v", after.Name, after.Labels)
		}
		return nil
	})
	awaitCondition(t, refused, policy.ErrorCondition, "a webhook denied it")
}

// While propagation restores labels, it delivers other Applications. An Application waits only if it desires
// the identity of a work without a label.
func TestLabels_delayNoOtherApplication(t *testing.T) {
	free := anywhere(t, "argocd")
	first := start(t, free)
	p := newPlace(t)
	q := newNamespace(t, p)
	app := p.deploy("lost", into("argocd"))
	work := delivered(t, app, p.cluster)
	first.stop()
	removeLabel(t, work)
	hold, reached := make(chan struct{}), make(chan struct{}, 100)
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	patchFirst(t, func(o client.Object) error {
		if o.GetNamespace() == p.cluster && o.GetName() == work.Name {
			reached <- struct{}{}
			<-hold
		}
		return nil
	}, free)
	select {
	case <-reached:
	case <-time.After(time.Minute):
		t.Fatal("the label is not put back")
	}
	delivered(t, p.deploy("another"), p.cluster)
	rival := q.deploy("lost", into("argocd"))
	delivered(t, p.deploy("third"), p.cluster) // by then the rival was reconciled
	if n := len(works(t, rival)); n != 0 {
		t.Errorf("it is delivered %d times beside the work without the label", n)
	}
	release()
	awaitCondition(t, rival, policy.ErrorCondition, "not delivered: Application "+app.Namespace+"/lost")
	if after := delivered(t, app, p.cluster); after.UID != work.UID || after.Labels[contract.PullLabel] != "true" {
		t.Errorf("the work is %s with labels %v", after.Name, after.Labels)
	}
}

// The agent of a cluster may write any Application name into its works. Applications on other clusters do not
// wait for such works, with or without a finalizer.
func TestLabels_delayNothingOnOtherClusters(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	first := start(t)
	victim := p.deploy("same", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	bare := p.deploy("bare")
	ofVictim, ofBare := delivered(t, victim, p.cluster), delivered(t, bare, p.cluster)
	finalized(t, ofVictim)
	foreign := []*workv1.ManifestWork{delivered(t, q.deploy("same"), q.cluster), delivered(t, q.deploy("bare"), q.cluster)}
	first.stop()
	for _, work := range foreign {
		edit(t, work, func(w *workv1.ManifestWork) {
			delete(w.Labels, contract.PullLabel)
			w.Annotations[contract.HubNamespaceAnnotation] = p.namespace
		})
	}
	patchFirst(t, func(o client.Object) error {
		if o.GetNamespace() == q.cluster {
			return apierrors.NewConflict(workv1.Resource("manifestworks"), o.GetName(), errors.New("its agent was first"))
		}
		return nil
	})
	remove(t, victim)
	remove(t, bare)
	pruned(t, ofVictim)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(victim) })
	testkit.Eventually(t, "the removal of "+ofBare.Name, func() error {
		if stored(t, ofBare) != nil {
			return errors.New("it is still there")
		}
		return nil
	})
}

// The agent of a former cluster keeps removing the label of its work. The Application is delivered to its
// present cluster, and leaves it when it is deleted. It is not released before its former work has ended. The
// agent causes only a patch every few seconds.
func TestLabels_ofAFormerClusterDelayNoOther(t *testing.T) {
	p := newPlace(t)
	next := newCluster(t)
	p.bind(p.cluster, next)
	var former atomic.Pointer[workv1.ManifestWork]
	var patches atomic.Int32
	startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				err := c.Patch(ctx, o, patch, opts...)
				if work := former.Load(); work != nil && o.GetNamespace() == work.Namespace && o.GetName() == work.Name {
					patches.Add(1)
					unlabel := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, contract.PullLabel))
					return errors.Join(err, hub.client.Patch(ctx, work.DeepCopy(), unlabel))
				}
				return err
			},
		})
	})
	app := p.deploy("moved", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	former.Store(work)
	began := time.Now()
	removeLabel(t, work)
	present := retargeted(t, app, work, next)
	remove(t, app)
	ends := func(work *workv1.ManifestWork) {
		t.Helper()
		testkit.Eventually(t, "the end of the work on "+work.Namespace, func() error {
			if stored(t, work).DeletionTimestamp == nil {
				return errors.New("it is not deleted")
			}
			return nil
		})
		pruned(t, work)
	}
	ends(present)
	testkit.Eventually(t, "the work on the present cluster to be gone", func() error { return gone(present) })
	delivered(t, p.deploy("another"), p.cluster)
	if err := gone(app); err == nil {
		t.Error("it was released while its former work exists")
	}
	if n, most := patches.Load(), int32(5+time.Since(began)/time.Second); n > most {
		t.Errorf("the agent caused %d patches, want %d at most", n, most)
	}
	former.Store(nil)
	ends(work)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

// A former cluster has a status that Go's types cannot hold, while its work waits for its agent to end. The
// present cluster still receives a change of the Application, and the Application leaves it.
func TestStatus_unreadableOnAFormerClusterDelaysNoOther(t *testing.T) {
	for name, of := range map[string]func(work *workv1.ManifestWork) (apiVersion, kind string, key client.ObjectKey){
		"ManifestWork": func(work *workv1.ManifestWork) (apiVersion, kind string, key client.ObjectKey) {
			return workv1.GroupVersion.String(), "ManifestWork", client.ObjectKeyFromObject(work)
		},
		"ManagedCluster": func(work *workv1.ManifestWork) (apiVersion, kind string, key client.ObjectKey) {
			return clusterv1.GroupVersion.String(), "ManagedCluster", client.ObjectKey{Name: work.Namespace}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			next := newCluster(t)
			p.bind(p.cluster, next)
			start(t, func(o *Options) { o.RecreateGrace = time.Second })
			app := p.deploy("moved")
			work := delivered(t, app, p.cluster)
			finalized(t, work)
			applyWell(t, work)
			present := retargeted(t, app, work, next)
			applyWell(t, present)
			ends := func(raw string) bool { return strings.Contains(raw, "end-without-cascade") }
			waitsForAgent(t, work, ends)
			apiVersion, kind, key := of(work)
			testkit.WriteUnreadableStatus(t, hub.client, apiVersion, kind, key)
			edit(t, app, func(a *argocd.Application) {
				a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"changed"`, 1))
			})
			testkit.Eventually(t, "the change on the present cluster", func() error {
				if raw := applicationIn(stored(t, present)); !strings.Contains(raw, `"path":"changed"`) {
					return errors.New("not yet: " + raw)
				}
				return nil
			})
			applyWell(t, present)
			remove(t, app)
			testkit.Eventually(t, "the last write on the present cluster", func() error {
				if raw := applicationIn(stored(t, present)); !ends(raw) {
					return errors.New("not yet: " + raw)
				}
				return nil
			})
			applyWell(t, present)
			appliedBeforeItsEnd(t, present)
		})
	}
}

// retargeted changes the target of an Application, and returns its new work, which has the agent's finalizer.
func retargeted(t *testing.T, app *argocd.Application, former *workv1.ManifestWork, target string) *workv1.ManifestWork {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = target })
	work := &workv1.ManifestWork{}
	testkit.Eventually(t, "the delivery to the present cluster", func() error {
		return hub.client.Get(t.Context(), client.ObjectKey{Namespace: target, Name: former.Name}, work)
	})
	finalized(t, work)
	return work
}

func removeLabel(t *testing.T, works ...*workv1.ManifestWork) {
	t.Helper()
	for _, work := range works {
		edit(t, work, func(w *workv1.ManifestWork) { delete(w.Labels, contract.PullLabel) })
	}
}

// patchFirst starts propagation with a function that is called before every patch.
func patchFirst(t *testing.T, f func(client.Object) error, change ...func(*Options)) *propagation {
	t.Helper()
	return startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if err := f(o); err != nil {
					return err
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		})
	}, change...)
}
