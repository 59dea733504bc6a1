// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

func resources(n int) ResourceList {
	var refs []v1alpha1.ResourceRef
	for i := range n {
		refs = append(refs, v1alpha1.ResourceRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "guestbook", Name: fmt.Sprintf("ui-%05d", i)})
	}
	return Resources(refs)
}

func TestResources(t *testing.T) {
	ref := func(kind, namespace, name string) v1alpha1.ResourceRef {
		return v1alpha1.ResourceRef{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name}
	}
	database := v1alpha1.ResourceRef{APIVersion: "postgresql.cnpg.io/v1", Kind: "Cluster", Namespace: "b", Name: "x"}
	got := Resources([]v1alpha1.ResourceRef{
		ref("Service", "b", "x"), ref("Pod", "b", "x"), ref("ReplicaSet", "b", "x"), ref("EndpointSlice", "b", "x"),
		ref("Application", "b", "x"), ref("ApplicationSet", "b", "x"), database,
		{APIVersion: "internal.open-cluster-management.io/v1beta1", Kind: "Cluster", Name: "x"},
		ref("ConfigMap", "b", "y"), ref("Service", "a", "x"), ref("Service", "b", "x"), ref("ConfigMap", "b", "x"),
	})
	want := []v1alpha1.ResourceRef{database, ref("ConfigMap", "b", "x"), ref("ConfigMap", "b", "y"), ref("Service", "a", "x"), ref("Service", "b", "x")}
	if diff := cmp.Diff(want, got.Refs()); diff != "" {
		t.Errorf("want them sorted, once each, and without the kinds that are never listed:\n%s", diff)
	}
	if len(Resources(nil).Refs()) != 0 {
		t.Error("nothing gives something")
	}
}

func TestOnly(t *testing.T) {
	all := resources(5)
	for name, test := range map[string]struct {
		why  string
		keep func(int) bool
		want []v1alpha1.ResourceRef
	}{
		"all":  {"nothing to do", func(int) bool { return true }, all.Refs()},
		"some": {"in the same order", func(i int) bool { return i%2 == 0 }, []v1alpha1.ResourceRef{all.Refs()[0], all.Refs()[2], all.Refs()[4]}},
		"none": {"nothing is left", func(int) bool { return false }, nil},
	} {
		got, want := all.Only(test.keep), Resources(slices.Clone(test.want))
		if !slices.Equal(got.Refs(), want.Refs()) || got.bytes != want.bytes {
			t.Errorf("%s: %s: %v of %d bytes, want %v of %d", name, test.why, got.Refs(), got.bytes, want.Refs(), want.bytes)
		}
	}
	if i, found := all.Find(all.Refs()[3]); i != 3 || !found {
		t.Errorf("the fourth resource is found at %d, %t", i, found)
	}
	if _, found := all.Find(v1alpha1.ResourceRef{Kind: "Deployment"}); found {
		t.Error("a resource is found that is not there")
	}
}
