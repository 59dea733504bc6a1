// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// CurrentWork chooses the same work for delivery and for the mirror. Earlier, delivery chose the youngest
// work, and the mirror the work with the usual name. They differed in all cases from "older by name" on.
func TestCurrentWork(t *testing.T) {
	app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{
		Namespace: "argocd", Name: "guestbook", UID: "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
		Annotations: map[string]string{contract.ClusterAnnotation: "cluster1"},
	}}
	existing, other := DeliveredName(app), types.NamespacedName{Namespace: "elsewhere", Name: app.Name}
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	type given struct {
		cluster, name string
		age           int // how many seconds before start it was created
		uid           string
		delivers      types.NamespacedName
	}
	for name, c := range map[string]struct {
		reason string
		works  []given
		want   int
	}{
		"none":  {reason: "nothing carries it", want: -1},
		"usual": {reason: "one of its name", works: []given{{name: "guestbook-0a1b2", delivers: existing}}},
		"elsewhere": {
			reason: "a work on another cluster does not stand for it",
			works:  []given{{cluster: "cluster2", name: "guestbook-0a1b2", delivers: existing}}, want: -1,
		},
		"adopted": {
			reason: "of an earlier life, and just what is wanted",
			works:  []given{{name: "guestbook-fffff", delivers: existing}},
		},
		"older by name": {
			reason: "the youngest is kept and the one with the usual name withdrawn",
			works:  []given{{name: "guestbook-0a1b2", age: 9, delivers: existing}, {name: "guestbook-fffff", delivers: existing}}, want: 1,
		},
		"same second": {
			reason: "creation timestamps have seconds, so the name decides, in whatever order the cache lists them",
			works:  []given{{name: "guestbook-fffff", delivers: existing}, {name: "guestbook-eeeee", delivers: existing}},
		},
		"leftover": {
			reason: "what delivers another Application is on its way out, however young",
			works:  []given{{name: "guestbook-0a1b2", age: 9, delivers: existing}, {name: "guestbook-fffff", delivers: other}},
		},
		"leftover alone": {
			reason: "what it says is not about this Application",
			works:  []given{{name: "guestbook-fffff", delivers: other}}, want: -1,
		},
		"moved within the cluster": {
			reason: "a work delivers one identity for life: another identity is another work",
			works:  []given{{name: "guestbook-0a1b2", delivers: other}}, want: -1,
		},
		"moved back within the cluster": {
			reason: "the one that delivers what is wanted stands for it, though the former one is younger",
			works:  []given{{name: "guestbook-0a1b2", delivers: existing, age: 9}, {name: "guestbook-0a1b2c3d-4e5f", delivers: other}},
		},
		"emptied": {
			reason: "its own work that delivers no Application any more is repaired",
			works:  []given{{name: "guestbook-0a1b2"}},
		},
		"emptied, by the annotation": {
			reason: "an adopted work carries the UID in full",
			works:  []given{{name: "guestbook-fffff", uid: string(app.UID)}},
		},
		"emptied, of another": {
			reason: "what delivers nothing and is not its own proves nothing",
			works:  []given{{name: "guestbook-fffff"}}, want: -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var works []*manifestcache.Work
			for _, g := range c.works {
				w := &manifestcache.Work{ObjectMeta: metav1.ObjectMeta{
					Namespace: "cluster1", Name: g.name, CreationTimestamp: metav1.NewTime(start.Add(time.Duration(-g.age) * time.Second)),
					Annotations: map[string]string{contract.HubUIDAnnotation: g.uid},
				}, HubNamespace: app.Namespace, HubName: app.Name, Stored: &manifestcache.Stored{Delivers: &g.delivers}}
				if g.cluster != "" {
					w.Namespace = g.cluster
				}
				works = append(works, w)
			}
			got := -1
			if current := CurrentWork(app, works); current != nil {
				got = slices.Index(works, current)
			}
			if got != c.want {
				t.Errorf("%s: got %d, want %d", c.reason, got, c.want)
			}
		})
	}
}

// An agent has emptied a work of an Application that has another namespace on its cluster. The work no longer
// delivers any identity. So propagation repairs it, and does not create it again and again.
func TestIsCurrent_includesAnEmptiedWork(t *testing.T) {
	app := hubApplication()
	app.Annotations[contract.AppNamespaceAnnotation] = "elsewhere"
	work, err := ManifestWork(Inputs{Application: app})
	if err != nil {
		t.Fatal(err)
	}
	work.Name, work.Spec.Workload.Manifests = WorkNames(app)[0], nil
	emptied := cached(work)
	if existing, ok := emptied.Delivers(); ok || !IsCurrent(app, emptied) {
		t.Errorf("it delivers %s, current is %t", existing, IsCurrent(app, emptied))
	}
	work.Name = "another"
	if IsCurrent(app, cached(work)) {
		t.Error("a work without a proof is current")
	}
}
