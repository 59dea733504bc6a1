// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// However often and however large an Application is edited, the memory of the cache in addition to
// its objects stays within a limit in bytes.
func TestPool_boundsMemoryAfterEdits(t *testing.T) {
	const bound = 16 << 20
	for name, c := range map[string]struct {
		reason string
		edits  int
		edit   func(*argocd.Application, string)
		size   int
	}{
		"large specs":       {reason: "inline values that a CI job rewrites", edits: 1000, size: 1 << 20, edit: func(a *argocd.Application, s string) { a.Spec = json.RawMessage(`{"v":"` + s + `"}`) }},
		"middling specs":    {reason: "just small enough to be shared", edits: 1000, size: 60 << 10, edit: func(a *argocd.Application, s string) { a.Spec = json.RawMessage(`{"v":"` + s + `"}`) }},
		"large annotations": {reason: "an annotation that a CI job rewrites", edits: 2000, size: 250 << 10, edit: func(a *argocd.Application, s string) { a.Annotations = map[string]string{"note": s} }},
		"labels":            {reason: "labels are shared, and not for ever", edits: 20000, size: 2 << 10, edit: func(a *argocd.Application, s string) { a.Labels = map[string]string{"l": s} }},
		"keys":              {reason: "nor are keys", edits: 20000, size: 200, edit: func(a *argocd.Application, s string) { a.Annotations = map[string]string{s: ""} }},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			for i := range c.edits {
				app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "one"}, Spec: json.RawMessage(`{}`)}
				c.edit(app, fmt.Sprint(i)+strings.Repeat("x", c.size))
				if _, err := TrimApplication(testLimit)(app); err != nil {
					t.Fatal(err)
				}
			}
			if after := heap(); after > before+bound {
				t.Errorf("%s: %d edits of %d bytes leave %d MiB behind", c.reason, c.edits, c.size, (after-before)>>20)
			}
		})
	}
}

// Objects share equal parts in memory, even after the cache has stored and dropped many other objects.
func TestPool_sharesCommonParts(t *testing.T) {
	for round := range 3 {
		spec := fmt.Sprintf(`{"source":{"path":"%d"}}`, round)
		one, two := shareSpec(json.RawMessage(spec)), shareSpec(json.RawMessage(spec))
		if unsafe.SliceData(one) != unsafe.SliceData(two) || string(one) != spec {
			t.Errorf("round %d: the specs %s and %s are kept twice", round, one, two)
		}
		labels := map[string]string{"round": fmt.Sprint(round), "a": "b"}
		m, n := shareMap(labels), shareMap(map[string]string{"a": "b", "round": fmt.Sprint(round)})
		if reflect.ValueOf(m).Pointer() != reflect.ValueOf(n).Pointer() || m["a"] != "b" || len(m) != 2 {
			t.Errorf("round %d: the labels %v and %v are kept twice", round, m, n)
		}
		for i := range 10000 {
			shareSpec(json.RawMessage(fmt.Sprintf(`{"other":"%d-%d%s"}`, round, i, strings.Repeat("x", 500))))
			shareMap(map[string]string{"other": fmt.Sprint(round, i)})
		}
	}
	large := strings.Repeat("x", 100<<10)
	if one, two := shareSpec(json.RawMessage(large)), shareSpec(json.RawMessage(large)); unsafe.SliceData(one) == unsafe.SliceData(two) {
		t.Error("a large spec is kept")
	}
}

func TestTrimApplication(t *testing.T) {
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", ManagedFields: make([]metav1.ManagedFieldsEntry, 1),
			Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(`{"project":"default"}`),
	}
	app.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = strings.Repeat("x", 1000)
	app.Status = json.RawMessage(`{"conditions":[{"message":"m","type":"SyncError"}],"health":{"status":"Healthy"},"history":[` + strings.Repeat("1,", 1000) + `1],"resources":[],"summary":{}}`)
	if _, err := TrimApplication(testLimit)(app); err != nil {
		t.Fatal(err)
	}
	if got := string(app.Status); got != `{"conditions":[{"message":"m","type":"SyncError"}],"health":{"status":"Healthy"}}` {
		t.Errorf("the status became %s", got)
	}
	if len(app.Annotations) != 2 || string(app.Spec) != `{"project":"default"}` || app.ManagedFields != nil {
		t.Errorf("it became %v %s", app.Annotations, app.Spec)
	}
}

// Applications of one ApplicationSet share their owners and finalizers. Owners that differ in a flag are not
// shared.
func TestPool_sharesOwners(t *testing.T) {
	yes, no := true, false
	owners := func(controller *bool) []metav1.OwnerReference {
		return append(make([]metav1.OwnerReference, 0, 4), metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set", UID: "u", Controller: controller})
	}
	one, two, other := shareOwners(owners(&yes)), shareOwners(owners(&yes)), shareOwners(owners(&no))
	if unsafe.SliceData(one) != unsafe.SliceData(two) || cap(one) != 1 {
		t.Errorf("equal owners are kept twice, or with room for %d", cap(one))
	}
	if other[0].Controller == nil || *other[0].Controller || !*one[0].Controller {
		t.Errorf("owners that differ in a flag became %v and %v", one, other)
	}
	f, g := shareFinalizers([]string{"a", "b"}), shareFinalizers([]string{"a", "b"})
	if unsafe.SliceData(f) != unsafe.SliceData(g) || len(shareFinalizers([]string{"ab"})) != 1 {
		t.Errorf("finalizers are %v and %v", f, g)
	}
}
