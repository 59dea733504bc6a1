// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Inputs is what a decision rests on, read before anything is decided.
type Inputs struct {
	Application *argocd.Application
	// Cluster is nil when there is no such ManagedCluster.
	Cluster *clusterv1.ManagedCluster
	// Bound: a PlacementDecision in the Application's namespace selects the cluster,
	// or no label asks for one.
	Bound bool
	// HubProject is the hub's AppProject of the name that the Application gives, nil
	// when there is none; Project is the same when it is to travel.
	HubProject, Project *argocd.AppProject
	// Windows is the hub's AppProject when its sync windows were to hold on the managed
	// cluster, too, and do not, since it stays on the hub.
	Windows *argocd.AppProject
	// DeletionPolicy is what the Application, or else its ApplicationSet, says.
	DeletionPolicy DeletionPolicy
	// ByAgent is the agent of argocd-agent that the Application goes to by way of its
	// principal, "" for none.
	ByAgent string
	// HasAgent: the cluster has an agent of argocd-agent.
	HasAgent bool
	// ArgoCDNamespace and appNamespaces are settings.
	ArgoCDNamespace string
	AppNamespaces   AppNamespaces
}

// guard refuses delivery or returns nil.
type guard func(Inputs) *Decision

// Decide runs the guards; the first that refuses decides.
func Decide(in Inputs) Decision {
	for _, g := range []guard{pullRequested, clusterNamed, clusterUsable, clusterBound, namespaceAllowed, projectAllowed, deliveredOnce, wellFormed} {
		if d := g(in); d != nil {
			return *d
		}
	}
	return Decision{Deliver: true, Warnings: warnings(in)}
}

// pullRequested: the Application asks to be pulled.
func pullRequested(in Inputs) *Decision {
	label, labelled := in.Application.Labels[contract.PullLabel]
	_, annotated := in.Application.Annotations[contract.ClusterAnnotation]
	yes, ok := contract.IsTrue(label)
	switch {
	case yes:
		return nil
	case !ok:
		return refuse(ReasonInvalidLabel, "label %s is %q, which is no boolean: set it to \"true\" or remove it", contract.PullLabel, label)
	case labelled:
		return refuseAsWarning(ReasonTurnedOff, "not delivered: label %s is %q; set it to \"true\" to deliver, or remove it", contract.PullLabel, label)
	case annotated:
		return refuseAsWarning(ReasonNoLabel, "not delivered: annotation %s names a cluster but label %s is missing; set the label to \"true\", or remove the annotation", contract.ClusterAnnotation, contract.PullLabel)
	}
	return &Decision{}
}

// clusterNamed: the Application names a place where a cluster can be.
func clusterNamed(in Inputs) *Decision {
	cluster := in.Application.Annotations[contract.ClusterAnnotation]
	if cluster == "" {
		return refuse(ReasonNoCluster, "not delivered: annotation %s is missing; set it to the name of a ManagedCluster", contract.ClusterAnnotation)
	}
	if !IsClusterName(cluster) {
		return refuse(ReasonInvalidTarget, "not delivered: annotation %s is %q, which cannot be the name of a ManagedCluster; correct it", contract.ClusterAnnotation, cluster)
	}
	return nil
}

// IsClusterName reports whether a ManagedCluster, and with it a namespace, can be
// called that. There is positively no cluster of another name.
func IsClusterName(name string) bool {
	return name != "" && len(validation.IsDNS1123Subdomain(name)) == 0 && len(name) <= validation.DNS1123LabelMaxLength
}

// deliveredOnce: no agent of argocd-agent delivers the Application to a cluster. What runs stays: an
// agent that has just come to its cluster must not cost it.
func deliveredOnce(in Inputs) *Decision {
	if in.ByAgent == "" {
		return nil
	}
	return refuseAndKeep(ReasonAlsoByAgent,
		"not delivered: the principal of argocd-agent delivers it as well, to agent %q, which spec.destination.name says; remove label %s to leave it to argocd-agent, or remove that name or set label %s to \"true\" to go on by pull",
		in.ByAgent, contract.PullLabel, argocd.IgnoreSyncLabel)
}

