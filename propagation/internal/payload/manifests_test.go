// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const hubSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

// hubApplication returns an Application with the pull label and the cluster annotation.
func hubApplication() *argocd.Application {
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", UID: "0123456789abcdef",
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(hubSpec),
	}
}

// deliveredApp returns the Application in the work of the inputs p.
func deliveredApp(t *testing.T, p Inputs) string {
	t.Helper()
	work, err := ManifestWork(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(work.Spec.Workload.Manifests[len(work.Spec.Workload.Manifests)-1].Raw)
}

func TestRedirect(t *testing.T) {
	cases := map[string]struct {
		reason, spec, want string
		annotations        map[string]string
	}{
		"plain":       {reason: "the destination is the managed cluster itself", spec: `{"destination":{"name":"cluster1","namespace":"n"}}`, want: `{"destination":{"namespace":"n","server":"https://kubernetes.default.svc"}}`},
		"none":        {reason: "an Application without destination gets one", spec: `{"project":"p"}`, want: `{"destination":{"server":"https://kubernetes.default.svc"},"project":"p"}`},
		"null":        {reason: "null is none", spec: `{"destination":null}`, want: `{"destination":{"server":"https://kubernetes.default.svc"}}`},
		"byName":      {reason: "a name leaves no server", spec: `{"destination":{"server":"https://x"}}`, annotations: map[string]string{contract.DestinationNameAnnotation: "in-cluster"}, want: `{"destination":{"name":"in-cluster"}}`},
		"byServer":    {reason: "a server leaves no name", spec: `{"destination":{"name":"x"}}`, annotations: map[string]string{contract.DestinationServerAnnotation: "https://y"}, want: `{"destination":{"server":"https://y"}}`},
		"both":        {reason: "both when both are asked for", spec: `{}`, annotations: map[string]string{contract.DestinationNameAnnotation: "x", contract.DestinationServerAnnotation: "https://y"}, want: `{"destination":{"name":"x","server":"https://y"}}`},
		"numbers":     {reason: "numbers keep their spelling, however large", spec: `{"a":12345678901234567890,"b":1.10,"c":1e400,"d":-0}`, want: `{"a":12345678901234567890,"b":1.10,"c":1e400,"d":-0,"destination":{"server":"https://kubernetes.default.svc"}}`},
		"nulls":       {reason: "nulls and empty things stay", spec: `{"a":null,"b":{},"c":[],"d":[null,{"e":null}],"f":""}`, want: `{"a":null,"b":{},"c":[],"d":[null,{"e":null}],"destination":{"server":"https://kubernetes.default.svc"},"f":""}`},
		"unknownDest": {reason: "what a newer Argo CD puts into the destination stays", spec: `{"destination":{"shard":{"x":1}}}`, want: `{"destination":{"server":"https://kubernetes.default.svc","shard":{"x":1}}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := bytes.Clone([]byte(c.spec))
			got, err := Redirect(json.RawMessage(c.spec), c.annotations)
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if string(got) != c.want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
			}
			if !bytes.Equal(before, []byte(c.spec)) {
				t.Error("the hub's spec was changed")
			}
		})
	}
	for _, spec := range []string{"", " ", "null"} {
		if _, err := Redirect(json.RawMessage(spec), nil); !errors.Is(err, errNoSpec) {
			t.Errorf("spec %q: %v", spec, err)
		}
	}
}

func TestApplicationManifest_excludesFieldsOfTheHub(t *testing.T) {
	app := hubApplication()
	app.Labels["team"], app.Annotations["example.com/x"] = "a", "<&>"
	app.Finalizers = []string{argocd.ResourcesFinalizer}
	app.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set", UID: "1"}}
	app.Status = json.RawMessage(`{"health":{"status":"Healthy"}}`)
	app.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	app.Annotations[contract.AppNamespaceAnnotation] = "argocd"
	app.Annotations[argocd.RefreshAnnotation] = "hard"
	before := app.DeepCopy()
	got := deliveredApp(t, Inputs{Application: app})
	const want = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"annotations":{"apps.open-cluster-management.io/hosting-applicationset":"team/set","example.com/x":"\u003c\u0026\u003e"},"finalizers":["resources-finalizer.argocd.argoproj.io"],"labels":{"apps.open-cluster-management.io/application-set":"true","team":"a"},"name":"app","namespace":"argocd"},"spec":{"destination":{"namespace":"guestbook","server":"https://kubernetes.default.svc"},"project":"default"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the delivered Application (-want +got):\n%s", diff)
	}
	beside := deliveredApp(t, Inputs{Application: app, HasAgent: true})
	told := strings.Replace(want, `/application-set":"true",`, `/application-set":"true","argocd-agent.argoproj-labs.io/ignore-sync":"true",`, 1)
	if diff := cmp.Diff(told, beside); diff != "" {
		t.Errorf("beside argocd-agent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, app); diff != "" {
		t.Errorf("the hub's Application was changed:\n%s", diff)
	}
}

// propagation does not deliver the tracking, notifications and subscriptions of the hub's Argo CD. With the
// tracking labels, an Application of the managed cluster with the name of the hub's owner would own the copy
// and prune it.
func TestManifestWork_leavesTheHubsTrackingBehind(t *testing.T) {
	const key, owner = "example.com/argo-app", "platform"
	labels := map[string]string{argocd.InstanceLabel: owner, key: owner, "team": "a"}
	app := hubApplication()
	maps.Copy(app.Labels, labels)
	maps.Copy(app.Annotations, map[string]string{
		"argocd.argoproj.io/tracking-id":             owner + ":argoproj.io/Application:team/app",
		"argocd.argoproj.io/installation-id":         owner,
		"notified.notifications.argoproj.io":         owner,
		"notified.notifications.argoproj.io/on-sync": owner,
		"argocd.argoproj.io/sync-wave":               "5",

		"notifications.argoproj.io/subscribe.on-sync-failed.slack":      "hub",
		"notifications.argoproj.io/subscriptions":                       "hub",
		"apps.open-cluster-management.io/subscribe.on-sync-failed.mail": "cluster",
	})
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: labels}, Spec: json.RawMessage(`{}`)}
	work, err := ManifestWork(Inputs{Application: app, Project: project, ProjectNamespace: "argocd", InstanceLabel: key})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`"metadata":{"labels":{"team":"a"},"name":"team","namespace":"argocd"}`,
		`"metadata":{"annotations":{"argocd.argoproj.io/sync-wave":"5","notifications.argoproj.io/subscribe.on-sync-failed.mail":"cluster"},"labels":{"team":"a"},"name":"app","namespace":"team"}`,
	} {
		if got := string(work.Spec.Workload.Manifests[i].Raw); !strings.Contains(got, want) {
			t.Errorf("manifest %d is %s, want %s in it", i, got, want)
		}
	}
	if labels[argocd.InstanceLabel] != owner {
		t.Error("the hub's labels were changed")
	}
}

// FuzzRedirect checks that Redirect changes nothing but the destination, and never panics.
func FuzzRedirect(f *testing.F) {
	for _, seed := range []string{hubSpec, `{"a":1e999,"destination":{"name":1}}`, `[]`, `{"destination":[]}`, `{"\u0000":null}`, `{"a":{"a":{"a":[]}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		got, err := Redirect(json.RawMessage(spec), nil)
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal([]byte(spec), &before) != nil || json.Unmarshal(got, &after) != nil {
			t.Fatalf("%q became %q", spec, got)
		}
		delete(before, "destination")
		delete(after, "destination")
		if len(before) != len(after) {
			t.Fatalf("%q became %q", spec, got)
		}
		for key, value := range before {
			var want, is bytes.Buffer
			if json.Compact(&want, value) != nil || json.Compact(&is, after[key]) != nil {
				t.Fatalf("%q: %q became %q", key, value, after[key])
			}
			escaped, _ := json.Marshal(value)
			if !bytes.Equal(escaped, is.Bytes()) {
				t.Fatalf("%q: %q became %q", key, value, after[key])
			}
		}
	})
}
