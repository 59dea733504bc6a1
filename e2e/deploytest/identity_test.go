// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// tokenPath is the folder from which in-cluster configuration reads a container's identity.
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// credential is the ServiceAccount of a container, and the Secret with its token. If secret is empty, the
// kubelet requests a token with a limited lifetime.
type credential struct{ account, secret string }

// credentialOf returns the credential of a container of the first Deployment.
func credentialOf(t *testing.T, objects []*unstructured.Unstructured, container string) credential {
	t.Helper()
	return credentialIn(t, objects, find(t, objects, "Deployment"), container)
}

// credentialIn reads the volume that a container mounts, and returns its account. A container without such a
// mount has the pod's account. The kubelet mounts the token of that account.
func credentialIn(t *testing.T, objects []*unstructured.Unstructured, deployment *unstructured.Unstructured, container string) credential {
	t.Helper()
	if volume := mountedAt(t, deployment, container, tokenPath); volume != "" {
		for _, source := range sourcesOf(t, deployment, volume) {
			if secret, ok, _ := unstructured.NestedString(source, "secret", "name"); ok {
				return credential{accountOfSecret(t, objects, secret), secret}
			}
		}
	}
	account, _, _ := unstructured.NestedString(deployment.Object, "spec", "template", "spec", "serviceAccountName")
	return credential{account: account}
}

func accountOfSecret(t *testing.T, objects []*unstructured.Unstructured, name string) string {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "Secret" && o.GetName() == name {
			if kind, _, _ := unstructured.NestedString(o.Object, "type"); kind != "kubernetes.io/service-account-token" {
				t.Errorf("Secret %s is of type %q: no controller fills it", name, kind)
			}
			return o.GetAnnotations()["kubernetes.io/service-account.name"]
		}
	}
	t.Fatalf("there is no Secret %s", name)
	return ""
}

// mountedAt returns the volume that a container mounts read-only at a path, or "".
func mountedAt(t *testing.T, deployment *unstructured.Unstructured, container, path string) string {
	t.Helper()
	for _, c := range containers(t, deployment) {
		if c["name"] != container {
			continue
		}
		mounts, _, _ := unstructured.NestedSlice(c, "volumeMounts")
		for _, each := range mounts {
			if m := each.(map[string]any); m["mountPath"] == path && m["readOnly"] == true {
				return m["name"].(string)
			}
		}
	}
	return ""
}

// sourcesOf returns the sources of a projected volume.
func sourcesOf(t *testing.T, deployment *unstructured.Unstructured, volume string) []map[string]any {
	t.Helper()
	volumes, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "volumes")
	for _, each := range volumes {
		v := each.(map[string]any)
		if v["name"] != volume {
			continue
		}
		list, _, _ := unstructured.NestedSlice(v, "projected", "sources")
		sources := make([]map[string]any, 0, len(list))
		for _, s := range list {
			sources = append(sources, s.(map[string]any))
		}
		return sources
	}
	t.Fatalf("there is no volume %s", volume)
	return nil
}

// filesOf returns the paths of the files of a projected source.
func filesOf(source map[string]any) []string {
	var files []string
	for _, s := range source {
		s := s.(map[string]any)
		if path, ok := s["path"].(string); ok {
			files = append(files, path)
		}
		items, _, _ := unstructured.NestedSlice(s, "items")
		for _, item := range items {
			files = append(files, item.(map[string]any)["path"].(string))
		}
	}
	return files
}

// Each container has a separate account, with a token that no other container of the pod can read.
func TestIdentity_isSeparateForEachContainer(t *testing.T) {
	for _, v := range variants {
		t.Run(v.overlay, func(t *testing.T) {
			objects := kustomize(t, v.overlay)
			deployment := find(t, objects, "Deployment")
			if shared, _, _ := unstructured.NestedBool(deployment.Object, "spec", "template", "spec", "shareProcessNamespace"); shared {
				t.Error("containers that share processes read each other's files")
			}
			if mounted, found, _ := unstructured.NestedBool(deployment.Object, "spec", "template", "spec", "automountServiceAccountToken"); mounted || !found {
				t.Error("the pod's own token is mounted into every container")
			}
			for _, name := range binaries {
				c := credentialOf(t, objects, name)
				if c.account != env.Account(name) {
					t.Errorf("%s goes by %s, want %s", name, c.account, env.Account(name))
				}
				if (c.secret == "") != (name == "propagation") {
					t.Errorf("%s has its token from Secret %q: the one of limited life belongs to the account with the most rights", name, c.secret)
				}
				checkTokenVolume(t, deployment, name, strings.HasPrefix(v.overlay, "rhacm") && name == "resourcesync")
			}
		})
	}
}

func checkTokenVolume(t *testing.T, deployment *unstructured.Unstructured, name string, serviceCA bool) {
	t.Helper()
	volume := mountedAt(t, deployment, name, tokenPath)
	if volume == "" {
		t.Fatalf("%s mounts no token read-only", name)
	}
	for _, c := range containers(t, deployment) {
		mounts, _, _ := unstructured.NestedSlice(c, "volumeMounts")
		for _, each := range mounts {
			if each.(map[string]any)["name"] == volume && c["name"] != name {
				t.Errorf("%s mounts the token of %s", c["name"], name)
			}
		}
	}
	want := []string{"ca.crt", "namespace", "token"}
	if serviceCA {
		want = []string{"ca.crt", "namespace", "service-ca.crt", "token"}
	}
	var files []string
	for _, source := range sourcesOf(t, deployment, volume) {
		files = append(files, filesOf(source)...)
		if life, ok, _ := unstructured.NestedFieldNoCopy(source, "serviceAccountToken", "expirationSeconds"); ok && fmt.Sprint(life) != "3600" {
			t.Errorf("the token of %s lives %v seconds", name, life)
		}
	}
	if slices.Sort(files); !slices.Equal(files, want) {
		t.Errorf("%s finds %q at %s, want %q", name, files, tokenPath, want)
	}
}
