// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health has rules for the health of resources on a managed cluster. They are CEL
// expressions. The work agent evaluates them and reports conditions of the manifest, which Argo
// CD's health check for ManifestWorks reads.
package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
)

// These are the condition types that the rules set on a manifest. OCM combines them over all
// manifests of a work: Healthy is false if one is, Progressing is true if one is. Progressing=False
// with Healthy=False means that waiting will not help.
const (
	Healthy     = "Healthy"
	Progressing = "Progressing"
)

// Rules returns the condition rules for resources of a kind. It returns none for kinds that are
// healthy as soon as they exist. A healthyWhen that is not empty replaces the rule of the kind's
// health. The rules of its failures stay.
func Rules(kind schema.GroupKind, healthyWhen string) []workv1.ConditionRule {
	r, found := rules[kind]
	if !found && strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io") {
		r, found = custom, true
	}
	if healthyWhen != "" {
		r.healthy, found = healthyWhen, true
	}
	if !found {
		return nil
	}
	if r.failed == "" {
		r.failed = "false"
	}
	if r.message != "" {
		r.message = "result ? '' : (" + r.message + ")" // without a message, the agent's default
	}
	return []workv1.ConditionRule{
		{
			Type: workv1.CelConditionExpressionsType, Condition: Healthy,
			CelExpressions: []string{r.healthy}, MessageExpression: r.message,
		},
		{
			Type: workv1.CelConditionExpressionsType, Condition: Progressing,
			CelExpressions: []string{"!(" + r.healthy + ")", "!(" + r.failed + ")"},
		},
	}
}

// ScrapeType returns how the agent observes changes. It watches workloads, because their health
// changes while a sync waits for it, and polls other kinds. An agent has 50 watches, each for one
// resource in one namespace.
func ScrapeType(kind schema.GroupKind) workv1.FeedbackScrapeType {
	if rules[kind].workload {
		return workv1.FeedbackWatchType
	}
	return workv1.FeedbackPollType
}

// rule has CEL expressions over "object". None of them may fail for an object that its controller
// has not processed yet.
type rule struct {
	healthy  string // true: it is in the state of its spec
	failed   string // true if it will not become healthy by itself, "" if that cannot be observed
	message  string // a string, shown while it is not healthy
	workload bool
}

const (
	conditions = "object.?status.?conditions.orValue([])"
	observed   = "object.?status.?observedGeneration.orValue(0) >= object.metadata.generation"
	replicas   = "object.?spec.?replicas.orValue(1)"
	// replicaFailure is true if pods cannot be created, because of a quota or a policy.
	replicaFailure = conditions + ".exists(c, c.type == 'ReplicaFailure' && c.status == 'True')"
)

func status(field string) string { return "object.?status.?" + field + ".orValue(0)" }

// isTrue is an expression for a condition that is true.
func isTrue(conditionType string) string {
	return conditions + ".exists(c, c.type == '" + conditionType + "' && c.status == 'True')"
}

// messageOf is the message of the first condition c for which filter holds, else
// another expression.
func messageOf(filter, otherwise string) string {
	return "(" + conditions + ".map(c, " + filter + ", c.?message.orValue('')) + [" + otherwise + "])[0]"
}

func count(ready, want, what string) string {
	return "string(" + ready + ") + ' of ' + string(" + want + ") + ' " + what + "'"
}

// custom is for resources that a controller of the cluster reconciles. Resources without a Ready
// condition are healthy if they exist.
var custom = rule{
	healthy: "type(" + conditions + ") != list || (object.?status.?observedGeneration.orValue(object.metadata.generation) >= object.metadata.generation && " +
		conditions + ".all(c, c.?type.orValue('') != 'Ready' || " +
		"(c.?status.orValue('') == 'True' && c.?observedGeneration.orValue(object.metadata.generation) >= object.metadata.generation)))",
	message: "type(" + conditions + ") != list ? '' : " + messageOf("c.?type.orValue('') == 'Ready'", "'not ready'"),
}

