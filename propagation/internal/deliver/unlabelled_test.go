// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Works that lost their label while no process ran are found also when their names are
// of an earlier life: no second one is made beside them, and a deletion waits for them.
func TestUnlabelledWhileNobodyWatched(t *testing.T) {
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
	says(t, ended, policy.WarningCondition, ofEnded.Name)
	for _, request := range second.requests.in(p.cluster) {
		if strings.HasPrefix(request, "POST") {
			t.Errorf("propagation sent %s", request)
		}
	}
	applyWell(t, stored(t, ofEnded))
	withdrawn(t, ended)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(ended) })
}

// A work whose label cannot be put back holds up neither the start nor other works, and its
// Application says so.
func TestLabels_aWorkThatCannotBePatchedCostsItselfOnly(t *testing.T) {
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
	says(t, refused, policy.ErrorCondition, "a webhook denied it")
}

// While labels are put back other Applications are delivered, but for those that want to be
// what a work without label delivers.
func TestLabels_othersAreDeliveredMeanwhile(t *testing.T) {
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
	delivered(t, p.deploy("third"), p.cluster) // by then the rival has been looked at
	if n := len(works(t, rival)); n != 0 {
		t.Errorf("it is delivered %d times beside the work without the label", n)
	}
	release()
	says(t, rival, policy.ErrorCondition, "not delivered: Application "+app.Namespace+"/lost")
	if after := delivered(t, app, p.cluster); after.UID != work.UID || after.Labels[contract.PullLabel] != "true" {
		t.Errorf("the work is %s with labels %v", after.Name, after.Labels)
	}
}

// The agent of a cluster may have its works name any Application: those of other clusters do not
// wait for them.
func TestLabels_anotherClustersAgentHoldsUpNothing(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	first := start(t)
	victim, other := p.deploy("same", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} }), q.deploy("same")
	ofVictim, foreign := delivered(t, victim, p.cluster), delivered(t, other, q.cluster)
	finalized(t, ofVictim)
	first.stop()
	edit(t, foreign, func(w *workv1.ManifestWork) {
		delete(w.Labels, contract.PullLabel)
		w.Annotations[contract.HubNamespaceAnnotation] = victim.Namespace
	})
	patchFirst(t, func(o client.Object) error {
		if o.GetNamespace() == q.cluster {
			return apierrors.NewConflict(workv1.Resource("manifestworks"), o.GetName(), errors.New("its agent was first"))
		}
		return nil
	})
	remove(t, victim)
	pruned(t, ofVictim)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(victim) })
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
