// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// A restart over a settled fleet finds everything as it should be.
func TestRestartWritesNothing(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	var apps []*argocd.Application
	for i := range 20 {
		apps = append(apps, p.deploy(fmt.Sprintf("app-%d", i), func(a *argocd.Application) {
			a.Annotations["example.com/note"] = "a < b && c > \"d\" é \u2028"
			a.Spec = []byte(`{"project":"default","destination":{"namespace":"x"},"source":{"repoURL":"https://git.example.com/a.git","helm":{"values":"a: <b> & c\u2028","parameters":[{"name":"n","value":"1"}]}},"syncPolicy":{"retry":{"limit":5,"backoff":{"factor":2}}}}`)
		}))
	}
	for _, app := range apps {
		delivered(t, app, p.cluster)
	}
	first.stop()
	second := start(t)
	// An Application that comes last has seen all the others through.
	last := p.deploy("last")
	delivered(t, last, p.cluster)
	if got := second.requests.in(p.namespace, p.cluster); len(got) != 1 {
		t.Errorf("the restart made %d write requests, want the one for the new Application: %v", len(got), got)
	}
}

// A spec that the API server stores otherwise is written once for each time that it
// changes, on either side.
func TestSettled(t *testing.T) {
	cached := func(generation int64, hash string) *manifestcache.Cached {
		work, _ := manifestcache.Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: generation}}, &manifestcache.Stored{Hash: hash})
		return work
	}
	answer := &metav1.ObjectMeta{UID: "u", Generation: 2}
	for name, c := range map[string]struct {
		reason string
		work   *manifestcache.Cached
		want   string
		same   bool
	}{
		"stored":        {reason: "it is stored as wanted", work: cached(1, "a"), want: "a", same: true},
		"unknown":       {reason: "nothing is known of an earlier life but what is stored", work: cached(1, "x"), want: "b"},
		"written":       {reason: "what was written became this", work: cached(2, "x"), want: "a", same: true},
		"behind":        {reason: "the cache is older than the write", work: cached(1, "x"), want: "a"},
		"edited":        {reason: "somebody has changed it since", work: cached(3, "x"), want: "a"},
		"wanted anew":   {reason: "another spec is wanted than was written", work: cached(2, "x"), want: "b"},
		"wanted before": {reason: "the other spec is what is stored", work: cached(2, "b"), want: "b", same: true},
	} {
		var s lastApplied
		s.remember(answer, "a")
		for range 2 {
			if got := s.same(c.work, c.want); got != c.same {
				t.Errorf("%s: %s: same is %t", name, c.reason, got)
			}
		}
	}
	var s lastApplied
	s.remember(answer, "a")
	if s.same(cached(2, "a"), "a"); len(s.written) != 0 {
		t.Error("a spec that was stored as it is stays in memory")
	}
	s.remember(answer, "a")
	if s.prune(map[types.UID]bool{}); len(s.written) != 0 {
		t.Error("a work that is gone stays in memory")
	}
}
