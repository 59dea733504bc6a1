// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A refusal removes nothing. The work on the cluster stays unchanged, without the update or the
// move.

// Deliverable reports whether nothing in the facts refuses the desired delivery.
func Deliverable(f Facts) bool {
	return f.Application != nil && off(f) == nil && refused(f) == nil
}

// off returns why the Application asks for no delivery. All its works are removed then.
func off(f Facts) *policy.Decision {
	label, labelled := f.Application.Labels[contract.PullLabel]
	cluster, annotated := f.Application.Annotations[contract.ClusterAnnotation]
	yes, ok := contract.IsTrue(label)
	switch {
	case !ok:
		return nil // refused
	case !yes && labelled:
		return policy.RefuseAsWarning(policy.ReasonTurnedOff, "not delivered: label %s is %q; set it to \"true\" to deliver, or remove it", contract.PullLabel, label)
	case !yes && annotated:
		return policy.RefuseAsWarning(policy.ReasonNoLabel, "not delivered: annotation %s names a cluster but label %s is missing; set the label to \"true\", or remove the annotation", contract.ClusterAnnotation, contract.PullLabel)
	case !yes:
		return &policy.Decision{}
	case cluster == "":
		return policy.Refuse(policy.ReasonNoCluster, "not delivered: annotation %s is missing; set it to the name of a ManagedCluster", contract.ClusterAnnotation)
	}
	return nil
}

// refused returns why the Application cannot be delivered as desired, or nil.
func refused(f Facts) *policy.Decision {
	label := f.Application.Labels[contract.PullLabel]
	if _, ok := contract.IsTrue(label); !ok {
		return policy.Refuse(policy.ReasonInvalidLabel, "label %s is %q, which is no boolean: set it to \"true\"; \"false\" or no label removes what is delivered", contract.PullLabel, label)
	}
	for _, guard := range []func(Facts) *policy.Decision{clusterUsable, clusterBound, namespaceAllowed, projectAllowed, deliveredOnce, wellFormed} {
		if d := guard(f); d != nil {
			return d
		}
	}
	return nil
}

// clusterUsable refuses a cluster that does not exist, that is being deleted, or that is the hub.
func clusterUsable(f Facts) *policy.Decision {
	name := f.Application.Annotations[contract.ClusterAnnotation]
	switch {
	case !policy.IsClusterName(name):
		return policy.Refuse(policy.ReasonInvalidTarget, "not delivered: annotation %s is %q, which cannot be the name of a ManagedCluster; correct it", contract.ClusterAnnotation, name)
	case !f.Target.Exists:
		return policy.Refuse(policy.ReasonUnknownCluster, "not delivered: there is no ManagedCluster %q; correct annotation %s or register the cluster", name, contract.ClusterAnnotation)
	case f.Target.Hub:
		return policy.Refuse(policy.ReasonLocalCluster, "not delivered: ManagedCluster %q is the hub itself; let the hub's own Argo CD deploy there, or choose another cluster", name)
	case f.Target.Leaving:
		return policy.Refuse(policy.ReasonClusterLeaving, "not delivered: ManagedCluster %q is being removed; choose another cluster", name)
	}
	return nil
}

// clusterBound refuses a cluster that the Application's namespace may not use.
func clusterBound(f Facts) *policy.Decision {
	if f.May.Bound {
		return nil
	}
	return policy.Refuse(policy.ReasonNotBound,
		"not delivered: no PlacementDecision in namespace %q selects cluster %q; create a Placement there that selects it (with a ManagedClusterSetBinding), or choose another cluster",
		f.Key.Namespace, f.Application.Annotations[contract.ClusterAnnotation])
}

