// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// applications returns a client with Applications in its scheme. The binary's scheme has them only
// with --rendered.
func applications(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), argocd.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// renders creates an Application of rendered mode. An empty set creates it without an ApplicationSet.
func (w *world) renders(set, name, cluster string, edits ...func(*argocd.Application)) *argocd.Application {
	w.t.Helper()
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{contract.RenderedLabel: "true"}},
		Spec:       json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git"},"destination":{"server":"https://kubernetes.default.svc","namespace":"` + cluster + `"}}`),
	}
	if set != "" {
		a.OwnerReferences = []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: set, UID: "1"}}
	}
	for _, edit := range edits {
		edit(a)
	}
	w.must(applications(w.t).Create(w.t.Context(), a))
	return a
}

// fares writes the Application's status, as the hub's Argo CD does.
func (w *world) fares(a *argocd.Application, health, sync string) {
	w.t.Helper()
	status := fmt.Sprintf(`{"status":{"health":{"status":%q},"sync":{"status":%q,"revision":"53e28ff2"},
		"operationState":{"phase":"Succeeded","startedAt":"2026-11-20T10:00:00Z","operation":{}}}}`, health, sync)
	w.must(applications(w.t).Patch(w.t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(status))))
}

// rows waits until a report has these rows. Each is "application health sync conditions...".
func (w *world) rows(report string, want ...string) {
	w.t.Helper()
	w.shows(report, fmt.Sprint("with rows ", want), func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		var got []string
		for _, c := range r.Statuses.ClusterConditions {
			line := strings.Split(c.App, "/")[1] + " " + c.HealthStatus + " " + c.SyncStatus
			for _, condition := range c.Conditions {
				line += " " + condition.Type
			}
			got = append(got, line)
		}
		if strings.Join(got, ",") != strings.Join(want, ",") {
			return fmt.Errorf("rows %q", got)
		}
		return nil
	})
}

// A rendered Application has a row like a pulled Application. A report can have both. A restart writes
// nothing.
func TestRendered_reportsApplications(t *testing.T) {
	w := newWorld(t)
	first := start(t, &tap{}, "--intermediate-dir="+t.TempDir(), "--rendered")
	w.applicationSet("rendered")
	near, remote := w.cluster("near", metav1.ConditionTrue), w.cluster("remote", metav1.ConditionTrue)
	a, b := w.renders("rendered", "a", near), w.renders("rendered", "b", remote)
	w.rows("rendered", "a Unknown Unknown", "b Unknown Unknown")
	w.fares(a, "Healthy", "Synced")
	w.fares(b, "Progressing", "OutOfSync")
	w.rows("rendered", "a Healthy Synced", "b Progressing OutOfSync")

	pulled := app{"rendered", "c", near}
	w.deliver(pulled)
	w.report(pulled, healthy())
	w.rows("rendered", "a Healthy Synced", "c Healthy Synced", "b Progressing OutOfSync")
	w.cluster("near", metav1.ConditionUnknown)
	w.rows("rendered", "a Unknown Synced ClusterUnreachable", "c Unknown Unknown ClusterUnreachable", "b Progressing OutOfSync")
	r, err := w.read("rendered")
	w.must(err)
	if s := r.Statuses.Summary; s.Clusters != "2" || s.InProgress != "1" || s.NotHealthy != "3" || s.Synced != "1" {
		t.Errorf("summary %+v", s)
	}
	first.end(t)

	again := &tap{}
	start(t, again, "--intermediate-dir="+t.TempDir(), "--rendered")
	w.passed()
	if writes := again.writesOf(w.namespace, "rendered"); len(writes) > 0 {
		t.Errorf("a restart wrote %v", writes)
	}
	w.must(applications(t).Delete(t.Context(), b))
	w.cluster("near", metav1.ConditionTrue)
	w.rows("rendered", "a Healthy Synced", "c Healthy Synced")
}