// rules are the rules of Kubernetes' own kinds. If Argo CD has a rule for the same kind, this one
// agrees with it. In addition, a Deployment must not have old pods.
var rules = map[schema.GroupKind]rule{
	{Group: "apps", Kind: "Deployment"}: {
		healthy: observed + " && " + status("updatedReplicas") + " >= " + replicas + " && " + status("replicas") + " <= " + status("updatedReplicas") +
			" && " + status("availableReplicas") + " >= " + replicas,
		failed: replicaFailure + " || object.?status.?conditions.orValue([]).exists(c, c.type == 'Progressing' && c.?reason.orValue('') == 'ProgressDeadlineExceeded')",
		message: messageOf("c.type == 'ReplicaFailure' && c.status == 'True' || c.type == 'Progressing' && c.?reason.orValue('') == 'ProgressDeadlineExceeded'",
			count(status("availableReplicas"), replicas, "replicas available")),
		workload: true,
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		healthy: observed + " && " + status("readyReplicas") + " >= " + replicas + " && (object.?spec.?updateStrategy.?type.orValue('') == 'OnDelete' || " +
			status("updatedReplicas") + " >= " + replicas + " - object.?spec.?updateStrategy.?rollingUpdate.?partition.orValue(0))",
		message:  count(status("readyReplicas"), replicas, "replicas ready"),
		workload: true,
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		healthy: observed + " && " + status("numberAvailable") + " >= " + status("desiredNumberScheduled") +
			" && (object.?spec.?updateStrategy.?type.orValue('') == 'OnDelete' || " + status("updatedNumberScheduled") + " >= " + status("desiredNumberScheduled") + ")",
		message:  count(status("numberAvailable"), status("desiredNumberScheduled"), "pods available"),
		workload: true,
	},
	{Group: "apps", Kind: "ReplicaSet"}: {
		healthy:  observed + " && " + status("availableReplicas") + " >= " + replicas,
		failed:   replicaFailure,
		message:  messageOf("c.type == 'ReplicaFailure' && c.status == 'True'", count(status("availableReplicas"), replicas, "replicas available")),
		workload: true,
	},
	{Group: "batch", Kind: "Job"}: {
		healthy:  isTrue("Complete"),
		failed:   isTrue("Failed"),
		message:  messageOf("c.type == 'Failed' && c.status == 'True'", count(status("succeeded"), "object.?spec.?completions.orValue(1)", "pods completed")),
		workload: true,
	},
	{Kind: "Pod"}: {
		healthy:  "object.?status.?phase.orValue('') == 'Succeeded' || (object.?status.?phase.orValue('') == 'Running' && " + isTrue("Ready") + ")",
		failed:   "object.?status.?phase.orValue('') == 'Failed' || object.?status.?containerStatuses.orValue([]).exists(s, s.?state.?waiting.?reason.orValue('').endsWith('BackOff'))",
		message:  "object.?status.?message.orValue('') != '' ? object.status.message : 'phase ' + object.?status.?phase.orValue('unknown')",
		workload: true,
	},
	{Kind: "PersistentVolumeClaim"}: {
		healthy: "object.?status.?phase.orValue('') == 'Bound'",
		failed:  "object.?status.?phase.orValue('') == 'Lost'",
		message: "'phase ' + object.?status.?phase.orValue('unknown')",
	},
	{Kind: "Service"}: {
		healthy: "object.?spec.?type.orValue('') != 'LoadBalancer' || size(object.?status.?loadBalancer.?ingress.orValue([])) > 0",
		message: "'no load balancer has answered'",
	},
	{Group: "networking.k8s.io", Kind: "Ingress"}: {
		healthy: "size(object.?status.?loadBalancer.?ingress.orValue([])) > 0",
		message: "'no ingress controller has answered'",
	},
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {
		healthy: isTrue("Established"),
		failed:  conditions + ".exists(c, c.type == 'NamesAccepted' && c.status == 'False')",
		message: messageOf("c.status == 'False'", "'not established'"),
	},
	{Group: "apiregistration.k8s.io", Kind: "APIService"}: {
		healthy: isTrue("Available"),
		message: messageOf("c.type == 'Available'", "'not available'"),
	},
}
