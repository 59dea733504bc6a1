// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	scheme   = runtime.NewScheme()
	workKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}
)

// clients returns the default client, a slim client, and the last answer to the slim client.
func clients(t *testing.T) (usual, slim client.Client, answer *strings.Builder) {
	t.Helper()
	answer = &strings.Builder{}
	tapped := rest.CopyConfig(config)
	tapped.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			answer.Reset()
			response.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(response.Body, answer), response.Body}
			return response, nil
		})
	})
	usual, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	slim, err = NewClient(tapped, client.Options{Scheme: scheme}, workKind)
	if err != nil {
		t.Fatal(err)
	}
	return usual, slim, answer
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func work(namespace, name, payload string) *workv1.ManifestWork {
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"a": "b"}}}
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + payload + `"}}`),
	}}}
	return w
}

// The slim client writes the same object as the default client. The object then has the API server's
// metadata, although the API server did not return the object.
func TestClient_writesLikeTheDefaultClient(t *testing.T) {
	usual, slim, answer := clients(t)
	ctx := t.Context()
	var works [2]workv1.ManifestWork
	for i, c := range []client.Client{usual, slim} {
		w := work("default", []string{"usual", "slim"}[i], "first")
		if err := c.Create(ctx, w, client.FieldOwner("tester")); err != nil {
			t.Fatal(err)
		}
		if w.UID == "" || w.Generation != 1 || w.ResourceVersion == "" || w.Annotations["a"] != "b" || len(w.Spec.Workload.Manifests) != 1 {
			t.Errorf("after its creation the work is %+v", w)
		}
		before := w.ResourceVersion
		w.Spec.Workload.Manifests = work("", "", "second").Spec.Workload.Manifests
		w.Annotations["a"] = "c"
		if err := c.Update(ctx, w, client.FieldOwner("tester")); err != nil {
			t.Fatal(err)
		}
		if w.Generation != 2 || w.ResourceVersion == before || w.Annotations["a"] != "c" {
			t.Errorf("after its update the work is %+v", w)
		}
		if err := usual.Get(ctx, client.ObjectKeyFromObject(w), &works[i]); err != nil {
			t.Fatal(err)
		}
		if len(works[i].ManagedFields) != 1 || works[i].ManagedFields[0].Manager != "tester" {
			t.Errorf("the work's fields belong to %+v", works[i].ManagedFields)
		}
		works[i].ObjectMeta = metav1.ObjectMeta{Annotations: works[i].Annotations}
	}
	if diff := cmp.Diff(works[0], works[1]); diff != "" {
		t.Errorf("the slim client makes another work (-usual +slim):\n%s", diff)
	}
	if strings.Contains(answer.String(), "ConfigMap") || !strings.Contains(answer.String(), "PartialObjectMetadata") {
		t.Errorf("the API server sent the work back:\n%s", answer)
	}
}

// An error equals the default client's, and does not change the object.
func TestClient_returnsTheErrorsOfTheDefaultClient(t *testing.T) {
	usual, slim, _ := clients(t)
	ctx := t.Context()
	existing := work("default", "there", "first")
	if err := usual.Create(ctx, existing); err != nil {
		t.Fatal(err)
	}
	stale := work("default", "there", "second")
	stale.ResourceVersion = "1"
	creation := func(c client.Client, o client.Object) error { return c.Create(ctx, o) }
	replacement := func(c client.Client, o client.Object) error { return c.Update(ctx, o) }
	for name, test := range map[string]struct {
		why    string
		object *workv1.ManifestWork
		write  func(client.Client, client.Object) error
		reason metav1.StatusReason
	}{
		"there":         {"two cannot have one name", work("default", "there", ""), creation, metav1.StatusReasonAlreadyExists},
		"nowhere":       {"there is no such namespace", work("no-such-namespace", "x", ""), creation, metav1.StatusReasonNotFound},
		"invalid":       {"a name follows rules", work("default", "Not A Name", ""), creation, metav1.StatusReasonInvalid},
		"stale":         {"another client wrote since", stale, replacement, metav1.StatusReasonConflict},
		"not there yet": {"what is not there cannot be replaced", work("default", "absent", ""), replacement, metav1.StatusReasonNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			sent := test.object.DeepCopy()
			got, want := test.write(slim, sent), test.write(usual, test.object.DeepCopy())
			if apierrors.ReasonForError(got) != test.reason || want == nil || got.Error() != want.Error() {
				t.Errorf("%s: got %v, the usual client %v, want %s", test.why, got, want, test.reason)
			}
			if diff := cmp.Diff(test.object, sent); diff != "" {
				t.Errorf("the refused object changed:\n%s", diff)
			}
		})
	}
}

// The slim client writes other kinds and unstructured objects like the default client.
func TestClient_writesOtherKindsLikeTheDefaultClient(t *testing.T) {
	_, slim, answer := clients(t)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}, Data: map[string]string{"a": "b"}}
	untyped := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "untyped"},
		"spec":     map[string]any{"workload": map[string]any{"manifests": []any{}}},
	}}
	untyped.SetGroupVersionKind(workKind)
	for _, o := range []client.Object{config, untyped} {
		if err := slim.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		o.SetLabels(map[string]string{"a": "b"})
		if err := slim.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if o.GetResourceVersion() == "" || strings.Contains(answer.String(), "PartialObjectMetadata") {
			t.Errorf("%T: version %q, answered with\n%s", o, o.GetResourceVersion(), answer)
		}
	}
}
