// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A work that gets afterwards what becomes of what it delivers is the one that is
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
		if stays.Annotations[contract.OnWithdrawAnnotation] != DeletionOrphan || goes.Annotations[contract.OnWithdrawAnnotation] != "" {
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

// What the last version of a work says decides what its end does: finalizers as the hub has
// them, everything stays, or an orphan that does not sync any more.
func TestEndingOf(t *testing.T) {
	const automated = `{"destination":{"server":"https://kubernetes.default.svc"},"project":"p","syncPolicy":{"automated":{"prune":true}}}`
	cascade := []string{argocd.ResourcesFinalizer}
	for name, c := range map[string]struct {
		reason     string
		finalizers []string // in the stored work
		orphan     bool
		request    bool
		ending     Ending
		want       string // of the delivered Application in what is written, "" for no write
	}{
		"as it is":             {"nothing is written for an end that the work says already", cascade, false, false, Ending{Finalizers: cascade}, ""},
		"without cascade":      {"a finalizer that the hub has taken off is taken off", cascade, false, false, Ending{}, `"metadata":{"annotations":{"apps.open-cluster-management.io/request":"end-without-cascade"},"name":"shop"`},
		"without, as before":   {"a former manager may have set one: the cluster is to report", nil, false, false, Ending{}, `request":"end-without-cascade"`},
		"with cascade":         {"one that was set a moment before the deletion is delivered", nil, false, false, Ending{Finalizers: cascade}, `"finalizers":["` + argocd.ResourcesFinalizer + `"]`},
		"orphan":               {"an orphan keeps its finalizers: nothing is deleted", cascade, false, false, Ending{Orphan: true}, `"finalizers":["` + argocd.ResourcesFinalizer + `"]`},
		"orphan already":       {"no second write", cascade, true, false, Ending{Orphan: true}, ""},
		"from orphan to prune": {"it prunes again", cascade, true, false, Ending{Finalizers: cascade}, `"finalizers"`},
		"orphan of a tenant whose binding is revoked": {"it runs on and does not follow its git any more", cascade, true, false, Ending{Orphan: true, WithoutAutomation: true}, `"syncPolicy":{}`},
		"orphan after a pause of syncs":               {"what pause took out is back", cascade, true, false, Ending{Orphan: true, Resume: true}, `"syncPolicy":{"automated":{"prune":true}}`},
		"with a request":                              {"an operation is not applied a second time by the last write", cascade, false, true, Ending{}, `request":"end-without-cascade"},"name":"shop"`},
	} {
		t.Run(name, func(t *testing.T) {
			app := adopting("", automated)
			app.Finalizers = c.finalizers
			in := Inputs{Application: app, Orphan: c.orphan}
			if c.request {
				in.Request = request.Request{ID: "operation-1", Operation: json.RawMessage(`{"sync":{}}`), Refresh: "normal"}
			}
			stored, err := ManifestWork(in)
			if err != nil {
				t.Fatal(err)
			}
			if c.ending.Resume {
				if stored.Annotations[contract.PausedAnnotation], err = WithoutAutomation(&stored.Spec); err != nil {
					t.Fatal(err)
				}
			}
			before := stored.DeepCopy()
			spec, same, err := EndingOf(stored, c.ending)
			if err != nil || !cmp.Equal(before, stored) {
				t.Fatalf("%v, and the stored work is changed: %s", err, cmp.Diff(before, stored))
			}
			raw := string(spec.Workload.Manifests[len(spec.Workload.Manifests)-1].Raw)
			if same != (c.want == "") || !strings.Contains(raw, c.want) || !same && strings.Contains(raw, `"operation":`) {
				t.Errorf("%s: nothing to write is %t, %s", c.reason, same, raw)
			}
			after := stored.DeepCopy()
			after.Spec = *spec
			OnDelete(after, c.ending.Orphan)
			if _, again, err := EndingOf(after, c.ending); err != nil || !again {
				t.Errorf("it would be written again and again: %v", err)
			}
		})
	}
}

func TestEndPatch(t *testing.T) {
	stored := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	for _, c := range []struct {
		reason         string
		orphan, marked bool
		want           string
	}{
		{"an orphan is marked, for the version that was seen", true, true, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/metadata/annotations/apps.open-cluster-management.io~1on-withdraw","value":"orphan"},{"op":"replace","path":"/spec"`},
		{"the mark goes with the wish", false, true, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/metadata/annotations/apps.open-cluster-management.io~1on-withdraw"},{"op":"replace","path":"/spec"`},
		{"no mark to take away, and no annotations", false, false, `[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"replace","path":"/spec"`},
	} {
		work := stored.DeepCopy()
		if c.marked {
			work.Annotations = map[string]string{contract.OnWithdrawAnnotation: DeletionOrphan}
		}
		got, err := EndPatch(work, &workv1.ManifestWorkSpec{}, Ending{Orphan: c.orphan})
		if err != nil || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("%s: got %s, %v", c.reason, got, err)
		}
	}
}
