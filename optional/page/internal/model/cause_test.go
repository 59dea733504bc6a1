// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// said has messages of Argo CD, the API server and the tools that they run. They are about Application
// guestbook-cluster1 on cluster1.
var said = []struct{ message, want string }{
	{
		`Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = authentication required: Repository not found: https://git.example.com/shop/guestbook.git`,
		`Failed to load target state: failed to generate manifest for source … of …: rpc error: code = Unknown desc = authentication required: Repository not found: https://git.example.com/shop/guestbook.git`,
	},
	{
		`Failed sync attempt to 53e28ff20cc530b9ada2173fbbd64d48338583ba: one or more objects failed to apply, reason: namespaces "guestbook" not found (retried 5 times).`,
		`Failed sync attempt to …: one or more objects failed to apply, reason: namespaces "…" not found (retried … times).`,
	},
	{
		`one or more objects failed to apply, reason: deployments.apps "guestbook-ui" is forbidden: exceeded quota: compute, requested: limits.cpu=4, used: limits.cpu=30, limited: limits.cpu=32`,
		`one or more objects failed to apply, reason: deployments.apps "…" is forbidden: exceeded quota: compute, requested: limits.cpu=…, used: limits.cpu=…, limited: limits.cpu=…`,
	},
	{
		`Get "https://10.96.0.1:443/apis/apps/v1": x509: certificate has expired or is not yet valid: current time 2026-11-21T23:59:59Z is after 2026-11-20T00:00:00Z`,
		`Get "…": x509: certificate has expired or is not yet valid: current time … is after …`,
	},
	{
		`application destination can't have both name and server defined: cluster1 https://10.0.0.1:6443`,
		`application destination can't have both name and server defined: … https://…`,
	},
	{
		`Failed to load live state: failed to get cluster info for "https://kubernetes.default.svc": error synchronizing cache state : the server is currently unable to handle the request`,
		`Failed to load live state: failed to get cluster info for "…": error synchronizing cache state : the server is currently unable to handle the request`,
	},
	{
		"rpc error: code = Unknown desc = `helm dependency build` failed exit status 1: Error: no repository definition for https://charts.example.com. Please add the missing repos via 'helm repo add'",
		"rpc error: code = Unknown desc = `helm dependency build` failed exit status …: Error: no repository definition for https://charts.example.com. Please add the missing repos via 'helm repo add'",
	},
	{
		"rpc error: code = Unknown desc = `kustomize build /tmp/https___git.example.com_shop/overlays/prod` failed exit status 1: Error: accumulating resources",
		"rpc error: code = Unknown desc = `kustomize build /tmp/https___git.example.com_shop/overlays/prod` failed exit status …: Error: accumulating resources",
	},
	{
		`ComparisonError: rpc error: code = DeadlineExceeded desc = context deadline exceeded`,
		`ComparisonError: rpc error: code = DeadlineExceeded desc = context deadline exceeded`,
	},
	{
		`error while validating existing rule: admission webhook "validate.kyverno.svc-fail" denied the request: resource Deployment/guestbook/guestbook-ui was blocked due to policy require-labels`,
		`error while validating existing rule: admission webhook "…" denied the request: resource Deployment/guestbook/guestbook-ui was blocked due to policy require-labels`,
	},
	{
		`Deployment.apps "guestbook-ui" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"guestbook-ui"}}: field is immutable`,
		`Deployment.apps "…" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"…":"…"}}: field is immutable`,
	},
	{
		`The Kubernetes API could not find monitoring.coreos.com/ServiceMonitor for requested resource guestbook/guestbook. Make sure the "ServiceMonitor" CRD is installed on the destination cluster.`,
		`The Kubernetes API could not find monitoring.coreos.com/ServiceMonitor for requested resource guestbook/guestbook. Make sure the "…" CRD is installed on the destination cluster.`,
	},
	{
		`resource mapping not found for name: "guestbook" namespace: "guestbook" from "/dev/shm/1234567890": no matches for kind "Rollout" in version "argoproj.io/v1alpha1"`,
		`resource mapping not found for name: "…" namespace: "…" from "…": no matches for kind "…" in version "…"`,
	},
	{
		`container guestbook-ui in pod guestbook-ui-7d9f8b6c5-x2v4q has run out of ephemeral storage`,
		`container guestbook-ui in pod guestbook-ui-… has run out of ephemeral storage`,
	},
	{
		`Back-off pulling image "registry.example.com/shop/ui:v1.24.3"`,
		`Back-off pulling image "…"`,
	},
	{
		`failed to sync cluster https://10.1.2.3:6443: failed to load initial state of resource Pod: Timeout: request did not complete within requested timeout - context deadline exceeded`,
		`failed to sync cluster https://…: failed to load initial state of resource Pod: Timeout: request did not complete within requested timeout - context deadline exceeded`,
	},
	{
		`Unable to delete application resources: dial tcp 192.168.12.7:6443: connect: connection refused`,
		`Unable to delete application resources: dial tcp …: connect: connection refused`,
	},
	{
		`etcdserver: request timed out`,
		`etcdserver: request timed out`,
	},
	{
		`hook PreSync job guestbook-migrate-28471 failed: Job has reached the specified backoff limit`,
		`hook PreSync job guestbook-migrate-… failed: Job has reached the specified backoff limit`,
	},
	{
		`SharedResourceWarning: Deployment/guestbook-ui is part of applications argocd/guestbook-cluster1 and shop-a`,
		`SharedResourceWarning: Deployment/guestbook-ui is part of applications … and shop-a`,
	},
	{
		`Resource apps/Deployment guestbook/guestbook-ui is orphaned`,
		`Resource apps/Deployment guestbook/guestbook-ui is orphaned`,
	},
	{
		`Project default does not permit deployments to destination server 'https://kubernetes.default.svc' and namespace 'guestbook'`,
		`Project default does not permit deployments to destination server '…' and namespace '…'`,
	},
	{
		`application repo https://git.example.com/shop.git is not permitted in project 'tenant-7'`,
		`application repo https://git.example.com/shop.git is not permitted in project '…'`,
	},
	{
		`Unable to create application: app path does not exist: apps/guestbook`,
		`Unable to create application: app path does not exist: apps/guestbook`,
	},
	{
		`failed to list refs: ssh: handshake failed: knownhosts: key mismatch`,
		`failed to list refs: ssh: handshake failed: knownhosts: key mismatch`,
	},
	{
		`lookup git.example.com on 10.96.0.10:53: no such host`,
		`lookup git.example.com on …: no such host`,
	},
	{
		`helm template . --name-template guestbook-cluster1 failed exit status 1: Error: execution error at (shop/templates/deployment.yaml:12:4): image.tag is required`,
		`helm template . --name-template … failed exit status …: Error: execution error at (shop/templates/deployment.yaml:…): image.tag is required`,
	},
	{
		`StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden`,
		`StatefulSet.apps "…" is invalid: spec: Forbidden: updates to statefulset spec for fields other than '…' are forbidden`,
	},
	{
		`Operation cannot be fulfilled on deployments.apps "guestbook-ui": the object has been modified; please apply your changes to the latest version and try again`,
		`Operation cannot be fulfilled on deployments.apps "…": the object has been modified; please apply your changes to the latest version and try again`,
	},
	{
		`PersistentVolumeClaim "data-db-0" is invalid: spec.resources.requests.storage: Forbidden: field can not be less than previous value`,
		`PersistentVolumeClaim "…" is invalid: spec.resources.requests.storage: Forbidden: field can not be less than previous value`,
	},
	{
		`Apply failed with 1 conflict: conflict with "kubectl-edit" using apps/v1: .spec.replicas`,
		`Apply failed with … conflict: conflict with "…" using apps/v1: .spec.replicas`,
	},
	{
		`one or more synchronization tasks completed unsuccessfully (retried 3 times).`,
		`one or more synchronization tasks completed unsuccessfully (retried … times).`,
	},
	{
		`pods "guestbook-0" is forbidden: User "system:serviceaccount:argocd:argocd-application-controller" cannot patch resource "pods" in API group "" in the namespace "guestbook"`,
		`pods "…" is forbidden: User "…" cannot patch resource "…" in API group "" in the namespace "…"`,
	},
	{
		`Internal error occurred: failed calling webhook "inject.istio.io": failed to call webhook: Post "https://istiod.istio-system.svc:443/inject?timeout=10s": context deadline exceeded`,
		`Internal error occurred: failed calling webhook "…": failed to call webhook: Post "…": context deadline exceeded`,
	},
	{
		`secret "guestbook-tls" not found; request id 6fa459ea-ee8a-3ca4-894e-db77e160355e`,
		`secret "…" not found; request id …`,
	},
	{
		`revision v1.24.3 must be resolved: unable to resolve 'v1.24.3' to a commit SHA`,
		`revision v1.… must be resolved: unable to resolve '…' to a commit SHA`,
	},
	{
		`cluster cluster1 is not available since 2026-11-21T10:00:00Z (Registration agent stopped updating its lease)`,
		`cluster … is not available since … (Registration agent stopped updating its lease)`,
	},
	{
		`too many open files in /app/config/gpg/keys for source 12`,
		`too many open files in /app/config/gpg/keys for source …`,
	},
	{
		`manifest generation error (cached): plugin sidecar failed. couldn't find cmp-server plugin with name "render-v2" supporting the given repository`,
		`manifest generation error (cached): plugin sidecar failed. couldn't find cmp-server plugin with name "…" supporting the given repository`,
	},
	{
		`waiting for healthy state of apps/Deployment/guestbook-ui and 7 more resources`,
		`waiting for healthy state of apps/Deployment/guestbook-ui and … more resources`,
	},
}