// An Application with the labels of both modes is reported as pulled. A rendered ManifestWork has no row,
// even if its annotations name an Application.
func TestRendered_isSeparateFromPulled(t *testing.T) {
	w := newWorld(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir(), "--rendered")
	w.applicationSet("guestbook")
	cluster := w.cluster("cluster1", metav1.ConditionTrue)
	both := w.renders("guestbook", "both", cluster, func(a *argocd.Application) { a.Labels[contract.PullLabel] = "true" })
	w.fares(both, "Degraded", "Synced")
	w.fares(w.renders("", "alone", cluster), "Degraded", "Synced")
	w.must(hub.Create(t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster, Name: "victim-abcde",
		Labels: map[string]string{contract.RenderedLabel: "true", contract.ApplicationSetLabel: "true"},
		Annotations: map[string]string{
			contract.HostingAnnotation: w.namespace + "/guestbook", contract.HubNamespaceAnnotation: w.namespace, contract.HubNameAnnotation: "victim",
		},
	}}))
	pulled := app{"guestbook", "both", cluster}
	w.deliver(pulled)
	w.report(pulled, healthy())
	w.passed()
	w.rows("guestbook", "both Healthy Synced")
}

// Without the flag, aggregation does not list Applications, because it has no permission for them.
func TestRendered_isOffByDefault(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var asked []string
	through := &tap{}
	through.breakWith(func(r *http.Request) *http.Response {
		if strings.HasSuffix(r.URL.Path, "/"+argocd.ApplicationPlural) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Method+" "+r.URL.Path)
		}
		return nil
	})
	start(t, through, "--intermediate-dir="+t.TempDir())
	w.applicationSet("rendered")
	w.fares(w.renders("rendered", "a", w.cluster("cluster1", metav1.ConditionTrue)), "Healthy", "Synced")
	w.passed()
	if _, err := w.read("rendered"); err == nil {
		t.Error("there is a report")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
}

// With the flag but without permission to list Applications, aggregation does not write reports without
// rows. It continues when the permission is granted.
func TestRendered_keepsReportsWithoutPermission(t *testing.T) {
	w := newWorld(t)
	first := start(t, &tap{}, "--intermediate-dir="+t.TempDir(), "--rendered")
	w.applicationSet("rendered")
	w.fares(w.renders("rendered", "a", w.cluster("cluster1", metav1.ConditionTrue)), "Healthy", "Synced")
	w.rows("rendered", "a Healthy Synced")
	first.end(t)

	forbidden := make(chan struct{})
	var once sync.Once
	through := &tap{}
	through.breakWith(func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/"+argocd.ApplicationPlural) {
			return nil
		}
		once.Do(func() { close(forbidden) })
		return answer(http.StatusForbidden, metav1.StatusReasonForbidden)
	})
	start(t, through, "--intermediate-dir="+t.TempDir(), "--rendered")
	select {
	case <-forbidden:
	case <-time.After(time.Minute):
		t.Fatal("it never asked for Applications")
	}
	through.breakWith(nil)
	w.passed() // it continues with the permission
	if writes := through.writesOf(w.namespace, "rendered"); len(writes) > 0 {
		t.Errorf("wrote %v", writes)
	}
}

// Aggregation may lack the permission for Applications, or their CustomResourceDefinition may be missing.
// It then writes reports with the pulled rows only, and adds the rendered rows as soon as it can list them.
func TestRendered_keepsNoReportWaiting(t *testing.T) {
	for name, code := range map[string]int{"no right": http.StatusForbidden, "no CustomResourceDefinition": http.StatusNotFound} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.applicationSet("rendered")
			here := w.cluster("near", metav1.ConditionTrue)
			w.fares(w.renders("rendered", "a", here), "Healthy", "Synced")
			through := &tap{patience: time.Second}
			through.breakWith(func(r *http.Request) *http.Response {
				if strings.HasSuffix(r.URL.Path, "/applications") {
					return answer(code, map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}[code])
				}
				return nil
			})
			start(t, through, "--intermediate-dir="+t.TempDir(), "--rendered")
			pulled := app{"rendered", "c", here}
			w.deliver(pulled)
			w.report(pulled, healthy())
			w.rows("rendered", "c Healthy Synced")
			if logged := through.logged(); !strings.Contains(logged, "reports are written without the Applications of rendered mode") {
				t.Errorf("it does not say so: %s", logged)
			}
			through.breakWith(nil)
			w.rows("rendered", "a Healthy Synced", "c Healthy Synced")
		})
	}
}
