// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// The Argo CD of a managed cluster takes every Application in its own namespace for
// one of its administrator's, and the hub's never looks at a pulled one. So what
// Argo CD would hold against an Application outside its namespace is held against it
// here, before it leaves the hub. Applications of the Argo CD namespace are the
// administrator's own and go where they like.

// AppNamespace lets the Applications of hub namespaces go to another namespace on
// managed clusters.
type AppNamespace struct {
	// Hub is a [pattern.Glob] for the hub Application's namespace, Target the
	// namespace that it may be delivered to.
	Hub, Target string
}

// AppNamespaces is a list of them, and the value of a flag.
type AppNamespaces []AppNamespace

// String returns the list as [AppNamespaces.Set] takes it.
func (l *AppNamespaces) String() string {
	pairs := make([]string, len(*l))
	for i, n := range *l {
		pairs[i] = n.Hub + "=" + n.Target
	}
	return strings.Join(pairs, ",")
}

// Set replaces the list by one of pairs "<hub namespace>=<target namespace>" with
// commas between them; a glob with alternatives must be given as several pairs.
func (l *AppNamespaces) Set(value string) error {
	*l = nil
	for pair := range strings.SplitSeq(value, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		hub, target, ok := strings.Cut(pair, "=")
		if !ok || hub == "" {
			return fmt.Errorf("%q: want <hub namespace>=<namespace on the managed cluster>", pair)
		}
		if len(validation.IsDNS1123Label(target)) > 0 {
			return fmt.Errorf("%q: %q cannot be the name of a namespace", pair, target)
		}
		if strings.ContainsAny(hub, "{}/") {
			return fmt.Errorf("%q: %q may be a name or a pattern with *, ? and [sets]", pair, hub)
		}
		*l = append(*l, AppNamespace{Hub: hub, Target: target})
	}
	return nil
}

// Allow reports whether Applications of a hub namespace may be delivered to a target namespace.
func (l AppNamespaces) Allow(hub, target string) bool {
	for _, n := range l {
		if n.Target == target && pattern.Glob(n.Hub, hub) {
			return true
		}
	}
	return false
}

// namespaceAllowed: the Application may be in the namespace that it asks for.
func namespaceAllowed(in Inputs) *Decision {
	target := payload.DeliveredNamespace(in.Application)
	if in.inArgoCDNamespace() || target == in.Application.Namespace || in.AppNamespaces.Allow(in.Application.Namespace, target) {
		return nil
	}
	if len(validation.IsDNS1123Label(target)) > 0 {
		return nil // a slip, not a wish
	}
	return refuse(ReasonNamespaceDenied,
		"not delivered: annotation %s asks for namespace %q on the managed cluster, and Applications of namespace %q stay in theirs; remove the annotation, or have the administrator add %s=%s to propagation's --allowed-app-namespaces",
		contract.AppNamespaceAnnotation, target, in.Application.Namespace, in.Application.Namespace, target)
}

// projectAllowed: the hub's AppProject of that name takes Applications from the
// Application's namespace. That holds for every project, "default" included, which
// does not travel itself: what the hub's forbids must not be had for being forgotten.
// A project that the hub does not have does not travel either. The managed cluster's
// own then judges the namespace, unless the Application leaves it: then no project would.
func projectAllowed(in Inputs) *Decision {
	if in.inArgoCDNamespace() {
		return nil
	}
	name := payload.ProjectName(in.Application)
	if in.HubProject == nil {
		target := payload.DeliveredNamespace(in.Application)
		if target == in.Application.Namespace || len(validation.IsDNS1123Label(target)) > 0 {
			return nil // at home, or a slip that is spoken of elsewhere
		}
		return refuse(ReasonProjectDenied,
			"not delivered: there is no AppProject %q in namespace %q of the hub, and an Application that leaves its namespace needs one; create it with %q in spec.sourceNamespaces, or choose another project",
			name, in.ArgoCDNamespace, in.Application.Namespace)
	}
	allowed, err := sourceAllowed(in.HubProject.Spec, in.Application.Namespace)
	switch {
	case err != nil:
		return refuse(ReasonProjectDenied, "not delivered: AppProject %q of the hub cannot be read: spec.sourceNamespaces: %v; correct it", name, err)
	case !allowed:
		return refuse(ReasonProjectDenied,
			"not delivered: spec.sourceNamespaces of AppProject %q on the hub does not allow Applications of namespace %q; have the administrator add the namespace there, or choose another project",
			name, in.Application.Namespace)
	}
	return nil
}

// inArgoCDNamespace: the Application is in the hub's Argo CD namespace.
func (in Inputs) inArgoCDNamespace() bool { return in.Application.Namespace == in.ArgoCDNamespace }

// sourceAllowed reports whether an AppProject takes Applications of a namespace, by
// the rules of Argo CD (AppProject.IsAppNamespacePermitted).
func sourceAllowed(project json.RawMessage, namespace string) (bool, error) {
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
