// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// neighbours is a cache that has these Applications on every cluster.
type neighbours struct {
	client.Client
	apps []argocd.Application
}

func (n neighbours) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	apps, ok := list.(*argocd.ApplicationList)
	if !ok {
		return errors.New("not a list of Applications")
	}
	apps.Items = n.apps
	return nil
}

// Which works are an Application's, and which of them its deletion waits for.
func TestCopiesOf(t *testing.T) {
	application := func(name string, uid types.UID, pulled string) argocd.Application {
		return argocd.Application{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: uid, Labels: map[string]string{contract.PullLabel: pulled}, Annotations: map[string]string{contract.ClusterAnnotation: "here"},
		}}
	}
	app := application("shop", "11111111-aaaa", "true")
	ownName, earlierName, otherName := payload.WorkNames(&app)[0], contract.WorkName("shop", "99999999-zzzz"), contract.WorkName("other", "22222222-bbbb")
	work := func(cluster, name string, there types.NamespacedName, change ...func(*workv1.ManifestWork)) *manifestcache.Work {
		w := &workv1.ManifestWork{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: cluster, Name: name, UID: types.UID(cluster + name), CreationTimestamp: metav1.Unix(1000, 0),
				Labels: map[string]string{contract.PullLabel: "true"}, Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "shop"},
			},
			Spec: workv1.ManifestWorkSpec{
				Workload: workv1.ManifestsTemplate{Manifests: make([]workv1.Manifest, 1)},
				ManifestConfigs: []workv1.ManifestConfigOption{{ResourceIdentifier: workv1.ResourceIdentifier{
					Group: argocd.Group, Resource: argocd.ApplicationPlural, Namespace: there.Namespace, Name: there.Name,
				}}},
			},
		}
		for _, c := range change {
			c(w)
		}
		return appcache.Compact(w)
	}
	wanted := types.NamespacedName{Namespace: "team", Name: "shop"}
	bound := func(w *workv1.ManifestWork) { w.Annotations[contract.HubUIDAnnotation] = string(app.UID) }
	ending := func(w *workv1.ManifestWork) { now := metav1.Now(); w.DeletionTimestamp = &now }
	later := func(w *workv1.ManifestWork) { w.CreationTimestamp = metav1.NewTime(time.Unix(2000, 0)) }
	for name, c := range map[string]struct {
		reason     string
		works      []*manifestcache.Work
		neighbours []argocd.Application
		want       string // current, terminating, number of surplus, elsewhere, all, proven
	}{
		"own":            {reason: "its name says so", works: []*manifestcache.Work{work("here", ownName, wanted)}, want: "here/" + ownName + " - 0 0 1 1"},
		"ownElsewhere":   {reason: "on a former target, too", works: []*manifestcache.Work{work("there", ownName, wanted)}, want: "- - 0 1 1 1"},
		"adopted":        {reason: "or its UID", works: []*manifestcache.Work{work("there", earlierName, wanted, bound)}, want: "- - 0 1 1 1"},
		"earlier":        {reason: "what runs on the target is taken over", works: []*manifestcache.Work{work("here", earlierName, wanted)}, want: "here/" + earlierName + " - 0 0 1 1"},
		"earlierThere":   {reason: "on another cluster nothing waits for it", works: []*manifestcache.Work{work("there", earlierName, wanted)}, want: "- - 0 1 1 0"},
		"otherNamespace": {reason: "what is another object is not taken over, and goes", works: []*manifestcache.Work{work("here", earlierName, types.NamespacedName{Namespace: "old", Name: "shop"})}, want: "- - 0 1 1 0"},
		"otherName":      {reason: "nor is another Application", works: []*manifestcache.Work{work("here", earlierName, types.NamespacedName{Namespace: "team", Name: "other"})}, want: "- - 0 1 1 0"},
		"others":         {reason: "a work with another's name is that one's, whatever it says", works: []*manifestcache.Work{work("there", otherName, wanted)}, neighbours: []argocd.Application{application("other", "22222222-bbbb", "true")}, want: "- - 0 0 0 0"},
		"othersTurned":   {reason: "unless that one is not pulled any more", works: []*manifestcache.Work{work("there", otherName, wanted)}, neighbours: []argocd.Application{application("other", "22222222-bbbb", "false")}, want: "- - 0 1 1 0"},
		"terminating":    {reason: "one on its way out is waited for", works: []*manifestcache.Work{work("here", ownName, wanted, ending)}, want: "- here/" + ownName + " 0 0 1 1"},
		"two":            {reason: "of two the younger carries it on", works: []*manifestcache.Work{work("here", ownName, wanted), work("here", earlierName, wanted, later)}, want: "here/" + earlierName + " - 1 0 2 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &gatherer{client: neighbours{apps: c.neighbours}}
			got, err := r.copiesOf(t.Context(), &app, c.works)
			if err != nil {
				t.Fatal(err)
			}
			named := func(w *manifestcache.Work) string {
				if w == nil {
					return "-"
				}
				return w.Namespace + "/" + w.Name
			}
			is := fmt.Sprint(named(got.current), " ", named(got.terminating), " ", len(got.surplus), " ", len(got.elsewhere)+len(got.former), " ", len(got.all), " ", len(got.proven))
			if diff := cmp.Diff(c.want, is); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
