// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"strings"
	"testing"
	"time"
)

const (
	rendered = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, namespace: ours}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: ours}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: r, namespace: ours}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects: [{kind: ServiceAccount, name: a, namespace: ours}]
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: ours}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ours}
spec: {template: {spec: {serviceAccountName: a, containers: [{name: c, image: example.com/c@sha256:0}]}}}
`
	annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: ours}\n"
	written     = "kind: ClusterServiceVersion\n"
	more        = "---\napiVersion: v1\n"
)

// New refuses objects that a bundle would silently lose or change.
func TestNew_refusesWhatABundleWouldLose(t *testing.T) {
	for _, c := range []struct{ reason, old, replacement, says string }{
		{"nothing would run", "kind: Deployment", "kind: NetworkPolicy", "no Deployment"},
		{"which one is the operator's is not said", "---\n", more + "kind: Deployment\nmetadata: {name: e, namespace: ours}\n---\n", "Deployments"},
		{"OLM refuses a bundle with a kind that it does not know", "---\n", more + "kind: LimitRange\nmetadata: {name: l, namespace: ours}\n---\n", "LimitRange l"},
		{"OLM would put it into the operator's namespace", "{name: s, namespace: ours}", "{name: s, namespace: theirs}", "in namespace theirs"},
		{"the right would be lost", "kind: RoleBinding", "kind: NetworkPolicy", "Role r is bound to nobody"},
		{"the right is written elsewhere", "kind: Role, name: r", "kind: ClusterRole, name: admin", "binds ClusterRole admin"},
		{"OLM grants to accounts that it makes", "name: a, namespace: ours}]", "name: a, namespace: theirs}]", "namespace ours only"},
		{"a CRD that nobody describes", "---\n", more + "kind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n---\n", "describes 0 CRDs"},
	} {
		changed := strings.Replace(rendered, c.old, c.replacement, 1)
		if changed == rendered {
			t.Errorf("%s: the case changes nothing", c.reason)
		}
		_, err := New(Input{Rendered: []byte(changed), CSV: []byte(written), Annotations: []byte(annotations), Version: "1.2.3", Created: time.Unix(0, 0)})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error with %q", c.reason, err, c.says)
		}
	}
	if _, err := New(Input{Rendered: []byte(rendered), CSV: []byte(written), Annotations: []byte("annotations: {}\n"), Version: "1.2.3"}); err == nil || !strings.Contains(err.Error(), "package") {
		t.Errorf("a bundle without a package: %v", err)
	}
	if _, err := New(Input{Rendered: []byte(rendered), Annotations: []byte(annotations), Version: "1.2.3"}); err == nil || !strings.Contains(err.Error(), `kind ""`) {
		t.Errorf("nothing written of the ClusterServiceVersion: %v", err)
	}
}

// Objects in another namespace belong to the administrator, and so does a token with its account.
func TestNew_separatesThePrerequisites(t *testing.T) {
	made, err := New(Input{CSV: []byte(written), Annotations: []byte(annotations), Version: "1.2.3", Rendered: []byte(rendered + more + `kind: ServiceAccount
metadata: {name: b, namespace: ours}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: b-token, namespace: ours, annotations: {kubernetes.io/service-account.name: b}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: theirs}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	file := string(made.Prerequisites)
	for _, name := range []string{"name: b\n", "name: b-token\n", "namespace: theirs\n"} {
		if !strings.Contains(file, name) {
			t.Errorf("the prerequisites lack %q:\n%s", name, file)
		}
	}
	if strings.Contains(file, "name: a\n") || strings.Count(file, "---\n") != 3 {
		t.Errorf("the prerequisites hold what OLM makes:\n%s", file)
	}
	if len(made.Files) != 3 { // annotations, ClusterServiceVersion, Service
		t.Errorf("the bundle holds %d files", len(made.Files))
	}
	csv := string(made.Files["manifests/ours.v1.2.3.clusterserviceversion.yaml"])
	if !strings.Contains(csv, "configmaps") || strings.Contains(csv, "secrets") {
		t.Errorf("the ClusterServiceVersion grants other than the operator's own rights:\n%s", csv)
	}
}
