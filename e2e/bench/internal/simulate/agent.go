// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// began is the time of the last change of every condition.
const began = "2026-01-02T03:04:05Z"

// Revision returns the n-th commit. It has the length of a real commit and occurs nowhere else.
func Revision(n int) string { return fmt.Sprintf("be%038x", n) }

// Feedback is the report of a managed cluster about an Application.
type Feedback struct {
	Health, Sync, Revision string
	// Request is the identity of the one-time request that the cluster has finished.
	Request string
}

// Healthy returns the feedback of an Application that runs a revision.
func Healthy(revision string) Feedback {
	return Feedback{Health: "Healthy", Sync: "Synced", Revision: revision}
}

// WorkStatus returns the status patch of a work agent that has applied the given generation of a ManifestWork
// and watches its Application.
func WorkStatus(set, cluster string, generation int64, f Feedback) []byte {
	condition := func(kind, reason, message string) object {
		return object{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": began, "observedGeneration": generation}
	}
	manifest := func(ordinal int, group, version, kind, resource, namespace, name string, values []object) object {
		return object{
			"resourceMeta": object{"ordinal": ordinal, "group": group, "version": version, "kind": kind, "resource": resource, "namespace": namespace, "name": name},
			"conditions": []object{
				condition("Applied", "AppliedManifestComplete", "Apply manifest complete"),
				condition("Available", "ResourceAvailable", "Resource is available"),
				condition("StatusFeedbackSynced", "StatusFeedbackSynced", ""),
			},
			"statusFeedback": object{"values": values},
		}
	}
	value := func(name, text string) object {
		return object{"name": name, "fieldValue": object{"type": "String", "string": text}}
	}
	values := []object{
		value(contract.FeedbackHealthStatus, f.Health), value(contract.FeedbackSyncStatus, f.Sync), value(contract.FeedbackSyncRevision, f.Revision),
		value(contract.FeedbackOperationPhase, "Succeeded"), value(contract.FeedbackOperationStartedAt, began),
		value(contract.FeedbackOperationFinishedAt, "2026-01-02T03:04:09Z"),
		value(contract.FeedbackOperationMessage, "successfully synced (all tasks run)"), value(contract.FeedbackReconciledAt, "2026-01-02T03:05:06Z"),
		value(contract.FeedbackOperationRevision, f.Revision),
	}
	if f.Request != "" {
		values = append(values, value(contract.FeedbackRequest, f.Request))
	}
	return encode(object{"status": object{
		"conditions": []object{
			condition("Applied", "AppliedManifestWorkComplete", "Apply manifest work complete"),
			condition("Available", "ResourcesAvailable", "All resources are available"),
		},
		"resourceStatus": object{"manifests": []object{
			manifest(0, "", "v1", "Namespace", "namespaces", "", Namespace, []object{}),
			manifest(1, "argoproj.io", "v1alpha1", "Application", "applications", Namespace, ApplicationName(set, cluster), values),
		}},
	}})
}

// ApplicationStatus returns the patch by which the mirror writes the status of a healthy Application.
func ApplicationStatus(revision string) []byte {
	return encode(object{"status": object{
		"health": object{"status": "Healthy"}, "sync": object{"status": "Synced", "revision": revision},
		"operationState": object{
			"operation": object{}, "phase": "Succeeded", "startedAt": began, "finishedAt": "2026-01-02T03:04:09Z", "message": "successfully synced (all tasks run)",
		},
	}})
}

// ReportOnlyWork returns a ManifestWork like propagation's, for an Application that does not exist on the
// hub. Propagation would delete it.
func ReportOnlyWork(set, cluster string) (name string, body []byte) {
	name = ApplicationName(set, cluster) + "-bench"
	return name, encode(object{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": object{
			"namespace": cluster, "name": name,
			"labels": object{contract.PullLabel: "true", contract.ApplicationSetLabel: "true", contract.ApplicationSetHashLabel: contract.ApplicationSetHash(Namespace, set)},
			"annotations": object{
				contract.HubNamespaceAnnotation: Namespace, contract.HubNameAnnotation: ApplicationName(set, cluster), contract.HostingAnnotation: Namespace + "/" + set,
			},
		},
		"spec": object{"workload": object{"manifests": []object{{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": object{"namespace": Namespace, "name": ApplicationName(set, cluster)}, "spec": spec(set),
		}}}},
	})
}

// Refresh returns the patch by which Argo CD's API server requests a refresh after a push.
func Refresh() []byte {
	return encode(object{"metadata": object{"annotations": object{"argocd.argoproj.io/refresh": "normal"}}})
}
