// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// If a binding returns within the grace period, nothing is removed. The PlacementDecision may have been
// emptied, deleted, or restored without its status.
func TestBinding_removesNothingWithinTheGracePeriod(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *place){
		"emptied": func(_ *testing.T, p *place) { p.bind() },
		"deleted": func(t *testing.T, p *place) {
			remove(t, &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "decision"}})
		},
		"restored": func(t *testing.T, p *place) {
			remove(t, &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "decision"}})
			p.create(&clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "decision"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			running := start(t, func(o *Options) { o.BindingGrace = time.Hour })
			app := p.deploy("guestbook")
			work := delivered(t, app, p.cluster)
			lose(t, p)
			awaitCondition(t, app, policy.ErrorCondition, "no PlacementDecision")
			p.bind(p.cluster)
			awaitCondition(t, app, policy.ErrorCondition, "")
			if after := delivered(t, app, p.cluster); after.UID != work.UID {
				t.Error("the copy was replaced")
			}
			for _, request := range running.requests.in(p.cluster) {
				if strings.HasPrefix(request, "DELETE") {
					t.Errorf("propagation sent %s", request)
				}
			}
		})
	}
}

func TestBinding_removesTheWorkAfterTheGracePeriod(t *testing.T) {
	start(t, func(o *Options) { o.BindingGrace = time.Second })
	p := newPlace(t)
	app := p.deploy("guestbook")
	delivered(t, app, p.cluster)
	p.bind()
	withdrawn(t, app)
	awaitCondition(t, app, policy.ErrorCondition, "no PlacementDecision")
}

// Whoever may create Placements cannot keep a lost permission with decisions that have no status yet.
func TestBinding_isNotKeptByNewDecisions(t *testing.T) {
	start(t, func(o *Options) { o.BindingGrace = time.Second })
	p := newPlace(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	p.bind()
	testkit.Eventually(t, "the work to be removed", func() error {
		p.create(&clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, GenerateName: "renewed-"}})
		err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(work), work)
		if apierrors.IsNotFound(err) || err == nil && work.DeletionTimestamp != nil {
			return nil
		}
		return errors.Join(errors.New("it exists"), err)
	})
}