// wellFormed: what else the Application says can be followed. A slip in it costs an
// update, never the copy that runs.
func wellFormed(in Inputs) *Decision {
	if namespace := in.Application.Annotations[contract.AppNamespaceAnnotation]; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return refuseAndKeep(ReasonInvalidTarget, "not delivered: annotation %s is %q, which cannot be the name of a namespace; correct or remove it", contract.AppNamespaceAnnotation, namespace)
	}
	if in.DeletionPolicy.Problem != "" {
		return refuseAndKeep(ReasonInvalidTarget, "not delivered: %s", in.DeletionPolicy.Problem)
	}
	if !payload.IsManagementPolicy(in.Application) {
		return refuseAndKeep(ReasonInvalidTarget, "not delivered: annotation %s is %.100q: want %s or %s, or remove it",
			contract.ManagementPolicyAnnotation, in.Application.Annotations[contract.ManagementPolicyAnnotation], payload.ManagementNoTakeover, payload.ManagementObserve)
	}
	if _, err := payload.Redirect(in.Application.Spec, in.Application.Annotations); err != nil {
		return refuseAndKeep(ReasonInvalidSpec, "not delivered: %v; correct it", err)
	}
	return nil
}

// clusterUsable: the cluster exists, stays, and is not the hub itself.
func clusterUsable(in Inputs) *Decision {
	name := in.Application.Annotations[contract.ClusterAnnotation]
	switch {
	case in.Cluster == nil:
		return refuse(ReasonUnknownCluster, "not delivered: there is no ManagedCluster %q; correct annotation %s or register the cluster", name, contract.ClusterAnnotation)
	case contract.IsHub(in.Cluster.Name, in.Cluster.Labels):
		return refuse(ReasonLocalCluster, "not delivered: ManagedCluster %q is the hub itself; let the hub's own Argo CD deploy there, or choose another cluster", name)
	case in.Cluster.DeletionTimestamp != nil:
		return refuse(ReasonClusterLeaving, "not delivered: ManagedCluster %q is being removed; choose another cluster", name)
	}
	return nil
}

// clusterBound: the Application's namespace may use the cluster.
func clusterBound(in Inputs) *Decision {
	if in.Bound {
		return nil
	}
	return refuse(ReasonNotBound,
		"not delivered: no PlacementDecision in namespace %q selects cluster %q; create a Placement there that selects it (with a ManagedClusterSetBinding), or choose another cluster",
		in.Application.Namespace, in.Application.Annotations[contract.ClusterAnnotation])
}

func warnings(in Inputs) []Message {
	var found []Message
	if !argocd.SkipsReconcile(in.Application.Annotations) {
		found = append(found, Message{ReasonSkipReconcile, fmt.Sprintf(
			"delivered, but the hub's own Argo CD may deploy it too: set annotation %s to \"true\"", argocd.SkipReconcileAnnotation)})
	}
	if in.Project != nil && !projectAllows(in.Project.Spec, in.Application.Spec, in.Application.Annotations) {
		name, server := payload.Destination(in.Application.Annotations)
		found = append(found, Message{ReasonProjectForbids, fmt.Sprintf(
			"delivered, but AppProject %q does not allow destination %s on the managed cluster: add it to spec.destinations of the project", in.Project.Name, name+server)})
	}
	if in.Project != nil && payload.WindowEscaped(in.Project.Spec, in.Application) {
		name, server := payload.Destination(in.Application.Annotations)
		found = append(found, Message{ReasonWindow, fmt.Sprintf(
			"delivered, but a sync window of AppProject %q that is about cluster %q is not about destination %s, which an annotation names, and has no effect there: add the destination to the clusters of the window",
			in.Project.Name, in.Application.Annotations[contract.ClusterAnnotation], name+server)})
	}
	if in.Windows != nil && payload.Windowed(in.Windows.Spec, in.Application) {
		found = append(found, Message{ReasonWindow, fmt.Sprintf(
			"delivered, but AppProject %q is not, so its sync windows have no effect there: choose another project, or set the window on the managed cluster", in.Windows.Name)})
	}
	return found
}
