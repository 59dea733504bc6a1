// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// Condition types on a hub Application that this package owns.
const (
	ErrorCondition   = "PullDeliveryError"
	WarningCondition = "PullDeliveryWarning"
)

// Reasons of findings, as in Events and metrics.
const (
	ReasonDelivered      = "Delivered"
	ReasonNotPulled      = "NotPulled"
	ReasonInvalidLabel   = "InvalidLabel"
	ReasonTurnedOff      = "TurnedOff"
	ReasonNoLabel        = "LabelMissing"
	ReasonNoCluster      = "ClusterAnnotationMissing"
	ReasonInvalidTarget  = "InvalidAnnotation"
	ReasonInvalidSpec    = "InvalidSpec"
	ReasonUnknownCluster = "ClusterUnknown"
	ReasonClusterLeaving = "ClusterLeaving"
	ReasonLocalCluster   = "LocalCluster"
	ReasonNotBound       = "NotBound"
	ReasonTooLarge       = "TooLarge"
	ReasonRefused        = "Refused"
	ReasonNameTaken      = "NameTaken"
	ReasonTaken          = "IdentityTaken"
	ReasonWaitingForOld  = "WaitingForWithdrawal"
	ReasonDeleting       = "Deleting"
	ReasonSkipReconcile  = "SkipReconcileMissing"
	ReasonProjectForbids = "ProjectForbidsDestination"
	ReasonRequestWaiting = "RequestWaiting"

	ReasonNamespaceDenied = "AppNamespaceNotAllowed"
	ReasonProjectDenied   = "ProjectNotAllowed"
)

// finding is one thing to say on an Application: why it is not delivered, or what
// is wrong although it is. The message ends with the remedy.
type finding struct {
	Reason, Message string
}

// verdict is what is to be done with an Application.
type verdict struct {
	// Deliver: it belongs on its cluster. Otherwise its works are withdrawn.
	Deliver bool
	// Refusal says why it is not delivered; empty when nobody asked for delivery.
	Refusal finding
	// Mild: the refusal is the user's own wish or slip, a warning and no error.
	Mild bool
	// Keep: what was delivered before stays on the target as it is.
	Keep bool
	// Withdrawn: nothing of it is left on the hub.
	Withdrawn bool
	// Warnings go with a delivery.
	Warnings []finding
}

// world is what a verdict rests on, read before anything is decided.
type world struct {
	app *argocd.Application
	// cluster is nil when there is no such ManagedCluster.
	cluster *clusterv1.ManagedCluster
	// bound: a PlacementDecision in the Application's namespace selects the cluster,
	// or nobody asks for one.
	bound bool
	// hubProject is the hub's AppProject of the name that the Application gives, nil
	// when there is none; project is the same when it is to travel.
	hubProject, project *argocd.AppProject
	// argocdNamespace and appNamespaces are settings.
	argocdNamespace string
	appNamespaces   AppNamespaces
}

// guard refuses delivery or returns nil.
type guard func(world) *verdict

// decide runs the guards; the first that refuses has the word.
func decide(w world) verdict {
	for _, g := range []guard{asked, targeted, known, allowed, inNamespace, inProject, wellFormed} {
		if v := g(w); v != nil {
			return *v
		}
	}
	return verdict{Deliver: true, Warnings: warnings(w)}
}

// asked: the Application asks to be pulled.
func asked(w world) *verdict {
	label, labelled := w.app.Labels[wire.PullLabel]
	_, annotated := w.app.Annotations[wire.ClusterAnnotation]
	yes, ok := wire.IsTrue(label)
	switch {
	case yes:
		return nil
	case !ok:
		return refuse(ReasonInvalidLabel, "label %s is %q, which is no boolean: set it to \"true\" or remove it", wire.PullLabel, label)
	case labelled:
		return mild(ReasonTurnedOff, "not delivered: label %s is %q; set it to \"true\" to deliver, or remove it", wire.PullLabel, label)
	case annotated:
		return mild(ReasonNoLabel, "not delivered: annotation %s names a cluster but label %s is missing; set the label to \"true\", or remove the annotation", wire.ClusterAnnotation, wire.PullLabel)
	}
	return &verdict{}
}

