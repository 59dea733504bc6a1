// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
)

// Place is the cluster, the AppProject and the namespace there of an Application of a hub
// namespace.
type Place struct {
	// Namespace is the namespace of the hub Application.
	Namespace string
	// Bound is true if a PlacementDecision in Namespace selects the cluster, or none is required.
	Bound bool
	// ProjectName is the AppProject that the delivered Application names, or "" if the work
	// delivers none. Project is the hub's AppProject of that name, or nil.
	ProjectName string
	Project     *argocd.AppProject
	// Target is the namespace on the cluster, or "" if the work delivers no Application.
	Target string
}

// Permission returns the permissions that the hub grants for p. Empty and malformed values remove
// no permission. They are reported when the desired delivery is checked.
func (s Settings) Permission(p Place) Permission {
	may := Permission{Bound: p.Bound, Project: true, Namespace: true}
	if p.Namespace == s.ArgoCDNamespace || p.Target == "" || len(validation.IsDNS1123Label(p.Target)) > 0 {
		return may
	}
	may.Namespace = p.Target == p.Namespace || s.AppNamespaces.Allow(p.Namespace, p.Target)
	switch {
	case p.ProjectName == "":
	case p.Project == nil:
		may.Project = p.Target == p.Namespace // no AppProject would restrict it in another namespace
	default:
		admits, err := admits(p.Project.Spec, p.Namespace)
		may.Project = admits || err != nil
	}
	return may
}

// admits reports whether an AppProject admits Applications of a namespace, by the rules of Argo CD
// (AppProject.IsAppNamespacePermitted).
func admits(project json.RawMessage, namespace string) (bool, error) {
	if len(project) == 0 {
		return false, nil
	}
	var spec struct {
		SourceNamespaces []string `json:"sourceNamespaces"`
	}
	if err := json.Unmarshal(project, &spec); err != nil {
		return false, errors.New("it is no list of names")
	}
	return pattern.Any(spec.SourceNamespaces, namespace), nil
}
