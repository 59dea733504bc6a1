// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var config *rest.Config

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) error {
		config = c
		return errors.Join(corev1.AddToScheme(scheme), workv1.Install(scheme))
	})
}

var (
	works    = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	selected = labels.SelectorFromSet(labels.Set{"example.com/selected": "true"})
)

func source(t *testing.T, config *rest.Config) Source {
	t.Helper()
	s, err := NewSource(config, works, (*slimWork).work, client.MatchingLabelsSelector{Selector: selected})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A slim cache has the same objects as client-go's cache, without the skipped fields, from the first list
// through every change.
func TestInformers_cacheTheSameAsClientGo(t *testing.T) {
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(direct.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cluster1"}}))
	work := func(name, chosen string) *workv1.ManifestWork {
		return &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "cluster1", Name: name, Labels: map[string]string{"example.com/selected": chosen},
			Annotations: map[string]string{"a": "b"}, Finalizers: []string{"example.com/f"},
		}}
	}
	must(direct.Create(ctx, work("before", "true")))
	must(direct.Create(ctx, work("stranger", "false")))

	usual, slim := start(t, scheme, nil), start(t, scheme, Informers(source(t, config)))
	same := func(when string, want ...string) {
		t.Helper()
		testkit.Eventually(t, when, func() error {
			expected, got := contents(t, usual), contents(t, slim)
			if len(expected) != len(want) {
				return fmt.Errorf("client-go's cache has %d works, want %d", len(expected), len(want))
			}
			for i, name := range want {
				if expected[i].Name != name {
					return fmt.Errorf("client-go's cache has %s, want %s", expected[i].Name, name)
				}
				expected[i].ManagedFields, expected[i].Spec, expected[i].TypeMeta = nil, workv1.ManifestWorkSpec{}, metav1.TypeMeta{}
			}
			if diff := cmp.Diff(expected, got); diff != "" {
				return fmt.Errorf("client-go's cache and the slim one differ (-client-go +slim):\n%s", diff)
			}
			return nil
		})
	}
	same("the first list", "before")

	after := work("later", "true")
	must(direct.Create(ctx, after))
	same("a new work", "before", "later")

	after.Status.Conditions = []metav1.Condition{{Type: "Applied", Status: "True", Reason: "R", LastTransitionTime: metav1.Now()}}
	must(direct.Status().Update(ctx, after))
	testkit.Eventually(t, "the status", func() error {
		for _, w := range contents(t, slim) {
			if w.Name == after.Name && w.ResourceVersion == after.ResourceVersion && len(w.Status.Conditions) == 1 {
				return nil
			}
		}
		return fmt.Errorf("not there")
	})
	same("a status", "before", "later")

	after.Labels["example.com/selected"] = "false"
	must(direct.Update(ctx, after))
	same("a work that is not selected any more", "before")

	must(direct.Patch(ctx, work("before", "true"), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	must(direct.Delete(ctx, work("before", "true")))
	same("a deletion")
}

func start(t *testing.T, scheme *runtime.Scheme, informers Constructor) cache.Cache {
	t.Helper()
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, NewInformer: informers,
		ByObject: map[client.Object]cache.ByObject{&workv1.ManifestWork{}: {Label: selected}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, c, &workv1.ManifestWork{})
	return c
}

// run runs a cache with the objects of a kind until the test ends, and returns when it has them.
func run(t *testing.T, c cache.Cache, kind client.Object) {
	t.Helper()
	if _, err := c.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("cache: %v", err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache did not sync")
	}
}

// contents returns the cached works by name.
func contents(t *testing.T, c cache.Cache) []workv1.ManifestWork {
	t.Helper()
	var list workv1.ManifestWorkList
	if err := c.List(t.Context(), &list, client.InNamespace("cluster1")); err != nil {
		t.Fatal(err)
	}
	byName := map[string]workv1.ManifestWork{}
	for _, w := range list.Items {
		byName[w.Name] = w
	}
	var sorted []workv1.ManifestWork
	for _, name := range []string{"before", "later", "stranger"} {
		if w, exists := byName[name]; exists {
			w.TypeMeta = metav1.TypeMeta{}
			sorted = append(sorted, w)
		}
	}
	return sorted
}

// If the API server refuses a watch, the Reflector gets the API server's own error.
func TestWatch_returnsTheRefusal(t *testing.T) {
	unauthorized := rest.CopyConfig(config)
	unauthorized.Impersonate.UserName = "nobody"
	if w, err := source(t, unauthorized).watch(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, %v; want a refusal", w, err)
	}
}

// A watch from an expired version ends with the API server's error.
func TestWatch_reportsAnExpiredVersion(t *testing.T) {
	w, err := source(t, config).watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err == nil {
		e := <-w.ResultChan()
		w.Stop()
		if e.Type != watch.Error {
			t.Fatalf("got %s, want an error", e.Type)
		}
		err = apierrors.FromObject(e.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("got %v, want that the version has expired", err)
	}
}
