// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// sizeOf returns the size of an object as JSON.
func sizeOf(t *testing.T, o any) int {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// swell adds everything to a work that its managed cluster may write.
func swell(work *workv1.ManifestWork) {
	long := strings.Repeat("x", 50<<10)
	condition := metav1.Condition{Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Reason: long, Message: long}
	for i := range 100 {
		key := fmt.Sprintf("example.com/%d", i)
		work.Labels[key], work.Annotations[key] = "true", long
		other := condition
		other.Type = key
		work.Status.Conditions = append(work.Status.Conditions, other)
		for _, r := range []workv1.ManifestResourceMeta{
			{Group: "apps", Resource: "deployments", Namespace: key, Name: DeploymentName},
			{Resource: "secrets", Namespace: long, Name: ClientSecretName},
			{Kind: long, Resource: "configmaps", Name: key},
		} {
			m := workv1.ManifestCondition{ResourceMeta: r, Conditions: []metav1.Condition{condition, other}}
			for _, value := range []string{feedbackCertificate, feedbackDigest, feedbackImage, feedbackBundle, key} {
				for range 10 {
					m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, text(value, strings.Repeat("x", 9000)))
				}
				m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, text(value, strings.Repeat("x", maxImage)))
			}
			work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, m)
		}
	}
	for _, key := range []string{OwnerAnnotation, CertificatesAnnotation, ClientCertificateAnnotation} {
		work.Annotations[key] = long
	}
	work.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
	work.Finalizers = []string{long}
	work.OwnerReferences = []metav1.OwnerReference{{Name: long}}
}

// A managed cluster may write its works. The cache keeps little of them, even if their label and name are
// ours.
func TestTransform_limitsAWork(t *testing.T) {
	work := mustWork(t, wanted(t), "")
	spec := sizeOf(t, work.Spec)
	swell(work)
	if _, err := Transform(work); err != nil {
		t.Fatal(err)
	}
	if kept := sizeOf(t, work); kept > spec+48<<10 {
		t.Errorf("%d bytes are kept, with a spec of %d", kept, spec)
	}
	want := map[string]string{contract.RegisteredByAnnotation: contract.RegisteredBy, ArgoNamespaceAnnotation: "argocd"}
	if diff := cmp.Diff(want, work.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	once := work.DeepCopy()
	if _, err := Transform(work); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, work); diff != "" {
		t.Errorf("the second time (-once +twice):\n%s", diff)
	}
}

// The largest spec of ours is kept. A larger one, by bytes or by number, is dropped as a whole.
func TestTransform_dropsASpecThatIsNotOurs(t *testing.T) {
	w := wanted(t)
	for i := range maxManifests {
		data := strings.Repeat("x", MaxManifestBytes/maxManifests-200)
		w.Manifests = append(w.Manifests, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"argocd","name":"c%d"},"data":{"x":%q}}`, i, data))
	}
	largest := mustWork(t, w, "").Spec
	manifest := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{}`)}}
	rule := workv1.OrphaningRule{Name: strings.Repeat("x", maxSpec)}
	for name, c := range map[string]struct {
		change func(*workv1.ManifestWorkSpec)
		kept   bool
	}{
		"the largest of ours": {func(*workv1.ManifestWorkSpec) {}, true},
		"a large manifest": {func(s *workv1.ManifestWorkSpec) {
			s.Workload.Manifests[0].Raw = []byte(`"` + strings.Repeat("x", maxSpec) + `"`)
		}, false},
		"many manifests": {func(s *workv1.ManifestWorkSpec) {
			for range maxSpecManifests {
				s.Workload.Manifests = append(s.Workload.Manifests, manifest)
			}
		}, false},
		"many settings": {func(s *workv1.ManifestWorkSpec) {
			s.ManifestConfigs = append(s.ManifestConfigs, make([]workv1.ManifestConfigOption, maxSpecManifests)...)
		}, false},
		"a large rule": {func(s *workv1.ManifestWorkSpec) {
			s.DeleteOption.SelectivelyOrphan.OrphaningRules = []workv1.OrphaningRule{rule}
		}, false},
	} {
		work := &workv1.ManifestWork{Spec: *largest.DeepCopy()}
		c.change(&work.Spec)
		want := workv1.ManifestWorkSpec{}
		if c.kept {
			want = *work.Spec.DeepCopy()
		}
		if _, err := Transform(work); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, work.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", name, diff)
		}
	}
}

// A managed cluster may write the status of its add-on, and nothing else of it.
func TestTransform_limitsTheStatusOfAnAddOn(t *testing.T) {
	w := wanted(t)
	a, long := AddOn(w), strings.Repeat("x", 50<<10)
	a.Annotations["example.com/note"] = "kept"
	a.Status = addonv1alpha1.ManagedClusterAddOnStatus{Namespace: w.AgentNamespace, Registrations: Registrations(w), HealthCheck: HealthCheck()}
	want := a.DeepCopy()
	a.Status.AddOnMeta.Description = long
	a.Status.RelatedObjects = make([]addonv1alpha1.ObjectReference, 1000)
	if _, err := Transform(a); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("without the rest (-want +got):\n%s", diff)
	}
	for range 100 {
		a.Status.Conditions = append(a.Status.Conditions, metav1.Condition{Type: conditionRotated, Reason: long, Message: long})
		a.Status.Registrations = append(a.Status.Registrations, a.Status.Registrations[0])
	}
	a.Status.Namespace, a.Status.HealthCheck.Mode = long, addonv1alpha1.HealthCheckMode(long)
	if _, err := Transform(a); err != nil {
		t.Fatal(err)
	}
	if kept := sizeOf(t, a.Status); kept > 2<<10 || len(a.Status.Registrations) > 0 || len(a.Status.Conditions) != 1 {
		t.Errorf("%d bytes of status are kept: %d registrations, %d conditions", kept, len(a.Status.Registrations), len(a.Status.Conditions))
	}
}
