// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const file = "guestbook/guestbook.yaml"

// paint commits the guestbook with another colour.
func paint(t *testing.T, color string) commit {
	t.Helper()
	content, err := fleet.Git.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(content, "color: ")
	if !found {
		t.Fatal("the guestbook has no colour")
	}
	_, rest, _ = strings.Cut(rest, "\n")
	c := commit{before: strings.Repeat("0", 40), files: []string{file}}
	if c.after, err = fleet.Git.Commit(t.Context(), "Paint it "+color, map[string]string{file: before + "color: " + color + "\n" + rest}); err != nil {
		t.Fatal(err)
	}
	return c
}

// rounds returns the number of measured pushes of each forge: PUSH_ROUNDS, or 3.
func rounds(t *testing.T) int {
	t.Helper()
	n := 3
	if text := os.Getenv("PUSH_ROUNDS"); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("PUSH_ROUNDS: %v", err)
		}
	}
	return n
}

// A signed push event of each kind of forge delivers the commit to every cluster, although Argo CD polls only
// every few minutes. PUSH_LIMIT limits the 99th percentile from the commit to the hub Application, for an
// idle machine.
func TestPush_deliversTheCommit(t *testing.T) {
	r := record(t)
	all := &latencies{}
	for _, f := range forges {
		t.Run(f.name, func(t *testing.T) {
			for i := range rounds(t) {
				generations := r.generations(t)
				began := time.Now()
				c := paint(t, fmt.Sprintf("%s-%d", strings.ToLower(f.name), i))
				r.begin(c.after)
				if status, answer, err := f.send(t.Context(), c, f.secret); err != nil || status != http.StatusOK {
					t.Fatalf("Argo CD answers %d %s: %v", status, answer, err)
				}
				times := r.arrived(t)
				all.add(began, times)
				for cluster, passed := range times {
					if passed[hopAsked].IsZero() || passed[hopSent].IsZero() {
						t.Errorf("%s got the commit without the webhook: %v", cluster, passed)
					}
				}
				for cluster, now := range r.generations(t) {
					if now != generations[cluster]+1 {
						t.Errorf("the ManifestWork of %s went from generation %d to %d, for one push", cluster, generations[cluster], now)
					}
				}
			}
		})
	}
	t.Logf("%d pushes to %d clusters\n%s", len(all.total)/len(fleet.Managed), len(fleet.Managed), all)
	if text := os.Getenv("PUSH_LIMIT"); text != "" {
		limit, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("PUSH_LIMIT: %v", err)
		}
		if p99 := quantile(all.total, 99); p99 > limit {
			t.Errorf("the 99th percentile is %s, want %s", p99, limit)
		}
	}
}

// The webhook ignores projects. It refreshes an Application of another project that names source paths only
// if the push changes files in them. An event without the secret refreshes no Application.
func TestPush_refreshesOnlyMatchingApplications(t *testing.T) {
	r := record(t)
	deployNotes(t)
	before := r.counts()
	for _, f := range forges {
		c := commit{before: strings.Repeat("0", 40), after: strings.Repeat("1", 40), files: []string{file, notes}}
		if status, answer, err := f.send(t.Context(), c, "another's"); err != nil || status != http.StatusBadRequest {
			t.Errorf("to an event of %s that it cannot trust Argo CD answers %d %s: %v", f.name, status, answer, err)
		}
	}
	push := func(c commit) {
		t.Helper()
		r.begin(c.after)
		if status, answer, err := forges[0].send(t.Context(), c, forges[0].secret); err != nil || status != http.StatusOK {
			t.Fatalf("Argo CD answers %d %s: %v", status, answer, err)
		}
		r.arrived(t)
	}
	push(paint(t, "narrow"))
	content, err := fleet.Git.Read(notes)
	if err != nil {
		t.Fatal(err)
	}
	c := commit{before: strings.Repeat("0", 40), files: []string{notes}}
	if c.after, err = fleet.Git.Commit(t.Context(), "Change the notes", map[string]string{notes: content + "# more\n"}); err != nil {
		t.Fatal(err)
	}
	push(c)
	if err := r.await(t.Context(), func() (bool, string) { return r.asked["notes"] > before["notes"], "no refresh of the notes" }); err != nil {
		t.Fatal(err)
	}
	guestbook := application(fleet.Managed[0].Name)
	if got := r.counts(); got["notes"] != before["notes"]+1 || got[guestbook] != before[guestbook]+2 {
		t.Errorf("refreshes went from %v to %v: want one of the notes, of whose files one push has some, and two of the guestbook, which names none", before, got)
	}
}

