// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// bind gives placement in another namespace the permissions that it has in namespace argocd.
func bind(t *testing.T, namespace string) {
	t.Helper()
	if err := rbacv1.AddToScheme(hub.scheme); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"role.yaml", "bindings.yaml"} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(), "deploy", "components", "placement", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(append([]byte("\n"), text...), []byte("\n---\n")) {
			meta := &metav1.PartialObjectMetadata{}
			if err := yaml.Unmarshal(document, meta); err != nil {
				t.Fatal(err)
			}
			if meta.Namespace != "argocd" {
				continue
			}
			var o client.Object = &rbacv1.Role{}
			if meta.Kind == "RoleBinding" {
				o = &rbacv1.RoleBinding{}
			}
			if err := yaml.Unmarshal(document, o); err != nil {
				t.Fatal(err)
			}
			o.SetNamespace(namespace)
			create(t, o)
		}
	}
}

// RBAC allows placement to patch ApplicationSets. The policy allows it only to request a refresh.
func TestPolicy_allowsOnlyARefresh(t *testing.T) {
	newSet(t, "team", "held", fmt.Sprintf(byPlacement, "p"))
	ours, err := client.New(asAccount(), client.Options{Scheme: hub.scheme})
	if err != nil {
		t.Fatal(err)
	}
	const refused = "placement may"
	testkit.Eventually(t, "the policy to be in force", func() error {
		if err := tryPatch(ours, "team", "held", `{"metadata":{"labels":{"probe":"x"}}}`); err == nil {
			return fmt.Errorf("a label is admitted")
		}
		return nil
	})
	annotation := func(key, value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	}
	cases := []struct{ reason, patch, want string }{
		{"a spec", `{"spec":{"goTemplate":true}}`, refused},
		{"a spec beside a refresh", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true"}},"spec":{"goTemplate":true}}`, refused},
		{"another annotation", annotation("argocd.argoproj.io/other", `"x"`), refused},
		{"two", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true","other":"x"}}}`, refused},
		{"a user's annotation", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true","theirs":"ours"}}}`, refused},
		{"and its removal", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true","theirs":null}}}`, refused},
		{"a label", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true"},"labels":{"a":"b"}}}`, refused},
		{"a finalizer", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true"},"finalizers":["a/b"]}}`, refused},
		{"an owner", `{"metadata":{"annotations":{"` + appset.RefreshAnnotation + `":"true"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"b"}]}}`, refused},
		{"another value", annotation(appset.RefreshAnnotation, `"x"`), refused},
		{"a refresh", annotation(appset.RefreshAnnotation, `"true"`), ""},
		{"the same again", annotation(appset.RefreshAnnotation, `"true"`), ""},
		{"its removal, which is Argo CD's", annotation(appset.RefreshAnnotation, "null"), refused},
	}
	for _, c := range cases {
		err := tryPatch(ours, "team", "held", c.patch)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	if err := ours.Delete(context.Background(), setOf(t, "team", "held")); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("it may delete: %v", err)
	}
	patch(t, hub.client, "team", "held", `{"metadata":{"labels":{"a":"b"}}}`) // the policy does not apply to other clients
}

// The cost of a policy is limited per request. An ApplicationSet of almost the API server's maximum size
// stays within the limit.
func TestPolicy_admitsALargeSet(t *testing.T) {
	elements := strings.Repeat(`{"cluster":"a-cluster-with-a-name","values":{"region":"eu-central-1"}},`, 17_000)
	newSet(t, "team", "large", `{"list":{"elements":[`+strings.TrimSuffix(elements, ",")+`]}}`)
	ours, err := client.New(asAccount(), client.Options{Scheme: hub.scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := tryPatch(ours, "team", "large", fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, appset.RefreshAnnotation)); err != nil {
		t.Error(err)
	}
}
