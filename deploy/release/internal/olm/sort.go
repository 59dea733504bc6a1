// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"
	"slices"
)

// sorted are the objects of an installation by their creator.
type sorted struct {
	// namespace is the namespace of the operator.
	namespace string
	// deployment, roles and bindings become a part of the ClusterServiceVersion, from which OLM
	// creates them in the operator's namespace.
	deployment      object
	roles, bindings []object
	// crds and bundled are objects that OLM creates unchanged.
	crds, bundled []object
	// prerequisites are objects that the administrator applies.
	prerequisites []object
}

// tokenType is the type of a Secret in which Kubernetes writes a ServiceAccount's token.
const (
	tokenType         = "kubernetes.io/service-account-token" //nolint:gosec // a type, no token
	accountAnnotation = "kubernetes.io/service-account.name"
)

func sortOut(objects []object) (*sorted, error) {
	out := &sorted{}
	var withToken []string // ServiceAccounts
	for _, o := range objects {
		switch kindOf(o) {
		case "Deployment":
			if out.deployment != nil {
				return nil, fmt.Errorf("there are Deployments %s and %s: a bundle of two is not provided for", nameOf(out.deployment), nameOf(o))
			}
			out.deployment, out.namespace = o, namespaceOf(o)
		case "Secret":
			if field[string](o, "type") == tokenType {
				annotations := field[object](o, "metadata", "annotations")
				withToken = append(withToken, field[string](annotations, accountAnnotation))
			}
		}
	}
	if out.deployment == nil {
		return nil, fmt.Errorf("the rendered manifests have no Deployment")
	}
	for _, o := range objects {
		if err := out.add(o, withToken); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *sorted) add(o object, withToken []string) error {
	kind := kindOf(o)
	own := namespaceOf(o) == "" || namespaceOf(o) == s.namespace
	switch kind {
	case "Deployment":
	case "CustomResourceDefinition":
		s.crds = append(s.crds, o)
		s.bundled = append(s.bundled, o)
	// OLM creates these from the rules in the ClusterServiceVersion, but only in its own namespace.
	case "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding":
		switch {
		case !own:
			s.prerequisites = append(s.prerequisites, o)
		case kind == "ClusterRole" || kind == "Role":
			s.roles = append(s.roles, o)
		default:
			s.bindings = append(s.bindings, o)
		}
	// OLM creates Secrets before ServiceAccounts, and Kubernetes deletes a token Secret without its
	// account. An upgrade by OLM would clear the token.
	case "ServiceAccount":
		if slices.Contains(withToken, nameOf(o)) {
			s.prerequisites = append(s.prerequisites, o)
		}
	// Some versions of OLM and some catalogs do not accept a NetworkPolicy. OLM ignores the
	// Namespace of a bundle, including its Pod Security labels, and creates no admission policies.
	case "Secret", "NetworkPolicy", "Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		s.prerequisites = append(s.prerequisites, o)
	case "Service", "PodDisruptionBudget":
		if !own {
			return fmt.Errorf("%s %s is in namespace %s: OLM would make it in %s", kind, nameOf(o), namespaceOf(o), s.namespace)
		}
		s.bundled = append(s.bundled, o)
	default:
		return fmt.Errorf("say in deploy/release/internal/olm what becomes of %s %s: OLM makes few kinds", kind, nameOf(o))
	}
	return nil
}
