// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// carrying returns a work of ours for team/app with one manifest.
func carrying(cluster, name, manifest string) *workv1.ManifestWork {
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, Name: name, UID: types.UID(cluster + name), Labels: map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "app", DeliveredAnnotation: "forged"},
		},
		Spec: workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}}},
	}
}

const (
	sameName = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"team","name":"app"}}`
	moved    = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"argocd","name":"app"}}`
	renamed  = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"team","name":"other"}}`
	noApp    = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"team","name":"app"}}`
)

func TestDelivered(t *testing.T) {
	named := carrying("c", "named", noApp)
	named.Spec.ManifestConfigs = []workv1.ManifestConfigOption{{ResourceIdentifier: workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: "argocd", Name: "app"}}}
	for name, c := range map[string]struct {
		reason string
		work   *workv1.ManifestWork
		want   types.NamespacedName
	}{
		"same":    {reason: "as on the hub", work: carrying("c", "w", sameName), want: types.NamespacedName{Namespace: "team", Name: "app"}},
		"moved":   {reason: "to another namespace", work: carrying("c", "w", moved), want: types.NamespacedName{Namespace: "argocd", Name: "app"}},
		"options": {reason: "our own specs say it in their options", work: named, want: types.NamespacedName{Namespace: "argocd", Name: "app"}},
		"renamed": {reason: "of another name it is not the hub Application's", work: carrying("c", "w", renamed)},
		"noApp":   {reason: "without an Application it delivers none", work: carrying("c", "w", noApp)},
		"broken":  {reason: "nor when it cannot be read", work: carrying("c", "w", `{`)},
	} {
		packed := Pack(c.work)
		for kind, o := range map[string]metav1.Object{"packed": packed, "unpacked": packed.Unpack()} {
			if got, ok := Delivered(o); got != c.want || ok != (c.want.Name != "") {
				t.Errorf("%s, %s: %s: got %s, %t", name, kind, c.reason, got, ok)
			}
		}
	}
}

func TestDelivering(t *testing.T) {
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	index, err := Over(indexer)
	if err != nil {
		t.Fatal(err)
	}
	for _, work := range []*workv1.ManifestWork{
		carrying("c1", "same", sameName), carrying("c1", "moved", moved), carrying("c1", "renamed", renamed), carrying("c1", "none", noApp),
		carrying("c2", "same", sameName), carrying("c2", "moved", moved),
	} {
		if err := indexer.Add(Pack(work)); err != nil {
			t.Fatal(err)
		}
	}
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