// namespaceAllowed refuses a namespace on the cluster that is not allowed.
func namespaceAllowed(f Facts) *policy.Decision {
	target := payload.DeliveredNamespace(f.Application)
	switch {
	case len(validation.IsDNS1123Label(target)) > 0:
		return policy.Refuse(policy.ReasonInvalidTarget, "not delivered: annotation %s is %q, which cannot be the name of a namespace; correct or remove it", contract.AppNamespaceAnnotation, target)
	case f.May.Namespace:
		return nil
	}
	return policy.Refuse(policy.ReasonNamespaceDenied,
		"not delivered: annotation %s asks for namespace %q on the managed cluster, and Applications of namespace %q stay in theirs; remove the annotation, or have the administrator add %s=%s to propagation's --allowed-app-namespaces",
		contract.AppNamespaceAnnotation, target, f.Key.Namespace, f.Key.Namespace, target)
}

// projectAllowed refuses an AppProject on the hub that does not admit the Application's namespace.
// This includes "default", which is not delivered. A project that does not exist on the hub is not
// delivered either. The managed cluster's own project then decides, unless the Application gets
// another namespace there: then no project would.
func projectAllowed(f Facts) *policy.Decision {
	if f.Key.Namespace == f.Settings.ArgoCDNamespace {
		return nil
	}
	name := payload.ProjectName(f.Application)
	if f.Project != nil {
		if _, err := admits(f.Project.Spec, f.Key.Namespace); err != nil {
			return policy.Refuse(policy.ReasonProjectDenied, "not delivered: AppProject %q of the hub cannot be read: spec.sourceNamespaces: %v; correct it", name, err)
		}
	}
	switch {
	case f.May.Project:
		return nil
	case f.Project == nil:
		return policy.Refuse(policy.ReasonProjectDenied,
			"not delivered: there is no AppProject %q in namespace %q of the hub, and an Application that leaves its namespace needs one; create it with %q in spec.sourceNamespaces, or choose another project",
			name, f.Settings.ArgoCDNamespace, f.Key.Namespace)
	}
	return policy.Refuse(policy.ReasonProjectDenied,
		"not delivered: spec.sourceNamespaces of AppProject %q on the hub does not allow Applications of namespace %q; have the administrator add the namespace there, or choose another project",
		name, f.Key.Namespace)
}

// deliveredOnce refuses an Application that argocd-agent also delivers to a cluster.
func deliveredOnce(f Facts) *policy.Decision {
	if f.ByAgent == "" {
		return nil
	}
	return policy.Refuse(policy.ReasonAlsoByAgent,
		"not delivered: the principal of argocd-agent delivers it as well, to agent %q, which spec.destination.name says; remove that name or set label %s to \"true\" to go on by pull; to leave it to argocd-agent, first remove its finalizers, or what is delivered is pruned, then remove label %s",
		f.ByAgent, argocd.IgnoreSyncLabel, contract.PullLabel)
}

// wellFormed refuses other invalid values of the Application.
func wellFormed(f Facts) *policy.Decision {
	if f.StatusProblem != "" {
		return policy.Refuse(policy.ReasonInvalidSpec, "not delivered: %s; correct it", f.StatusProblem)
	}
	if p := policyOf(&f, f.Owner); p.Problem != "" {
		return policy.Refuse(policy.ReasonInvalidTarget, "not delivered: %s", p.Problem)
	}
	if !payload.IsManagementPolicy(f.Application) {
		return policy.Refuse(policy.ReasonInvalidTarget, "not delivered: annotation %s is %.100q: want %s or %s, or remove it",
			contract.ManagementPolicyAnnotation, f.Application.Annotations[contract.ManagementPolicyAnnotation], payload.ManagementNoTakeover, payload.ManagementObserve)
	}
	if name := payload.ProjectName(f.Application); f.ProjectProblem != "" && f.Project != nil && f.Settings.DeliverProject && name != argocd.DefaultProject {
		return policy.Refuse(policy.ReasonProjectDenied, "not delivered: what AppProject %q inherits is not known: %s; correct it", name, f.ProjectProblem)
	}
	if _, err := payload.Redirect(f.Application.Spec, f.Application.Annotations); err != nil {
		return policy.Refuse(policy.ReasonInvalidSpec, "not delivered: %v; correct it", err)
	}
	return nil
}
