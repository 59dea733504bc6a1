// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

func app(cluster, name, set string, edits ...func(*search.Item)) search.Item {
	it := search.Item{
		UID: cluster + "/" + name, Cluster: cluster, Kind: "Application", APIGroup: "argoproj.io", APIVersion: "v1alpha1",
		Namespace: "argocd", Name: name, Hosting: "ApplicationSet/argocd/" + set, Health: "Healthy", Sync: "Synced",
	}
	for _, e := range edits {
		e(&it)
	}
	return it
}

func object(cluster, group, version, kind, namespace, name string, owners ...string) search.Item {
	return search.Item{UID: cluster + "/" + kind + name, Cluster: cluster, Kind: kind, APIGroup: group, APIVersion: version, Namespace: namespace, Name: name, RelatedUIDs: owners}
}

func node(name string, owners ...string) search.Item {
	return search.Item{UID: "cluster__" + name, Kind: "Cluster", Name: name, Cluster: name, RelatedUIDs: owners}
}

func condition(t, message string) func(*search.Item) {
	return func(it *search.Item) {
		it.Conditions = append(it.Conditions, search.Condition{Type: t, Message: message})
	}
}

func describe(apps map[string][]Application) string {
	var b strings.Builder
	for _, cluster := range []string{"c1", "c2", "local-cluster"} {
		for _, a := range apps[cluster] {
			fmt.Fprintf(&b, "%s %s %s/%s", cluster, a.Set, a.Namespace, a.Name)
			for _, r := range a.Resources {
				fmt.Fprintf(&b, " %s:%s:%s/%s", r.APIVersion, r.Kind, r.Namespace, r.Name)
			}
			for _, c := range a.Conditions {
				fmt.Fprintf(&b, " %s=%q", c.Type, c.Message)
			}
			if a.LacksResources {
				b.WriteString(" bare")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestClusters(t *testing.T) {
	const missing = `[{"group":"apps","version":"v1","kind":"Deployment","namespace":"n","name":"d","health":{"status":"Missing"}},` +
		`{"group":"rbac.authorization.k8s.io","version":"v1","kind":"ClusterRole","name":"r"},{"version":"v1","kind":"ConfigMap","namespace":"n","name":"m"},{"version":"v1","kind":"Pod","namespace":"n","name":"p"},{"version":"v1","kind":"Secret"}]`
	tests := []struct {
		name, reason string
		result       search.Result
		want         string
		odd          int
	}{
		{
			"resources", "group and version make the apiVersion; the core group has none",
			search.Result{Items: []search.Item{app("c1", "a", "s")}, Related: []search.Item{
				object("c1", "", "v1", "Service", "n", "x", "c1/a"), object("c1", "apps", "v1", "Deployment", "n", "x", "c1/a"), object("c1", "", "v1", "Namespace", "", "n", "c1/a"), node("c1", "c1/a"),
			}},
			"c1 argocd/s argocd/a apps/v1:Deployment:n/x v1:Namespace:/n v1:Service:n/x\n", 0,
		},
		{
			"shared", "a shared object belongs to every Application that lists it, not to the first",
			search.Result{Items: []search.Item{app("c1", "a", "s"), app("c1", "b", "other")}, Related: []search.Item{object("c1", "", "v1", "ConfigMap", "n", "x", "c1/a", "c1/b"), node("c1", "c1/a", "c1/b")}},
			"c1 argocd/s argocd/a v1:ConfigMap:n/x\nc1 argocd/other argocd/b v1:ConfigMap:n/x\n", 0,
		},
		{
			"two of one set", "two Applications of one ApplicationSet on one cluster stay two",
			search.Result{Items: []search.Item{app("c1", "b", "s"), app("c1", "a", "s")}, Related: []search.Item{object("c1", "", "v1", "ConfigMap", "n", "x", "c1/a"), object("c1", "", "v1", "ConfigMap", "n", "y", "c1/b")}},
			"c1 argocd/s argocd/a v1:ConfigMap:n/x\nc1 argocd/s argocd/b v1:ConfigMap:n/y\n", 0,
		},
		{
			"unlisted", "what a controller makes, and what has an owner, is not listed",
			search.Result{Items: []search.Item{app("c1", "a", "s")}, Related: []search.Item{
				object("c1", "", "v1", "Pod", "n", "x", "c1/a"), object("c1", "apps", "v1", "ReplicaSet", "n", "x", "c1/a"), object("c1", "discovery.k8s.io", "v1", "EndpointSlice", "n", "x", "c1/a"),
				object("c1", "argoproj.io", "v1alpha1", "Application", "n", "x", "c1/a"), object("c1", "argoproj.io", "v1alpha1", "ApplicationSet", "n", "x", "c1/a"),
				{UID: "c1/o", Cluster: "c1", Kind: "ConfigMap", APIVersion: "v1", Namespace: "n", Name: "owned", OwnerUID: "c1/x", RelatedUIDs: []string{"c1/a"}}, node("c1", "c1/a"),
			}},
			"c1 argocd/s argocd/a\n", 0,
		},
		{
			"missing", "missing resources have Argo CD's key names, and the same rules",
			search.Result{Items: []search.Item{app("c1", "a", "s", func(it *search.Item) { it.Missing = missing })}, Related: []search.Item{object("c1", "", "v1", "ConfigMap", "n", "m", "c1/a")}},
			"c1 argocd/s argocd/a apps/v1:Deployment:n/d rbac.authorization.k8s.io/v1:ClusterRole:/r v1:ConfigMap:n/m\n", 0,
		},
		{
			"bad missing", "an odd text is named, the rest stays",
			search.Result{Items: []search.Item{app("c1", "a", "s", func(it *search.Item) { it.Missing = "{" })}, Related: []search.Item{object("c1", "", "v1", "ConfigMap", "n", "m", "c1/a")}},
			"c1 argocd/s argocd/a v1:ConfigMap:n/m\n", 1,
		},
		{
			"bare", "nothing related, and nothing says why",
			search.Result{Items: []search.Item{app("c1", "a", "s"), app("c1", "b", "s", func(it *search.Item) { it.Health = "Missing" }), app("c1", "c", "s", func(it *search.Item) { it.Sync = "Unknown" }), app("c2", "d", "s", condition("SyncError", "no"))}},
			"c1 argocd/s argocd/a bare\nc1 argocd/s argocd/b\nc1 argocd/s argocd/c\nc2 argocd/s argocd/d SyncError=\"no\"\n", 0,
		},
		{
			"not pulled", "stand-alone Applications and the hub's own are not ours",
			search.Result{Items: []search.Item{app("c1", "a", "s", func(it *search.Item) { it.Hosting = "" }), app("local-cluster", "b", "s", func(it *search.Item) { it.OnHub = true })}},
			"", 0,
		},
		{
			"odd", "a row that names no ApplicationSet, or not itself",
			search.Result{Items: []search.Item{app("c1", "a", "s", func(it *search.Item) { it.Hosting = "ApplicationSet/x" }), app("c1", "", "s"), app("c1", "b", "s", func(it *search.Item) { it.Hosting = "Subscription/x/y" })}},
			"", 3,
		},
		{
			"twice", "a row that comes twice counts once",
			search.Result{Items: []search.Item{app("c1", "a", "s"), app("c1", "a", "s")}, Related: []search.Item{object("c1", "", "v1", "ConfigMap", "n", "x", "c1/a"), object("c1", "", "v1", "ConfigMap", "n", "x", "c1/a")}},
			"c1 argocd/s argocd/a v1:ConfigMap:n/x\n", 0,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for range 5 {
				got, odd := Clusters(&tc.result)
				if describe(got) != tc.want || len(odd) != tc.odd {
					t.Fatalf("%s:\n got %sodd %v\nwant %s", tc.reason, describe(got), odd, tc.want)
				}
				shuffle(tc.result.Items)
				shuffle(tc.result.Related)
			}
		})
	}
}

func shuffle(items []search.Item) {
	rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
}

func TestConditions(t *testing.T) {
	const reason = "one or more objects failed to apply, reason: Deployment.apps \"payments\" is invalid: spec.replicas: Invalid value: -1"
	const wrapped = "Failed sync attempt to 1a2b3c: " + reason + " (retried 5 times)."
	long := reason + strings.Repeat(" and on", 100)
	tests := map[string]struct {
		reason string
		edits  []func(*search.Item)
		want   string
	}{
		"sorted":            {"by type, whatever the order", []func(*search.Item){condition("SyncError", "b"), condition("ComparisonError", "a")}, "ComparisonError SyncError"},
		"only trouble":      {"neither error nor warning", []func(*search.Item){condition("Progressing", "x"), condition("SharedResourceWarning", "y")}, "SharedResourceWarning"},
		"operation alone":   {"nothing else says it", []func(*search.Item){condition("OperationError", reason)}, "OperationError"},
		"operation again":   {"the sync error carries it", []func(*search.Item){condition("OperationError", reason), condition("SyncError", wrapped)}, "SyncError"},
		"operation retried": {"both are wrapped", []func(*search.Item){condition("OperationError", reason+" (retried 5 times)."), condition("SyncError", wrapped)}, "SyncError"},
		"operation cut":     {"both are cut at 512 runes, the wrapped one earlier in the reason", []func(*search.Item){condition("OperationError", long[:512]+"..."), condition("SyncError", ("Failed sync attempt to 1a2b3c: " + long)[:512]+"...")}, "SyncError"},
		"operation other":   {"another reason is news", []func(*search.Item){condition("OperationError", "one or more objects failed to apply, reason: quota"), condition("SyncError", wrapped)}, "OperationError SyncError"},
		"operation empty":   {"a reason of nothing repeats nothing", []func(*search.Item){condition("OperationError", "reason: ..."), condition("SyncError", wrapped)}, "OperationError SyncError"},
		"same type twice":   {"once is enough", []func(*search.Item){condition("SyncError", "a"), condition("SyncError", "a")}, "SyncError"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			it := app("c1", "a", "s", tc.edits...)
			var types []string
			for _, c := range conditions(it.Conditions) {
				types = append(types, c.Type)
			}
			if got := strings.Join(types, " "); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestReports(t *testing.T) {
	since := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	s, other, none := intermediate.Key{Namespace: "argocd", Name: "s"}, intermediate.Key{Namespace: "argocd", Name: "other"}, intermediate.Key{Namespace: "argocd", Name: "none"}
	clusters := map[string]Cluster{
		"c2": {StaleSince: &since, Applications: []Application{{Set: s, Namespace: "n", Name: "a", Resources: []intermediate.Resource{{APIVersion: "v1", Kind: "Secret", Name: "x"}}}}},
		"c1": {Applications: []Application{{Set: s, Namespace: "n", Name: "a"}, {Set: s, Namespace: "n", Name: "b"}, {Set: other, Namespace: "n", Name: "o"}}},
	}
	got := Reports([]intermediate.Key{s, other, none}, each(clusters))
	var text []string
	for _, r := range got {
		data, err := intermediate.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, string(data))
	}
	want := []string{
		`{"schemaVersion":2,"namespace":"argocd","name":"s","lists":[[{"apiVersion":"v1","kind":"Secret","name":"x"}]],"applications":[{"cluster":"c1","namespace":"n","name":"a"},{"cluster":"c1","namespace":"n","name":"b"},` +
			`{"cluster":"c2","namespace":"n","name":"a","staleSince":"2026-11-20T10:00:00Z","resources":0}]}`,
		`{"schemaVersion":2,"namespace":"argocd","name":"other","applications":[{"cluster":"c1","namespace":"n","name":"o"}]}`,
		`{"schemaVersion":2,"namespace":"argocd","name":"none","applications":[]}`,
	}
	if !slices.Equal(text, want) {
		t.Errorf("got %s\nwant %s", text, want)
	}

	restored := map[string]Cluster{}
	for _, r := range got {
		Restore(r, restored)
	}
	for name, want := range clusters {
		want.Applications = slices.SortedFunc(slices.Values(want.Applications), func(a, b Application) int { return a.Compare(&b) })
		if !reflect.DeepEqual(restored[name], want) {
			t.Errorf("restored %s as %+v, want %+v", name, restored[name], want)
		}
	}
}

func BenchmarkClusters(b *testing.B) {
	var r search.Result
	for c := range 50 {
		name := fmt.Sprintf("c%d", c)
		for a := range 10 {
			it := app(name, fmt.Sprintf("app-%d", a), fmt.Sprintf("s%d", a))
			r.Items = append(r.Items, it)
			for o := range 10 {
				r.Related = append(r.Related, object(name, "", "v1", "ConfigMap", "n", fmt.Sprintf("o-%d-%d", a, o), it.UID))
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if apps, _ := Clusters(&r); len(apps) != 50 {
			b.Fatal(len(apps))
		}
	}
}

func BenchmarkReports(b *testing.B) {
	clusters := map[string]Cluster{}
	for c := range 500 {
		var apps []Application
		for a := range 10 {
			apps = append(apps, Application{Set: intermediate.Key{Namespace: "argocd", Name: fmt.Sprintf("s%d", a)}, Namespace: "argocd", Name: fmt.Sprintf("app-%d", a)})
		}
		clusters[fmt.Sprintf("c%d", c)] = Cluster{Applications: apps}
	}
	b.ReportAllocs()
	for b.Loop() {
		if r := Reports([]intermediate.Key{{Namespace: "argocd", Name: "s3"}}, each(clusters)); len(r[0].Applications) != 500 {
			b.Fatal(len(r[0].Applications))
		}
	}
}

// A collector may relate its objects to any UID. Objects count only for Applications on their own cluster.
func TestClusters_objectsOfAnotherClusterDoNotCount(t *testing.T) {
	victim, own := app("c1", "a", "s"), app("evil", "b", "s")
	foreign := object("evil", "", "v1", "Secret", "n", "made-up", victim.UID, own.UID)
	forged := object("evil", "", "v1", "Secret", "n", "forged", own.UID)
	forged.UID = "c1/forged"
	r := search.Result{Items: []search.Item{victim, own}, Related: []search.Item{
		object("c1", "", "v1", "ConfigMap", "n", "real", victim.UID), foreign, forged, node("c1", victim.UID), node("evil", own.UID),
	}}
	apps, odd := Clusters(&r)
	if len(odd) != 0 || len(apps["c1"]) != 1 || len(apps["evil"]) != 1 {
		t.Fatalf("%+v, odd %v", apps, odd)
	}
	if got := apps["c1"][0].Resources; len(got) != 1 || got[0].Name != "real" {
		t.Errorf("the Application on c1 has %v", got)
	}
	if got := apps["evil"][0].Resources; len(got) != 1 || got[0].Name != "made-up" {
		t.Errorf("the Application on evil has %v", got)
	}
}
