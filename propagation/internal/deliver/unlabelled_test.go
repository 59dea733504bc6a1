// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Works that lost their label while nobody watched are found also when their names are
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
	second, searches := startCountingSearches(t, p.cluster)
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
	pruned(t, ofEnded)
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(ended) })
	before := searches.Load()
	delivered(t, p.deploy("later"), p.cluster)
	if n := searches.Load(); before != 1 || n != before {
		t.Errorf("%d searches of the cluster, %d more for a later Application", before, n-before)
	}
}

// Applications that are delivered at once share the one search of their cluster.
func TestUnlabelledAreSearchedOnceForManyApplications(t *testing.T) {
	p := newPlace(t)
	apps := make([]*argocd.Application, 20)
	for i := range apps {
		apps[i] = p.deploy(fmt.Sprintf("app-%d", i))
	}
	_, searches := startCountingSearches(t, p.cluster)
	for _, app := range apps {
		delivered(t, app, p.cluster)
	}
	if n := searches.Load(); n != 1 {
		t.Errorf("%d searches of one cluster", n)
	}
}

// A name that no cluster has is not searched: a tenant could think of any number.
func TestUnknownClusterIsNotSearched(t *testing.T) {
	p := newPlace(t)
	unknown := p.cluster + "-unknown"
	_, searches := startCountingSearches(t, unknown)
	app := p.deploy("stray", func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = unknown })
	says(t, app, policy.ErrorCondition, unknown)
	if n := searches.Load(); n != 0 {
		t.Errorf("%d searches of a cluster that is not there", n)
	}
}

// startCountingSearches starts propagation and counts its lists of the works without
// label of one cluster: Applications of other tests have clusters of their own.
func startCountingSearches(t *testing.T, cluster string) (*propagation, *atomic.Int64) {
	t.Helper()
	searches := &atomic.Int64{}
	p := startReading(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
				asked := (&client.ListOptions{}).ApplyOptions(opts).Namespace
				if _, is := l.(*metav1.PartialObjectMetadataList); is && asked == cluster {
					searches.Add(1)
				}
				return c.List(ctx, l, opts...)
			},
		})
	})
	return p, searches
}
