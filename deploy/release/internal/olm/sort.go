// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"
	"slices"
)

// sorted are the objects of an installation by who makes them.
type sorted struct {
	// namespace is the operator's own.
	namespace string
	// deployment, roles and bindings go into the ClusterServiceVersion, from which OLM
	// makes them in the operator's namespace.
	deployment      object
	roles, bindings []object
	// crds and what else OLM makes as it stands.
	crds, bundled []object
	// prerequisites are for the administrator.
	prerequisites []object
}

// tokenType is that of a Secret that Kubernetes fills with a ServiceAccount's token.
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
	// OLM makes these with the ClusterServiceVersion's rules, in its own namespace only.
	case "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding":
		switch {
		case !own:
			s.prerequisites = append(s.prerequisites, o)
		case kind == "ClusterRole" || kind == "Role":
			s.roles = append(s.roles, o)
		default:
			s.bindings = append(s.bindings, o)
		}
	// OLM makes Secrets before ServiceAccounts, and Kubernetes removes a token Secret whose
	// account is not there; at an upgrade OLM would clear the token.
	case "ServiceAccount":
		if slices.Contains(withToken, nameOf(o)) {
			s.prerequisites = append(s.prerequisites, o)
		}
	// Not every OLM and not every catalog takes a NetworkPolicy. OLM ignores the Namespace
	// of a bundle, and with it its Pod Security labels. It makes no admission policies.
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
