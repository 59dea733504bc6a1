// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// RHACM's disabled controllers leave ManifestWorks of the usual name with read-only manifests. propagation
// changes them into works that deliver.
func TestAdoption_takesOverReadOnlyWorks(t *testing.T) {
	p := newPlace(t)
	app := p.deploy("switched-off")
	raw := fmt.Appendf(nil, `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":%q,"name":%q},"spec":{}}`, app.Namespace, app.Name)
	work := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.cluster, Name: contract.WorkName(app.Name, string(app.UID)),
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: app.Namespace, contract.HubNameAnnotation: app.Name},
		},
		Spec: workv1.ManifestWorkSpec{
			Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}},
			ManifestConfigs: []workv1.ManifestConfigOption{{
				ResourceIdentifier: workv1.ResourceIdentifier{Group: "argoproj.io", Resource: "applications", Namespace: app.Namespace, Name: app.Name},
				UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly},
			}},
		},
	}
	if err := hub.client.Create(context.Background(), work); err != nil {
		t.Fatal(err)
	}
	start(t)
	testkit.Eventually(t, "the work to deliver", func() error {
		own := works(t, app)
		if len(own) != 1 || own[0].UID != work.UID {
			return fmt.Errorf("there are %d works", len(own))
		}
		for _, c := range own[0].Spec.ManifestConfigs {
			if c.UpdateStrategy == nil || c.UpdateStrategy.Type == workv1.UpdateStrategyTypeReadOnly {
				return errors.New("the agent only reads a manifest")
			}
		}
		return carries(t, app, `"path":"guestbook"`)
	})
}
