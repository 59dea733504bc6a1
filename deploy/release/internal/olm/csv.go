// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"
	"time"

	"sigs.k8s.io/yaml"
)

// csv completes the ClusterServiceVersion that a person wrote.
func (in Input) csv(s *sorted, packageName string) (object, error) {
	var csv object
	if err := yaml.Unmarshal(in.CSV, &csv); err != nil {
		return nil, fmt.Errorf("parse the ClusterServiceVersion: %w", err)
	}
	if kindOf(csv) != "ClusterServiceVersion" {
		return nil, fmt.Errorf("what a person wrote of the ClusterServiceVersion is of kind %q", kindOf(csv))
	}
	images := in.describe(csv, s)
	metadata, spec := child(csv, "metadata"), child(csv, "spec")
	metadata["name"] = packageName + ".v" + in.Version
	supported := child(metadata, "labels")
	supported["operatorframework.io/os.linux"] = "supported"
	for _, architecture := range in.Architectures {
		supported["operatorframework.io/arch."+architecture] = "supported"
	}
	spec["version"], spec["relatedImages"] = in.Version, images
	if err := own(spec, s.crds); err != nil {
		return nil, err
	}
	permissions, cluster, err := rights(s)
	if err != nil {
		return nil, err
	}
	spec["install"] = object{"strategy": "deployment", "spec": object{
		"deployments": []any{object{
			"name": nameOf(s.deployment), "label": field[object](s.deployment, "metadata", "labels"), "spec": s.deployment["spec"],
		}},
		"permissions": permissions, "clusterPermissions": cluster,
	}}
	return csv, nil
}

// describe annotates the ClusterServiceVersion and returns the images of its containers.
func (in Input) describe(csv object, s *sorted) []any {
	annotations := child(child(csv, "metadata"), "annotations")
	annotations["createdAt"] = in.Created.UTC().Format(time.RFC3339)
	annotations["operatorframework.io/suggested-namespace"] = s.namespace
	// Every installed version may be upgraded to this one, because stored reports need no
	// migration.
	annotations["olm.skipRange"] = "<" + in.Version
	if in.Source != "" {
		annotations["repository"] = in.Source
	}
	var images []any
	for _, each := range field[[]any](s.deployment, "spec", "template", "spec", "containers") {
		container, ok := each.(object)
		if !ok {
			continue
		}
		if len(images) == 0 {
			annotations["containerImage"] = container["image"]
		}
		images = append(images, object{"name": container["name"], "image": container["image"]})
	}
	return images
}

// own completes the descriptions of the CRDs.
func own(spec object, crds []object) error {
	described := map[string]object{}
	owned := field[[]any](spec, "customresourcedefinitions", "owned")
	for _, each := range owned {
		if o, ok := each.(object); ok {
			described[field[string](o, "name")] = o
		}
	}
	if len(described) != len(crds) {
		return fmt.Errorf("the ClusterServiceVersion describes %d CRDs, there are %d", len(described), len(crds))
	}
	for _, crd := range crds {
		o, ok := described[nameOf(crd)]
		if !ok {
			return fmt.Errorf("describe CRD %s in the ClusterServiceVersion", nameOf(crd))
		}
		o["kind"] = field[string](crd, "spec", "names", "kind")
		for _, each := range field[[]any](crd, "spec", "versions") {
			if version, ok := each.(object); ok && version["storage"] == true {
				o["version"] = version["name"]
			}
		}
	}
	return nil
}

// rights returns the rules of each ServiceAccount, in the operator's namespace and in the cluster.
func rights(s *sorted) (permissions, cluster []any, err error) {
	rules := map[string]any{}
	for _, role := range s.roles {
		rules[kindOf(role)+" "+nameOf(role)] = role["rules"]
	}
	bound := map[string]bool{}
	for _, binding := range s.bindings {
		role := field[string](binding, "roleRef", "kind") + " " + field[string](binding, "roleRef", "name")
		granted, ok := rules[role]
		if !ok {
			return nil, nil, fmt.Errorf("%s %s binds %s, which is not rendered", kindOf(binding), nameOf(binding), role)
		}
		bound[role] = true
		for _, each := range field[[]any](binding, "subjects") {
			subject, ok := each.(object)
			if !ok || subject["kind"] != "ServiceAccount" || subject["namespace"] != s.namespace {
				return nil, nil, fmt.Errorf("%s %s is for %v: OLM grants to ServiceAccounts of namespace %s only", kindOf(binding), nameOf(binding), each, s.namespace)
			}
			grant := object{"serviceAccountName": subject["name"], "rules": granted}
			if kindOf(binding) == "ClusterRoleBinding" {
				cluster = append(cluster, grant)
			} else {
				permissions = append(permissions, grant)
			}
		}
	}
	for role := range rules {
		if !bound[role] {
			return nil, nil, fmt.Errorf("%s is bound to nobody: a bundle has no place for it", role)
		}
	}
	return permissions, cluster, nil
}
