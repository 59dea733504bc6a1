// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// However often and however large an Application is edited, the memory that the cache
// takes beside its objects stays within a bound in bytes.
func TestEditsLeaveNothingBehind(t *testing.T) {
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
				if _, err := trimApplication(app); err != nil {
					t.Fatal(err)
				}
			}
			if after := heap(); after > before+bound {
				t.Errorf("%s: %d edits of %d bytes leave %d MiB behind", c.reason, c.edits, c.size, (after-before)>>20)
			}
		})
	}
}

// What many objects have in common they have once, also after many others have come
// and gone.
func TestCommonPartsAreShared(t *testing.T) {
	for round := range 3 {
		spec := fmt.Sprintf(`{"source":{"path":"%d"}}`, round)
		one, two := internSpec(json.RawMessage(spec)), internSpec(json.RawMessage(spec))
		if unsafe.SliceData(one) != unsafe.SliceData(two) || string(one) != spec {
			t.Errorf("round %d: the specs %s and %s are kept twice", round, one, two)
		}
		labels := map[string]string{"round": fmt.Sprint(round), "a": "b"}
		m, n := internMap(labels), internMap(map[string]string{"a": "b", "round": fmt.Sprint(round)})
		if reflect.ValueOf(m).Pointer() != reflect.ValueOf(n).Pointer() || m["a"] != "b" || len(m) != 2 {
			t.Errorf("round %d: the labels %v and %v are kept twice", round, m, n)
		}
		for i := range 10000 {
			internSpec(json.RawMessage(fmt.Sprintf(`{"other":"%d-%d%s"}`, round, i, strings.Repeat("x", 500))))
			internMap(map[string]string{"other": fmt.Sprint(round, i)})
		}
	}
	large := strings.Repeat("x", 100<<10)
	if one, two := internSpec(json.RawMessage(large)), internSpec(json.RawMessage(large)); unsafe.SliceData(one) == unsafe.SliceData(two) {
		t.Error("a large spec is kept")
	}
}
