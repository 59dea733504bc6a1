// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// overtaken lets another client write an object just before the object's first patch.
type overtaken struct {
	next http.RoundTripper
	path string
	by   func() error
	done atomic.Bool
	met  atomic.Int64
}

func (o *overtaken) RoundTrip(q *http.Request) (*http.Response, error) {
	first := q.Method == http.MethodPatch && strings.Contains(q.URL.Path, o.path) && o.done.CompareAndSwap(false, true)
	if first {
		if err := o.by(); err != nil {
			return nil, err
		}
	}
	response, err := o.next.RoundTrip(q)
	if err == nil && response.StatusCode == http.StatusConflict {
		o.met.Add(1)
	}
	return response, err
}

// failures returns how many errors the controller has logged.
func failures(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_errors_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "agents" {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	t.Fatal("the controller counts no errors: the test proves nothing")
	return 0
}

// It is not an error if another client writes an add-on or a ManifestWork first. The controller retries
// soon.
func TestConflict_isRetriedWithoutAnError(t *testing.T) {
	for resource, kind := range map[string]schema.GroupVersionKind{
		"managedclusteraddons": {Group: addonv1alpha1.GroupName, Version: "v1alpha1", Kind: "ManagedClusterAddOn"},
		"manifestworks":        {Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"},
	} {
		t.Run(resource, func(t *testing.T) {
			f := newFixture(t)
			c := f.cluster()
			f.Set(f.spec("a", 0, c))
			f.delivered(c, holds("192.0.2.1"))
			f.stop()

			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.AddOnName}} // the ManifestWork has the name of the add-on
			o.SetGroupVersionKind(kind)
			race := &overtaken{path: "/namespaces/" + c + "/" + resource + "/" + o.Name, by: func() error {
				return hub.client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"test.example.com/other":"1"}}}`)))
			}}
			f.wrap = func(next http.RoundTripper) http.RoundTripper { race.next = next; return race }
			f.start()
			before := failures(t)
			f.Set(f.spec("b", 0, c))
			f.delivered(c, func(w *workv1.ManifestWork) error {
				addOn, err := f.addOn(c)
				if err != nil || annotated(addOn) != f.owner("b") || annotated(w) != f.owner("b") {
					return fmt.Errorf("the work is of %s, the add-on of %s, %w", annotated(w), annotated(addOn), err)
				}
				return nil
			})
			if race.met.Load() == 0 {
				t.Error("there was no conflict: the test proves nothing")
			}
			if n := failures(t) - before; n > 0 {
				t.Errorf("%v errors", n)
			}
		})
	}
}