const notes = "notes/notes.yaml"

// deployNotes delivers an Application of a separate project from the same repository. It waits until the
// hub's Argo CD API server reports it as Synced.
func deployNotes(t *testing.T) {
	t.Helper()
	cluster := fleet.Managed[0].Name
	var objects []client.Object
	for _, text := range []string{`
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {namespace: argocd, name: notes}
spec: {sourceRepos: ["*"], destinations: [{namespace: guestbook, server: "*"}, {namespace: guestbook, name: "*"}]}
`, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  namespace: argocd
  name: notes
  labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
  annotations:
    apps.open-cluster-management.io/ocm-managed-cluster: ` + cluster + `
    argocd.argoproj.io/skip-reconcile: "true"
    argocd.argoproj.io/manifest-generate-paths: /notes
spec:
  project: notes
  source: {repoURL: ` + env.RepositoryURL + `, targetRevision: main, path: notes}
  destination: {name: ` + cluster + `, namespace: guestbook}
  syncPolicy: {automated: {}}
`} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := fleet.Hub.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	t.Cleanup(func() {
		for _, o := range objects {
			if err := fleet.Hub.Client.Delete(context.WithoutCancel(t.Context()), o); err != nil {
				t.Error(err)
			}
		}
	})
	if err := env.Wait(t.Context(), "Argo CD's API server to know the notes as Synced", func(ctx context.Context) (bool, string) {
		answer, status, err := server.Request(ctx, http.MethodGet, "/api/v1/applications?name=notes&fields=items.metadata.name,items.status.sync.status", "", nil)
		return err == nil && status == http.StatusOK && strings.Contains(string(answer), `"Synced"`), fmt.Sprint(status, string(answer), err)
	}); err != nil {
		t.Fatal(err)
	}
}

// `argocd app get --refresh` and the button of the UI return after the cluster has compared, with the result
// of the comparison.
func TestRefresh_returnsAfterTheComparison(t *testing.T) {
	r := record(t)
	cluster := fleet.Managed[0].Name
	for _, c := range []struct {
		name string
		ask  func() (string, error)
	}{
		{"argocd app get --refresh", func() (string, error) {
			return server.CLI(t.Context(), "app", "get", "argocd/"+application(cluster), "--refresh", "--output", "json")
		}},
		{"argocd app get --hard-refresh", func() (string, error) {
			return server.CLI(t.Context(), "app", "get", "argocd/"+application(cluster), "--hard-refresh", "--output", "json")
		}},
		{"the button of the UI", func() (string, error) {
			answer, _, err := server.Request(t.Context(), http.MethodGet, "/api/v1/applications/"+application(cluster)+"?refresh=normal&appNamespace=argocd", "", nil)
			return string(answer), err // an answer other than 200 does not contain the commit
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pushed := paint(t, fmt.Sprintf("user-%d", time.Now().UnixNano()))
			r.begin(pushed.after)
			began := time.Now()
			answer, err := c.ask()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("answered after %s", time.Since(began).Round(time.Millisecond))
			if !strings.Contains(answer, pushed.after) {
				t.Errorf("it does not know of %s: %s", pushed.after, answer)
			}
			if err := r.await(t.Context(), func() (bool, string) { return !r.times[cluster][hopHub].IsZero(), fmt.Sprint(r.times) }); err != nil {
				t.Error(err)
			}
		})
	}
}
