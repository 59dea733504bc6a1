// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Works of rendered mode are the hub's Argo CD's. Neither the sweep nor the end of a
// pulled Application touches one, whatever labels and annotations it has beside: not
// one that claims to carry an Application, gone or there, nor one that delivers an
// Application of that name.
func TestRenderedWorksAreLeftAlone(t *testing.T) {
	p := newPlace(t)
	app := p.app("payments")
	manifest := fmt.Sprintf(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":%q,"name":"payments"},"spec":{}}`, p.namespace)
	claims := func(name string) map[string]string {
		return map[string]string{contract.HubNamespaceAnnotation: p.namespace, contract.HubNameAnnotation: name, contract.HostingAnnotation: p.namespace + "/set"}
	}
	theirs := map[string]*workv1.ManifestWork{
		"plain":     {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RenderedApplicationAnnotation: "payments"}}},
		"orphan":    {ObjectMeta: metav1.ObjectMeta{Annotations: claims("nobody")}},
		"candidate": {ObjectMeta: metav1.ObjectMeta{Annotations: claims("payments")}},
		"no boolean": {ObjectMeta: metav1.ObjectMeta{
			Annotations: claims("nobody"), Labels: map[string]string{contract.PullLabel: "false", contract.ApplicationSetLabel: "true"},
		}},
		"double": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RenderedApplicationAnnotation: "payments"}},
			Spec:       workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}}},
		},
	}
	for name, w := range theirs {
		w.Namespace, w.Name = p.cluster, "rendered-"+strings.ReplaceAll(name, " ", "-")
		metav1.SetMetaDataLabel(&w.ObjectMeta, contract.RenderedLabel, "true")
		p.create(w)
	}
	running := start(t, func(o *Options) { o.sweepInterval = 10 * time.Millisecond })
	p.create(app)
	own := func() (names []string) {
		for _, w := range works(t, app) {
			if w.Labels[contract.RenderedLabel] == "" {
				names = append(names, w.Name)
			}
		}
		return names
	}
	testkit.Eventually(t, "the delivery", func() error {
		if n := len(own()); n != 1 {
			return fmt.Errorf("%d works, conditions %v", n, said(t, app))
		}
		return nil
	})
	remove(t, app)
	testkit.Eventually(t, "the withdrawal", func() error {
		if left := own(); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
	// A second delivery from first to last: by then the sweep has run many times.
	second := p.deploy("second")
	delivered(t, second, p.cluster)
	remove(t, second)
	withdrawn(t, second)

	for _, request := range running.requests.in(p.cluster) {
		if strings.Contains(request, "/rendered-") {
			t.Errorf("propagation sent %s", request)
		}
	}
	for name, before := range theirs {
		after := &workv1.ManifestWork{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(before), after); err != nil {
			t.Fatal(err)
		}
		if after.ResourceVersion != before.ResourceVersion || after.DeletionTimestamp != nil {
			t.Errorf("%s: the work of rendered mode was changed: %+v", name, after.ObjectMeta)
		}
	}
}