func TestGeneralize_replacesNamesInMessagesOfArgoCD(t *testing.T) {
	for _, s := range said {
		if got := generalize(s.message, "cluster1", "argocd", "guestbook-cluster1"); got != s.want {
			t.Errorf("%s\n got %s\nwant %s", s.message, got, s.want)
		}
	}
}

// The same error of another Application on another cluster gets the same text.
func TestGeneralize_ignoresNames(t *testing.T) {
	for _, s := range said {
		other := strings.NewReplacer("cluster1", "eu-west-42", "argocd", "openshift-gitops").Replace(s.message)
		if got := generalize(other, "eu-west-42", "openshift-gitops", "guestbook-eu-west-42"); got != s.want && !strings.Contains(s.message, "system:serviceaccount") {
			t.Errorf("%s\n got %s\nwant %s", other, got, s.want)
		}
	}
}

func TestGeneralize(t *testing.T) {
	for name, test := range map[string]struct{ why, text, want string }{
		"nothing":         {"an empty message is one", "", ""},
		"short names":     {"a name of two letters is in every word", "is it so", "is it so"},
		"part of a word":  {"a name counts as a whole word only", "production prod", "production …"},
		"joined gaps":     {"an address is one gap", "at 10.0.0.1:6443/12", "at …"},
		"end of sentence": {"a dot after a gap stays", "retried 5.", "retried …."},
		"white space":     {"line breaks do not tell errors apart", "a\n\t b", "a b"},
		"versions":        {"versions of an API are its name", "apps/v1beta2 and v1alpha1", "apps/v1beta2 and v1alpha1"},
		"words in hex":    {"a word without a digit is a word", "defaced facade", "defaced facade"},
		"open quote":      {"a quote that never ends hides nothing", `"never ends`, `"never ends`},
		"quoted text":     {"what is no name is told", `"two words"`, `"two words"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := generalize(test.text, "prod", "is"); got != test.want {
				t.Errorf("%s: %q becomes %q, want %q", test.why, test.text, got, test.want)
			}
		})
	}
}

func TestGeneralize_limitsLongAndBrokenText(t *testing.T) {
	if got := generalize(strings.Repeat("é", 5000)); len(got) > maxCause || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
	}
	if got := generalize("a\xffb 12", ""); got != "a\xffb …" {
		t.Errorf("got %q", got)
	}
}

// generalize never puts two gaps next to each other.
func FuzzGeneralize(f *testing.F) {
	for _, s := range said {
		f.Add(s.message)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := generalize(text, "cluster1")
		if strings.Contains(got, gap+gap) && !strings.Contains(text, gap) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
