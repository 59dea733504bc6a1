// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// tenKinds returns the resources of an Application that deploys ten kinds.
func tenKinds() (out []intermediate.Resource) {
	for _, kind := range []string{"ConfigMap", "CronJob", "Deployment", "Ingress", "NetworkPolicy", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"} {
		out = append(out, intermediate.Resource{APIVersion: "example.com/v1", Kind: kind, Namespace: "guestbook", Name: "guestbook-" + kind})
	}
	slices.SortFunc(out, translate.CompareResources)
	return out
}

// The report of an ApplicationSet on 10,000 clusters has every resource. Equal lists are stored once.
func TestReports_storeEqualListsOnce(t *testing.T) {
	const clusters = 10_000
	dir := t.TempDir()
	s := newState(10 * time.Second)
	inline := 0
	for c := range clusters {
		name := fmt.Sprintf("cluster-%05d", c)
		s.clusters[name] = &clusterState{}
		apps := []translate.Application{{Set: setKey, Namespace: "argocd", Name: "guestbook-" + name, Resources: tenKinds()}}
		s.replace(name, s.clusters[name], apps)
		data, err := json.Marshal(apps[0].Resources)
		if err != nil {
			t.Fatal(err)
		}
		inline += len(data)
	}
	store := intermediate.NewStore(dir)
	if err := newReports(store, logr.Discard()).publish(s, map[intermediate.Key]bool{setKey: true}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := store.Read(setKey.Namespace, setKey.Name)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, a := range r.Applications {
		for _, res := range a.Resources {
			kinds[res.Kind]++
		}
	}
	if len(r.Applications) != clusters || len(kinds) != 10 {
		t.Errorf("%d rows, %d of 10 kinds", len(r.Applications), len(kinds))
	}
	for kind, n := range kinds {
		if n != clusters {
			t.Errorf("%s in %d rows", kind, n)
		}
	}
	info, err := os.Stat(dir + "/argocd_guestbook.json")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size()*10 > int64(inline) {
		t.Errorf("the file has %d bytes, the lists alone were %d", info.Size(), inline)
	}
	t.Logf("the file has %d bytes, the lists of all rows have %d", info.Size(), inline)
}

// If several ApplicationSets deploy the same list, each report stores it, so its bytes count for each
// report.
func TestLists_countOnceInEachReport(t *testing.T) {
	s, other := newState(10*time.Second), intermediate.Key{Namespace: "argocd", Name: "other"}
	for _, name := range []string{"c1", "c2"} {
		s.clusters[name] = &clusterState{}
		s.replace(name, s.clusters[name], []translate.Application{
			{Set: setKey, Namespace: "argocd", Name: "guestbook", Resources: tenKinds()},
			{Set: other, Namespace: "argocd", Name: "other", Resources: tenKinds()},
		})
	}
	if want := 2 * translate.ListSize(tenKinds()); s.lists.bytes != want {
		t.Errorf("lists of two reports take %d bytes, want %d", s.lists.bytes, want)
	}
	files := newReports(intermediate.NewStore(t.TempDir()), logr.Discard())
	if err := files.publish(s, map[intermediate.Key]bool{setKey: true, other: true}, nil); err != nil {
		t.Fatal(err)
	}
	if files.total > s.bytes() {
		t.Errorf("the files have %d bytes, %d are known", files.total, s.bytes())
	}
	s.setClusters(nil)
	if s.bytes() != 0 || len(s.lists.kept) != 0 {
		t.Errorf("%d bytes and %d lists of no cluster", s.bytes(), len(s.lists.kept))
	}
}
