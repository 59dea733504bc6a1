// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// cached returns a work in the form of the cache.
func cached(work *workv1.ManifestWork) *manifestcache.Work {
	stored := StoredOf(work)
	kept, _ := manifestcache.Compact(work.DeepCopy(), &stored)
	return kept
}

// A change of the Application counts as undelivered only if a new work would deliver another spec.
func TestUndelivered(t *testing.T) {
	work, err := ManifestWork(Inputs{Application: hubApplication()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reason string
		change func(app *argocd.Application, annotations map[string]string)
		want   bool
	}{
		"nothing": {reason: "what is delivered is delivered", change: func(*argocd.Application, map[string]string) {}},
		"spec": {reason: "a changed spec is not", want: true, change: func(app *argocd.Application, _ map[string]string) {
			app.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"other"}`)
		}},
		"null": {reason: "a null is a value", want: true, change: func(app *argocd.Application, _ map[string]string) {
			app.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"default","a":null}`)
		}},
		"no spec": {reason: "nor is one that cannot be", want: true, change: func(app *argocd.Application, _ map[string]string) { app.Spec = json.RawMessage(`[]`) }},
		"overrides": {reason: "an annotation can change the delivered spec", want: true, change: func(app *argocd.Application, _ map[string]string) {
			app.Annotations[contract.DestinationNameAnnotation] = "in-cluster"
		}},
		"hub name": {reason: "the destination's name on the hub is not delivered", change: func(app *argocd.Application, _ map[string]string) {
			app.Spec = json.RawMessage(`{"destination":{"name":"cluster1","namespace":"guestbook"},"project":"default"}`)
		}},
		"spelling": {reason: "white space is no change", change: func(app *argocd.Application, _ map[string]string) {
			app.Spec = json.RawMessage(`{ "project": "default", "destination": {"namespace": "guestbook"} }`)
		}},
		"label": {reason: "nor are labels", change: func(app *argocd.Application, _ map[string]string) { app.Labels["team"] = "b" }},
		"deleted": {reason: "one that is being deleted gets no changes any more", change: func(app *argocd.Application, _ map[string]string) {
			now := metav1.Now()
			app.DeletionTimestamp, app.Spec = &now, json.RawMessage(`{}`)
		}},
		"unmarked": {reason: "a work from before says nothing", change: func(app *argocd.Application, annotations map[string]string) {
			delete(annotations, contract.ApplicationSpecAnnotation)
			app.Spec = json.RawMessage(`{}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			app, w := hubApplication(), work.DeepCopy()
			c.change(app, w.Annotations)
			if got := Undelivered(app, cached(w)); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

// The hash is written only together with its spec. The user's own annotation of that name is not delivered.
func TestPatch_writesTheApplicationsHashWithTheSpecOnly(t *testing.T) {
	app := hubApplication()
	app.Annotations[contract.ApplicationSpecAnnotation] = "0123456789abcdef"
	want, err := ManifestWork(Inputs{Application: app})
	if err != nil {
		t.Fatal(err)
	}
	hash := want.Annotations[contract.ApplicationSpecAnnotation]
	if len(hash) != 16 || hash == "0123456789abcdef" || strings.Contains(string(want.Spec.Workload.Manifests[0].Raw), contract.ApplicationSpecAnnotation) {
		t.Errorf("hash %q, Application %s", hash, want.Spec.Workload.Manifests[0].Raw)
	}
	again, err := ManifestWork(Inputs{Application: app, HasAgent: true, Request: request.Request{ID: "refresh-1-2", Refresh: "normal"}})
	if err != nil || again.Annotations[contract.ApplicationSpecAnnotation] != hash {
		t.Errorf("what is ours changes the hash: %s, %v", again.Annotations[contract.ApplicationSpecAnnotation], err)
	}
	for name, is := range map[string]string{"from before": "", "of another spec": "fedcba9876543210"} {
		stored := want.DeepCopy()
		stored.ResourceVersion = "7"
		delete(stored.Annotations, contract.ApplicationSpecAnnotation)
		if is != "" {
			stored.Annotations[contract.ApplicationSpecAnnotation] = is
		}
		if patch, err := Patch(cached(stored), want, false, ""); patch != nil || err != nil {
			t.Errorf("%s: a write without the spec: %s, %v", name, patch, err)
		}
		if patch, err := Patch(cached(stored), want, true, ""); err != nil || !strings.Contains(string(patch), `application-spec-hash","value":"`+hash) {
			t.Errorf("%s: not written with the spec: %s, %v", name, patch, err)
		}
		kept := want.DeepCopy()
		KeepApplicationSpec(cached(stored), kept)
		if patch, err := Patch(cached(stored), kept, true, ""); err != nil || strings.Contains(string(patch), "application-spec-hash") {
			t.Errorf("%s: written with a spec whose Application stays: %s, %v", name, patch, err)
		}
	}
}