// targeted: the Application names a place where a cluster can be.
func targeted(w world) *verdict {
	cluster := w.app.Annotations[wire.ClusterAnnotation]
	if cluster == "" {
		return refuse(ReasonNoCluster, "not delivered: annotation %s is missing; set it to the name of a ManagedCluster", wire.ClusterAnnotation)
	}
	if !clusterName(cluster) {
		return refuse(ReasonInvalidTarget, "not delivered: annotation %s is %q, which cannot be the name of a ManagedCluster; correct it", wire.ClusterAnnotation, cluster)
	}
	return nil
}

// clusterName reports whether a ManagedCluster, and with it a namespace, can be
// called that. There is positively no cluster of another name.
func clusterName(name string) bool {
	return name != "" && len(validation.IsDNS1123Subdomain(name)) == 0 && len(name) <= validation.DNS1123LabelMaxLength
}

// wellFormed: what else the Application says can be followed. A slip in it costs an
// update, never the copy that runs.
func wellFormed(w world) *verdict {
	if namespace := w.app.Annotations[wire.AppNamespaceAnnotation]; namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return slip(ReasonInvalidTarget, "not delivered: annotation %s is %q, which cannot be the name of a namespace; correct or remove it", wire.AppNamespaceAnnotation, namespace)
	}
	if _, err := redirect(w.app.Spec, w.app.Annotations); err != nil {
		return slip(ReasonInvalidSpec, "not delivered: %v; correct it", err)
	}
	return nil
}

// known: the cluster exists, stays, and is not the hub itself.
func known(w world) *verdict {
	name := w.app.Annotations[wire.ClusterAnnotation]
	switch {
	case w.cluster == nil:
		return refuse(ReasonUnknownCluster, "not delivered: there is no ManagedCluster %q; correct annotation %s or register the cluster", name, wire.ClusterAnnotation)
	case isLocal(w.cluster):
		return refuse(ReasonLocalCluster, "not delivered: ManagedCluster %q is the hub itself; let the hub's own Argo CD deploy there, or choose another cluster", name)
	case w.cluster.DeletionTimestamp != nil:
		return refuse(ReasonClusterLeaving, "not delivered: ManagedCluster %q is being removed; choose another cluster", name)
	}
	return nil
}

// allowed: the Application's namespace may use the cluster.
func allowed(w world) *verdict {
	if w.bound {
		return nil
	}
	return refuse(ReasonNotBound,
		"not delivered: no PlacementDecision in namespace %q selects cluster %q; create a Placement there that selects it (with a ManagedClusterSetBinding), or choose another cluster",
		w.app.Namespace, w.app.Annotations[wire.ClusterAnnotation])
}

func warnings(w world) []finding {
	var found []finding
	if w.app.Annotations[argocd.SkipReconcileAnnotation] != "true" {
		found = append(found, finding{ReasonSkipReconcile, fmt.Sprintf(
			"delivered, but the hub's own Argo CD may deploy it too: set annotation %s to \"true\"", argocd.SkipReconcileAnnotation)})
	}
	if w.project != nil && !projectAllows(w.project.Spec, w.app.Spec, w.app.Annotations) {
		name, server := destination(w.app.Annotations)
		found = append(found, finding{ReasonProjectForbids, fmt.Sprintf(
			"delivered, but AppProject %q does not allow destination %s on the managed cluster: add it to spec.destinations of the project", w.project.Name, name+server)})
	}
	return found
}

func isLocal(cluster *clusterv1.ManagedCluster) bool {
	return cluster.Name == wire.LocalClusterLabel || cluster.Labels[wire.LocalClusterLabel] == "true"
}

func refuse(reason, format string, args ...any) *verdict {
	return &verdict{Refusal: finding{reason, fmt.Sprintf(format, args...)}}
}

// refusal is the verdict on a delivery that came to nothing.
func refusal(reason, format string, args ...any) verdict { return *refuse(reason, format, args...) }

func mild(reason, format string, args ...any) *verdict {
	v := refuse(reason, format, args...)
	v.Mild = true
	return v
}

func slip(reason, format string, args ...any) *verdict {
	v := refuse(reason, format, args...)
	v.Keep = true
	return v
}
