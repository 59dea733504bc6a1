// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
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
