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

// Place is where an Application of a hub namespace is, or is to be, and what the hub grants it.
type Place struct {
	// Namespace is the hub Application's.
	Namespace string
	// Bound: a PlacementDecision there selects the cluster, or none is asked for.
	Bound bool
	// ProjectName is the AppProject's that the delivered Application names, "" for a work that
	// delivers none. Project is the hub's of that name, nil for none.
	ProjectName string
	Project     *argocd.AppProject
	// Target is the namespace on the cluster, "" for a work that delivers none.
	Target string
}

// Permission returns what the hub grants a place. What is empty or malformed takes nothing away:
// a wish says more about it.
func (s Settings) Permission(p Place) Permission {
	may := Permission{Bound: p.Bound, Project: true, Namespace: true}
	if p.Namespace == s.ArgoCDNamespace || p.Target == "" || len(validation.IsDNS1123Label(p.Target)) > 0 {
		return may
	}
	may.Namespace = p.Target == p.Namespace || s.AppNamespaces.Allow(p.Namespace, p.Target)
	switch {
	case p.ProjectName == "":
	case p.Project == nil:
		may.Project = p.Target == p.Namespace // elsewhere no AppProject would judge it
	default:
		admits, err := admits(p.Project.Spec, p.Namespace)
		may.Project = admits || err != nil
	}
	return may
}

// admits reports whether an AppProject takes Applications of a namespace, by the rules of Argo
// CD (AppProject.IsAppNamespacePermitted).
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
