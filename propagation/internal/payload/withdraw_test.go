// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A work that is told afterwards what becomes of what it delivers is the one that is
// delivered so from the beginning.
func TestOnDelete(t *testing.T) {
	for _, shared := range []bool{true, false} {
		inputs := func(orphan bool) Inputs {
			p := Inputs{Application: adopting("", `{"project":"p"}`), Orphan: orphan, CreateNamespace: shared, ProjectNamespace: "argocd"}
			if shared {
				p.Project = &argocd.AppProject{Spec: json.RawMessage(`{}`)}
			}
			return p
		}
		stays, err := ManifestWork(inputs(true))
		if err != nil {
			t.Fatal(err)
		}
		goes, err := ManifestWork(inputs(false))
		if err != nil {
			t.Fatal(err)
		}
		if !Orphans(stays) || Orphans(goes) || stays.Annotations[contract.OnWithdrawAnnotation] != WithdrawOrphan || goes.Annotations[contract.OnWithdrawAnnotation] != "" {
			t.Errorf("stays: %+v, goes: %+v", stays.Spec.DeleteOption, goes.Spec.DeleteOption)
		}
		changed := goes.DeepCopy()
		if OnDelete(changed, true); !cmp.Equal(changed, stays) {
			t.Errorf("one that is to stay: %s", cmp.Diff(stays, changed))
		}
		if OnDelete(changed, false); !cmp.Equal(changed, goes) {
			t.Errorf("one that is to go again: %s", cmp.Diff(goes, changed))
		}
	}
}

func TestOnDeletePatch(t *testing.T) {
	work, err := ManifestWork(Inputs{Application: adopting("", `{"project":"p"}`)})
	if err != nil {
		t.Fatal(err)
	}
	work.ResourceVersion = "7"
	for _, c := range []struct {
		reason       string
		orphan, bare bool
		want         string
	}{
		{"it says so, for the version that was seen", true, false, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/metadata/annotations/apps.open-cluster-management.io~1on-withdraw","value":"orphan"},{"op":"add","path":"/spec/deleteOption","value":{"propagationPolicy":"Orphan"}}]`},
		{"no word to take away", false, false, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/spec/deleteOption","value":{"propagationPolicy":"Foreground"}}]`},
		{"no annotations yet", true, true, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add"`},
	} {
		stored := work.DeepCopy()
		if c.bare {
			stored.Annotations = nil
		}
		got, err := OnDeletePatch(stored, c.orphan)
		if err != nil || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("%s: got %s, %v", c.reason, got, err)
		}
	}
}
