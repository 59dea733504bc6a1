// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attempt is a request of an attacker who controls a container.
type attempt struct{ verb, path, content, reason string }

var attempts = []attempt{
	{"create", "/apis/work.open-cluster-management.io/v1/namespaces/cluster1/manifestworks",
		`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"taken"},"spec":{}}`, "a ManifestWork is anything at all on its cluster"},
	{"get", "/api/v1/namespaces/argocd/secrets", "", "the Secrets of Argo CD are its repositories and its signing key"},
	{"get", "/api/v1/namespaces/" + namespace + "/secrets/" + namespace + "-aggregation-token", "", "the tokens of the other containers"},
	{"create", "/api/v1/namespaces/" + namespace + "/serviceaccounts/" + namespace + "/token",
		`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`, "a token of the account with the most rights"},
	{"delete", "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/any", "", "an Application goes with all that it runs"},
}

// checkForbidden sends requests that only propagation may make, with the tokens of the containers that read
// other systems' answers. The audit log must show that each one was rejected. It must also show that
// resourcesync has written nothing and has read no Secret.
func checkForbidden(t *testing.T, all []running) {
	for _, r := range all {
		if r.name == "propagation" {
			continue
		}
		before := auditEvents(t, r.name)
		if r.name == "resourcesync" {
			checkOnlyReads(t, before)
		}
		for _, a := range attempts {
			args := []string{"--kubeconfig", r.kubeconfig, a.verb, "--raw", a.path}
			if a.content != "" {
				file := filepath.Join(t.TempDir(), "object.json")
				if err := os.WriteFile(file, []byte(a.content), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "-f", file)
			}
			_, stderr, err := try(t, tool("kubectl"), args...)
			if err == nil || !strings.Contains(stderr, "Forbidden") && !strings.Contains(stderr, "forbidden") {
				t.Errorf("%s may %s %s (%s): %v %s", r.name, a.verb, a.path, a.reason, err, stderr)
			}
		}
		refused := 0
		for _, e := range auditEvents(t, r.name)[len(before):] {
			path, _, _ := strings.Cut(e.RequestURI, "?")
			if slices.ContainsFunc(attempts, func(a attempt) bool { return a.path == path }) &&
				e.ResponseStatus.Code == 403 && e.Annotations["authorization.k8s.io/decision"] == "forbid" {
				refused++
			}
		}
		if refused != len(attempts) {
			t.Errorf("the audit log has %d refusals of %s, want %d", refused, r.name, len(attempts))
		}
	}
}

// checkOnlyReads fails the test if the audit log has a write or a read of a Secret. Reviews of metrics
// callers are created and not stored, so they are permitted.
func checkOnlyReads(t *testing.T, events []event) {
	t.Helper()
	for _, e := range events {
		if e.ObjectRef == nil {
			continue
		}
		switch {
		case e.ObjectRef.Resource == "secrets":
			t.Errorf("resourcesync asked for Secrets: %s %s", e.Verb, e.RequestURI)
		case slices.Contains([]string{"get", "list", "watch"}, e.Verb):
		case slices.Contains([]string{"tokenreviews", "subjectaccessreviews"}, e.ObjectRef.Resource):
		default:
			t.Errorf("resourcesync wrote: %s %s", e.Verb, e.RequestURI)
		}
	}
}

// checkRotation replaces a token Secret as in docs/security.md. The running container uses the new token for
// the hub and for search without a restart.
//
// The alerts fire while search rejects the old token.
func checkRotation(t *testing.T, prometheus, prometheusToken string, all []running) {
	r := all[slices.IndexFunc(all, func(r running) bool { return r.name == "resourcesync" })]
	c := credentialOf(t, kustomize(t, "ocm"), r.name)
	old := readFile(t, r.token)
	// Without a valid token resourcesync accepts only callers in its cache. So Prometheus authenticates with
	// a new token now, and can scrape until the alerts fire.
	reviews := func() (n int) {
		for _, e := range auditEvents(t, r.name) {
			if e.ObjectRef != nil && e.ObjectRef.Resource == "tokenreviews" {
				n++
			}
		}
		return n
	}
	known := reviews()
	if err := os.WriteFile(prometheusToken, []byte(readerToken(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "resourcesync to ask who scrapes it", func() (bool, string) {
		n := reviews()
		return n > known, fmt.Sprint(n, " reviews of a token")
	})
	kubectl(t, "-n", namespace, "delete", "secret", c.secret)
	eventually(t, "the old token to be worth nothing", func() (bool, string) {
		_, stderr, _ := try(t, tool("kubectl"), "--kubeconfig", r.kubeconfig, "get", "--raw", "/api")
		return strings.Contains(stderr, "Unauthorized") || strings.Contains(stderr, "must be logged in"), stderr
	})
	needAlerts(t, prometheus, true, "SearchAccess", "SearchStale")
	asked := len(auditEvents(t, r.name))
	apply(t, deployPath("install.yaml"))
	mountToken(t, c, r.token)
	if readFile(t, r.token) == old {
		t.Fatal("the new Secret holds the old token")
	}
	// For an unknown caller resourcesync must send a review to the hub.
	eventually(t, "resourcesync to know a new caller", func() (bool, string) {
		_, stderr, err := scrape(t, r, readerToken(t))
		return err == nil, stderr
	})
	if len(auditEvents(t, r.name)) == asked {
		t.Error("the audit log has no request with the new token")
	}
	needAlerts(t, prometheus, false, "SearchAccess", "SearchStale")
}
