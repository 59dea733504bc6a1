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

// attempt is what an attacker would do who has taken over a container.
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

// checkForbidden tries what only propagation may do, with the tokens of the containers that only
// read other systems' answers. The audit log must show that all of it was refused, and that
// resourcesync has never changed or read anything else.
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

// checkOnlyReads wants no write in the audit log, and no Secret read. Who asks for
// metrics is looked up by objects that are answered and not stored.
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

// checkRotation replaces a token Secret as docs/security.md says. The running container
// follows without a restart: it asks the hub, and search, with the new token.
//
// While search refuses the old token, the alerts say so.
func checkRotation(t *testing.T, prometheus, prometheusToken string, all []running) {
	r := all[slices.IndexFunc(all, func(r running) bool { return r.name == "resourcesync" })]
	c := credentialOf(t, kustomize(t, "ocm"), r.name)
	old := readFile(t, r.token)
	// Without its token resourcesync knows a caller only as long as it remembers it: let it
	// get to know Prometheus now, so that it is scraped until the alerts fire.
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
	// A caller that it does not know yet makes resourcesync ask the hub.
	eventually(t, "resourcesync to know a new caller", func() (bool, string) {
		_, stderr, err := scrape(t, r, readerToken(t))
		return err == nil, stderr
	})
	if len(auditEvents(t, r.name)) == asked {
		t.Error("the audit log has no request with the new token")
	}
	needAlerts(t, prometheus, false, "SearchAccess", "SearchStale")
}
