// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// carrying returns a pulled work of team/app that delivers an Application.
func carrying(cluster, name string, delivers *types.NamespacedName) *Work {
	w, _ := Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster, Name: name, UID: types.UID(cluster + name), Labels: map[string]string{contract.PullLabel: "true"},
		Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "app"},
	}}, &Stored{Hash: "x", Delivers: delivers})
	return w
}

var (
	sameName = &types.NamespacedName{Namespace: "team", Name: "app"}
	moved    = &types.NamespacedName{Namespace: "argocd", Name: "app"}
	renamed  = &types.NamespacedName{Namespace: "team", Name: "other"}
	noApp    = &types.NamespacedName{}
)

func TestDelivers(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		delivers *types.NamespacedName
		want     types.NamespacedName
	}{
		"same":    {reason: "as on the hub", delivers: sameName, want: *sameName},
		"moved":   {reason: "to another namespace", delivers: moved, want: *moved},
		"renamed": {reason: "of another name it is not the hub Application's", delivers: renamed},
		"noApp":   {reason: "without an Application it delivers none", delivers: noApp},
		"no spec": {reason: "a spec without manifests says nothing", want: *sameName},
	} {
		if got, ok := carrying("c", "w", c.delivers).Delivers(); got != c.want || ok != (c.want.Name != "") {
			t.Errorf("%s: %s: got %s, %t", name, c.reason, got, ok)
		}
	}
}

// indexed returns an index over works, with the store of an informer.
func indexed(t *testing.T, works ...*Work) *Index {
	t.Helper()
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	for name, keys := range IndexFuncs() {
		if err := store.AddIndexers(toolscache.Indexers{name: keys}); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range works {
		if err := store.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return NewIndex(store)
}

func TestDelivering(t *testing.T) {
	index := indexed(t,
		carrying("c1", "same", sameName), carrying("c1", "moved", moved), carrying("c1", "renamed", renamed), carrying("c1", "none", noApp),
		carrying("c2", "same", sameName), carrying("c2", "moved", moved))
	for name, c := range map[string]struct {
		reason  string
		cluster string
		app     types.NamespacedName
		want    []string
	}{
		"same":     {reason: "found by what it carries", cluster: "c1", app: types.NamespacedName{Namespace: "team", Name: "app"}, want: []string{"same"}},
		"moved":    {reason: "found by what it is there", cluster: "c1", app: types.NamespacedName{Namespace: "argocd", Name: "app"}, want: []string{"moved"}},
		"cluster":  {reason: "each cluster has its own", cluster: "c2", app: types.NamespacedName{Namespace: "argocd", Name: "app"}, want: []string{"moved"}},
		"nobody's": {reason: "a name that nobody has", cluster: "c1", app: types.NamespacedName{Namespace: "argocd", Name: "other"}},
	} {
		works, err := index.Delivering(c.cluster, c.app)
		var got []string
		for _, work := range works {
			got = append(got, work.Name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s: got %v, %v", name, c.reason, got, err)
		}
	}
	if app := (types.NamespacedName{Namespace: "team", Name: "app"}); !index.Several(app) || index.Several(types.NamespacedName{Namespace: "team", Name: "b"}) {
		t.Error("several works of team/app are not told from none of team/b")
	}
}

// Carrying finds works by their AppProject. It finds no foreign works, and no works with an unknown
// AppProject.
func TestCarrying(t *testing.T) {
	work := func(name, project string, labels map[string]string) *Work {
		w, _ := Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "c1", Name: name, Labels: labels, Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: name},
		}}, &Stored{Project: project})
		return w
	}
	label := map[string]string{contract.PullLabel: "true"}
	x := indexed(t, work("a", "wide", label), work("b", "wide", label), work("c", "narrow", label), work("d", "", label), work("e", "wide", nil))
	for project, want := range map[string][]string{"wide": {"a", "b"}, "narrow": {"c"}, "other": nil, "": nil} {
		works, err := x.Carrying(project)
		var got []string
		for _, w := range works {
			got = append(got, w.Name)
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("of project %q: got %v, %v, want %v", project, got, err, want)
		}
	}
}

// Many Applications share a bucket of the index. Of returns the works of one Application on any cluster.
func TestIndex_findsTheWorksOfAnApplication(t *testing.T) {
	const apps, clusters = 3 * buckets, 7
	var works []*Work
	label := map[string]string{contract.PullLabel: "true"}
	for i := range apps {
		w, _ := Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprint("c", i%clusters), Name: fmt.Sprint("app-", i, "-1a2b3"), Labels: label,
			Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: fmt.Sprint("app-", i)},
		}}, nil)
		works = append(works, w)
	}
	stranger, _ := Compact(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "c0", Name: "stranger", Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "app-1"},
	}}, nil)
	x := indexed(t, append(works, stranger)...)
	for i, w := range works {
		app := types.NamespacedName{Namespace: "team", Name: fmt.Sprint("app-", i)}
		if got, err := x.Of(app); err != nil || len(got) != 1 || got[0] != w {
			t.Fatalf("works of %s are %v, %v", app, got, err)
		}
		if x.Several(app) {
			t.Fatalf("%s has one work", app)
		}
	}
	on, err := x.On("c1")
	if want := (apps + clusters - 2) / clusters; err != nil || len(on) != want {
		t.Errorf("%d Applications are on a cluster, want %d; %v", len(on), want, err)
	}
	if all := x.All(); len(all) != apps+1 {
		t.Errorf("%d works in all, want %d", len(all), apps+1)
	}
}
