// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

//go:embed manifests.yaml
var manifests []byte

// parse reads the manifests once.
var parse = sync.OnceValues(func() ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifests of Argo CD: %w", err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return nil, fmt.Errorf("read the manifests of Argo CD: %w", err)
		}
		if len(o.Object) > 0 {
			list = append(list, o)
		}
	}
})

// Version is that of the Argo CD in the manifests, such as v3.2.11.
var Version = sync.OnceValue(func() string {
	list, _ := parse()
	for _, o := range list {
		if o.GetName() == controllerName && o.GetKind() == "StatefulSet" {
			image, _, _ := unstructured.NestedString(containers(o, "containers")[0], "image")
			_, tag, _ := strings.Cut(image, ":")
			return tag
		}
	}
	return ""
})

// objects returns what is delivered, in the order in which it is applied.
func objects(w Wanted) ([]*unstructured.Unstructured, error) {
	list := []*unstructured.Unstructured{object("v1", "Namespace", "", w.Namespace, nil), role(w)}
	if w.Install == InstallOperator {
		return append(list, argoCD(w), defaultProject(w)), nil
	}
	stock, err := parse()
	if err != nil {
		return nil, err
	}
	for _, o := range stock {
		if w.ClusterRole != "" && o.GetKind() == "ClusterRole" {
			continue
		}
		o, err := adapted(o.DeepCopy(), w)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return append(list, defaultProject(w)), nil
}

// adapted is a manifest of Argo CD for one cluster.
func adapted(o *unstructured.Unstructured, w Wanted) (*unstructured.Unstructured, error) {
	switch o.GetKind() {
	case "CustomResourceDefinition", "ClusterRole":
		return o, nil
	case "ClusterRoleBinding":
		return binding(o, w), nil
	}
	o.SetNamespace(w.Namespace)
	switch {
	case o.GetKind() == "Deployment" || o.GetKind() == "StatefulSet":
		for _, field := range []string{"containers", "initContainers"} {
			if err := images(o, field, w); err != nil {
				return nil, err
			}
		}
	case o.GetKind() == "NetworkPolicy" && strings.HasPrefix(o.GetName(), redisName):
		admitAgent(o)
	case o.GetName() == settingsName && w.ClusterRole != "":
		// Argo CD then watches what it may list, instead of nothing at all.
		_ = unstructured.SetNestedField(o.Object, "normal", "data", "resource.respectRBAC")
	}
	return o, nil
}

// binding gives Argo CD's controller its rights. What a binding refers to is immutable, so
// that of another ClusterRole is another one.
func binding(o *unstructured.Unstructured, w Wanted) *unstructured.Unstructured {
	if w.ClusterRole != "" {
		o.SetName(controllerName + ":" + w.ClusterRole)
		_ = unstructured.SetNestedField(o.Object, w.ClusterRole, "roleRef", "name")
	}
	subjects := listOf(o, "subjects")
	for _, s := range subjects {
		s["namespace"] = w.Namespace
	}
	return set(o, subjects, "subjects")
}

// admitAgent lets argocd-agent reach Redis, beside Argo CD's own components.
func admitAgent(o *unstructured.Unstructured) {
	rules := listOf(o, "spec", "ingress")
	for _, rule := range rules {
		from, _, _ := unstructured.NestedSlice(rule, "from")
		rule["from"] = append(from, map[string]any{
			"podSelector": map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/name": agent.PodName}},
		})
	}
	set(o, rules, "spec", "ingress")
}

// listOf returns a copy of a field that is a list of objects, set puts one into its place.
func listOf(o *unstructured.Unstructured, field ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, field...)
	found := make([]map[string]any, 0, len(list))
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

func containers(o *unstructured.Unstructured, field string) []map[string]any {
	return listOf(o, "spec", "template", "spec", field)
}

func set(o *unstructured.Unstructured, list []map[string]any, field ...string) *unstructured.Unstructured {
	all := make([]any, 0, len(list))
	for _, entry := range list {
		all = append(all, entry)
	}
	_ = unstructured.SetNestedSlice(o.Object, all, field...) // the fields above are objects: listOf found them
	return o
}

// images sets the images of some containers, as the cluster can pull them.
func images(o *unstructured.Unstructured, field string, w Wanted) error {
	list := containers(o, field)
	if len(list) == 0 {
		return nil
	}
	mirrors, err := agent.Registries(w.Registries)
	if err != nil {
		return fmt.Errorf("read the image registries of managed cluster %s: %w", w.Cluster, err)
	}
	for _, c := range list {
		image, _, _ := unstructured.NestedString(c, "image")
		own := w.Image
		if c["name"] == "redis" {
			own = w.RedisImage
		}
		if own != "" {
			image = own
		}
		c["image"] = agent.Mirrored(image, mirrors)
	}
	set(o, list, "spec", "template", "spec", field)
	return nil
}

func object(version, kind, namespace, name string, more map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	for field, value := range more {
		o.Object[field] = value
	}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// role lets the work agent apply what is pulled. It collects every ClusterRole with this label.
func role(w Wanted) *unstructured.Unstructured {
	resources := []any{"applications", "appprojects"}
	if w.Install == InstallOperator {
		resources = append(resources, "argocds")
	}
	o := object(rbacGroup+"/v1", "ClusterRole", "", workAgentRole, map[string]any{"rules": []any{map[string]any{
		"apiGroups": []any{argoGroup}, "resources": resources,
		"verbs": []any{"get", "list", "watch", "create", "update", "patch", "delete"},
	}}})
	o.SetLabels(map[string]string{"open-cluster-management.io/aggregate-to-work": "true"})
	return o
}

// defaultProject is what Argo CD's API server makes at its start, and no other component.
func defaultProject(w Wanted) *unstructured.Unstructured {
	return object(argoGroup+"/v1alpha1", "AppProject", w.Namespace, "default", map[string]any{"spec": map[string]any{
		"sourceRepos":              []any{"*"},
		"destinations":             []any{map[string]any{"namespace": "*", "server": "*"}},
		"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
	}})
}

// argoCD has an operator run the same components.
func argoCD(w Wanted) *unstructured.Unstructured {
	return object(argoGroup+"/v1beta1", "ArgoCD", w.Namespace, WorkName, map[string]any{"spec": map[string]any{
		"server": map[string]any{"enabled": false},
	}})
}
