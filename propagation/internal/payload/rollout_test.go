// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

func TestPin(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"a branch":               {`{"source":{"path":"x","targetRevision":"main"}}`, `{"source":{"path":"x","targetRevision":"r1"}}`},
		"no target revision":     {`{"source":{"path":"x"}}`, `{"source":{"path":"x","targetRevision":"r1"}}`},
		"nulls and others stay":  {`{"project":"p","source":{"helm":{"values":null},"new":1}}`, `{"project":"p","source":{"helm":{"values":null},"new":1,"targetRevision":"r1"}}`},
		"no source":              {`{"project":"p"}`, ""},
		"too many sources":       {`{"sources":[{"path":"x"},{"ref":"y"}]}`, ""},
		"a source that is none":  {`{"source":"x"}`, ""},
		"sources that are none":  {`{"sources":"x"}`, ""},
		"an empty list and one":  {`{"source":{"path":"x"},"sources":[]}`, `{"source":{"path":"x","targetRevision":"r1"},"sources":[]}`},
		"one source in the list": {`{"sources":[{"path":"x"}]}`, `{"sources":[{"path":"x","targetRevision":"r1"}]}`},
	} {
		got, err := Pin(json.RawMessage(c.spec), []string{"r1"})
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
	got, err := Pin(json.RawMessage(`{"sources":[{"path":"x"},{"ref":"y","targetRevision":"main"}]}`), []string{"r1", "1.2.3"})
	if err != nil || string(got) != `{"sources":[{"path":"x","targetRevision":"r1"},{"ref":"y","targetRevision":"1.2.3"}]}` {
		t.Errorf("several sources: %s, %v", got, err)
	}
}

// What a work carried is noted before it changes, once for each promoted version, and comes
// back as it was; the request, the identity and what only the hub reads are the present ones.
func TestSnapshot(t *testing.T) {
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", Labels: map[string]string{contract.PullLabel: "true", "stage": "old"},
			Annotations: map[string]string{contract.ClusterAnnotation: "c1", "note": "old"}},
		Spec: json.RawMessage(`{"project":"default","source":{"path":"old"},"destination":{"namespace":"x"}}`),
	}
	stored, err := ManifestWork(Inputs{Application: app, Rollout: &rollout.Carried{Content: "old", Revisions: []string{"r1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if value := stored.Annotations[contract.RolloutAnnotation]; value != "old@r1" {
		t.Errorf("the work says %q", value)
	}
	note, err := Snapshot(stored, "a/3")
	if err != nil || !strings.Contains(note, `"path":"old"`) {
		t.Fatalf("noted is %s, %v", note, err)
	}
	changed := app.DeepCopy()
	changed.Spec = json.RawMessage(`{"project":"default","source":{"path":"new"},"destination":{"namespace":"x"}}`)
	changed.Labels, changed.Annotations = map[string]string{contract.PullLabel: "true"}, map[string]string{contract.ClusterAnnotation: "c1", contract.PausedAnnotation: "delivery", "new": "yes"}
	given, err := ManifestWork(Inputs{Application: changed, Rollout: &rollout.Carried{Content: "new"}, Snapshot: note})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Snapshot(given, "a/3"); err != nil || again != "" {
		t.Errorf("noted again: %s, %v", again, err)
	}
	was, content := Promoted(changed, given, "a/3", false)
	if was == nil || content != "old" || !strings.Contains(string(was.Spec), `"path":"old"`) || was.Labels["stage"] != "old" || was.Annotations["note"] != "old" ||
		was.Annotations["new"] != "" || was.Annotations[contract.PausedAnnotation] != "delivery" || was.Labels[contract.PullLabel] != "true" {
		t.Errorf("comes back as %+v, %s", was, content)
	}
	for _, version := range []string{"a/4", "b/3"} {
		if was, _ := Promoted(changed, given, version, false); was != nil {
			t.Errorf("of version %s comes back %+v", version, was)
		}
	}
	app.Spec = json.RawMessage(`{"project":"default","source":{"path":"` + strings.Repeat("x", maxSnapshot) + `"},"destination":{}}`)
	if stored, err = ManifestWork(Inputs{Application: app, Rollout: &rollout.Carried{Content: "big"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Snapshot(stored, "a/3"); err == nil || !strings.Contains(err.Error(), "make it smaller") {
		t.Errorf("one that is too large: %v", err)
	}
}