// Once a namespace has lost a former cluster, its work is deleted, even if the new delivery fails.
// Before that, an invalid setting or a waiting delivery keeps the work.
func TestMove_removesAnUnboundFormerWork(t *testing.T) {
	tooLarge := func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"guestbook","helm":{"values":"`+strings.Repeat("x", 600*1024)+`"}`, 1))
	}
	for name, c := range map[string]struct {
		reason string
		// spoil prevents the delivery to the new cluster.
		spoil func(t *testing.T, p *place, other string)
		edit  func(*argocd.Application)
		says  string
		// stays is true if the old copy stays while its cluster is bound.
		stays bool
	}{
		"tooLarge": {reason: "it will not come about until the user acts", edit: tooLarge, says: "the limit is"},
		"refused": {
			reason: "nor when the API server says no", says: "the API server refused",
			spoil: func(t *testing.T, _ *place, other string) { // no namespace, like a cluster that is partly registered
				remove(t, namespace(other))
			},
		},
		"slip": {
			reason: "a slip waits for its correction", says: "cannot be the name of a namespace", stays: true,
			edit: func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = "Team A" },
		},
		"waiting": {
			reason: "a delivery that waits for the end of an earlier copy keeps the gap closed", says: "has not finished removing", stays: true,
			spoil: func(t *testing.T, p *place, other string) {
				p.create(&workv1.ManifestWork{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: other, Name: "guestbook-old", Finalizers: []string{workv1.ManifestWorkFinalizer}, Labels: map[string]string{contract.PullLabel: "true"},
						Annotations: map[string]string{contract.HubNamespaceAnnotation: p.namespace, contract.HubNameAnnotation: "guestbook"},
					},
					Spec: works(t, p.app("guestbook"))[0].Spec,
				})
				remove(t, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "guestbook-old"}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			other := newCluster(t)
			p.bind(p.cluster, other)
			first := start(t)
			app := p.deploy("guestbook")
			work := delivered(t, app, p.cluster)
			finalized(t, work) // propagation deletes a work that no agent has begun with at once
			first.stop()
			if c.spoil != nil {
				c.spoil(t, p, other)
			}
			edit(t, app, func(a *argocd.Application) {
				a.Annotations[contract.ClusterAnnotation] = other
				if c.edit != nil {
					c.edit(a)
				}
			})
			start(t)
			awaitCondition(t, app, policy.ErrorCondition, c.says)
			existing := func() bool {
				stored := &workv1.ManifestWork{}
				err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(work), stored)
				return err == nil && stored.DeletionTimestamp == nil
			}
			if c.stays && !existing() {
				t.Fatalf("%s: the old copy is gone", c.reason)
			}
			p.bind(other)
			testkit.Eventually(t, "the old copy to go", func() error {
				if existing() {
					_ = tryAnswer(client.ObjectKeyFromObject(work), metav1.ConditionTrue, metav1.ConditionTrue, "", nil) // the agent applies the ending
					return errors.New("it is there")
				}
				return nil
			})
			if name == "waiting" {
				edit(t, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "guestbook-old"}}, func(w *workv1.ManifestWork) { w.Finalizers = nil })
			}
		})
	}
}

// propagation reports an invalid optional setting and keeps the delivery unchanged. Without a binding it
// still removes the delivery.
func TestInvalidSetting_keepsTheDelivery(t *testing.T) {
	p := newPlace(t)
	first := start(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = "Team A" })
	awaitCondition(t, app, policy.ErrorCondition, "cannot be the name of a namespace")
	awaitCondition(t, app, policy.ErrorCondition, "keeps what was delivered before")
	first.stop()
	second := start(t)
	edit(t, app, func(a *argocd.Application) { a.Labels["wake"] = "up" })
	delivered(t, p.deploy("other"), p.cluster)
	if after := delivered(t, app, p.cluster); after.UID != work.UID || after.ResourceVersion != work.ResourceVersion {
		t.Error("the copy was written or replaced")
	}
	second.stop()
	start(t)
	p.bind()
	withdrawn(t, app)
}

// If the Application names an invalid cluster, propagation reports that and keeps an existing copy. A
// deletion does not wait for such a cluster.
func TestInvalidSetting_isReportedForAClusterName(t *testing.T) {
	for _, target := range []string{"team/cluster", "50%", ".", ".."} {
		t.Run(target, func(t *testing.T) {
			start(t)
			p := newPlace(t)
			app := p.deploy("never", func(a *argocd.Application) {
				a.Annotations[contract.ClusterAnnotation] = target
				a.Finalizers = []string{argocd.ResourcesFinalizer}
			})
			awaitCondition(t, app, policy.ErrorCondition, "cannot be the name of a ManagedCluster")
			remove(t, app)
			testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
			moved := p.deploy("moved")
			delivered(t, moved, p.cluster)
			edit(t, moved, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = target })
			awaitCondition(t, moved, policy.ErrorCondition, "keeps what was delivered before")
			delivered(t, moved, p.cluster)
		})
	}
}

// An abandoned Application is released only after the API server has confirmed the decision.
func TestAbandon_isConfirmed(t *testing.T) {
	var silent atomic.Bool
	startReading(t, func(c client.Client) client.Client { return unreadable{c, &silent} })
	p := newPlace(t)
	abandoned := func(a *argocd.Application) {
		a.Finalizers = []string{argocd.ResourcesFinalizer}
		a.Annotations[contract.DeletionPolicyAnnotation] = "abandon"
	}
	app := p.deploy("guestbook", abandoned)
	work := delivered(t, app, p.cluster)
	finalized(t, work)
	never := p.deploy("never", abandoned, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = newCluster(t) })
	silent.Store(true)
	for _, a := range []*argocd.Application{app, never} {
		remove(t, a)
	}
	stillExists(t, app)
	silent.Store(false)
	for _, a := range []*argocd.Application{app, never} {
		testkit.Eventually(t, "the Application to be gone", func() error { return gone(a) })
	}
	pruned(t, work)
}

// unreadable is a client that returns errors for all reads while silent is true.
type unreadable struct {
	client.Client
	silent *atomic.Bool
}

func (u unreadable) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if u.silent.Load() {
		return errors.New("no answer")
	}
	return u.Client.Get(ctx, key, o, opts...)
}

func (u unreadable) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if u.silent.Load() {
		return errors.New("no answer")
	}
	return u.Client.List(ctx, list, opts...)
}

// A deleted Application waits for its work on a terminating ManagedCluster, until the ManagedCluster no
// longer exists.
func TestDeletion_waitsForATerminatingCluster(t *testing.T) {
	start(t)
	p := newPlace(t)
	other := newCluster(t)
	p.bind(p.cluster, other)
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: p.cluster}}
	edit(t, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = []string{"example.com/detach"} })
	finalizers := func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} }
	app, moved := p.deploy("guestbook", finalizers), p.deploy("moved", finalizers)
	finalized(t, delivered(t, app, p.cluster))
	finalized(t, delivered(t, moved, p.cluster))
	edit(t, moved, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	remove(t, cluster)
	for _, a := range []*argocd.Application{app, moved} {
		remove(t, a)
		awaitCondition(t, a, policy.WarningCondition, "not deleted yet: waiting for cluster")
		if err := gone(a); err == nil {
			t.Fatalf("%s was released while its work is there", a.Name)
		}
	}
	edit(t, cluster, func(c *clusterv1.ManagedCluster) { c.Finalizers = nil })
	for _, a := range []*argocd.Application{app, moved} {
		testkit.Eventually(t, a.Name+" to be gone", func() error { return gone(a) })
	}
}

// If an AppProject is deleted, or excludes the namespace, and is re-created within the grace period, nothing
// is removed.
func TestProject_removesNothingWithinTheGracePeriod(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, *argocd.AppProject){
		"edited": func(t *testing.T, project *argocd.AppProject) {
			edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("others") })
		},
		"deleted": func(t *testing.T, project *argocd.AppProject) { remove(t, project) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, argo := newPlace(t), argoCD(t)
			project := func() *argocd.AppProject {
				return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "platform"}, Spec: sourceSpec("team-*")}
			}
			running := start(t, func(o *Options) {
				o.ArgoCDNamespace, o.BindingGrace = argo.namespace, time.Hour
				o.AppNamespaces = policy.AppNamespaces{{Hub: "team-*", Target: "gitops"}}
			})
			first := project()
			argo.create(first)
			app := p.deploy("guestbook", projectIs("platform"), into("gitops"))
			work := delivered(t, app, p.cluster)
			lose(t, first)
			awaitCondition(t, app, policy.ErrorCondition, "--binding-grace")
			remove(t, first)
			argo.create(project())
			awaitCondition(t, app, policy.ErrorCondition, "")
			if after := delivered(t, app, p.cluster); after.UID != work.UID {
				t.Error("the copy was replaced")
			}
			for _, request := range running.requests.in(p.cluster) {
				if strings.HasPrefix(request, "DELETE") {
					t.Errorf("propagation sent %s", request)
				}
			}
		})
	}
}
