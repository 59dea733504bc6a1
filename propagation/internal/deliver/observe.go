// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// observe makes current, or a new work, one that only reads the Application on its
// cluster, and says what delivering it would change. A work that delivers stays one: the
// agent owns what it has applied, and would remove it with a work that only reads.
func (r *Reconciler) observe(ctx context.Context, w policy.Inputs, current *manifestcache.Work, warnings []policy.Message) (result, error) {
	app := w.Application
	if current != nil && current.Annotations[contract.ObservedAnnotation] == "" {
		return result{decision: policy.Refuse(policy.ReasonInvalidTarget,
			"annotation %s is %s, but the Application is delivered to cluster %q (ManifestWork %s), which keeps what was delivered before; remove the annotation, or delete this Application and make it again",
			contract.ManagementPolicyAnnotation, payload.ManagementObserve, current.Namespace, current.Name)}, nil
	}
	want, err := payload.ManifestWork(r.payloadInputs(w, current, request.Request{}))
	if err != nil {
		return result{}, fmt.Errorf("build ManifestWork for Application %s: %w", client.ObjectKeyFromObject(app), err)
	}
	bindToUID(app, current, want)
	if _, err := r.applyWork(ctx, app, current, want, request.Plan{}); err != nil {
		return notApplied("not observed", current, err)
	}
	seen := observed(app, current)
	if len(app.Operation) > 0 {
		seen.Text += "; its operation waits until it is delivered"
	}
	return result{delivered: true, decision: policy.Decision{Deliver: true, Warnings: append([]policy.Message{seen}, warnings...)}}, nil
}

// observed says what is known of an Application that is only read.
func observed(app *argocd.Application, work *manifestcache.Work) policy.Message {
	there, cluster := payload.DeliveredName(app), app.Annotations[contract.ClusterAnnotation]
	m := policy.Message{Reason: policy.ReasonObserved, Text: fmt.Sprintf("not delivered, only observed (annotation %s): ", contract.ManagementPolicyAnnotation)}
	switch {
	case work == nil || work.AppNamespace == "":
		m.Text += fmt.Sprintf("cluster %q has not reported yet whether it has Application %s", cluster, there)
	case work.Extra.Missing:
		return policy.Message{Reason: policy.ReasonNotThere, Text: fmt.Sprintf(
			"not delivered, and there is nothing to observe: cluster %q has no Application %s; create it there, or remove annotation %s to deliver it", cluster, there, contract.ManagementPolicyAnnotation)}
	case len(work.Extra.Values) == 0 && !work.Observe(status.Cluster{}).Reported:
		m.Text += fmt.Sprintf("cluster %q has not reported the state of Application %s yet", cluster, there)
	default:
		changes := strings.Join(payload.Differences(app, work), ", ")
		if changes == "" {
			changes = "nothing of source, project and destination namespace"
		}
		m.Text += "delivering would change " + changes + "; remove the annotation to deliver"
	}
	return m
}

// alreadyThere warns that an Application which is not to take over what others have set
// has met such on its cluster.
func alreadyThere(app *argocd.Application, work *manifestcache.Work) []policy.Message {
	if app.Annotations[contract.ManagementPolicyAnnotation] != payload.ManagementNoTakeover || work == nil {
		return nil
	}
	why := work.Refusal()
	if !strings.Contains(why, "conflict") {
		return nil
	}
	return []policy.Message{{Reason: policy.ReasonAlreadyThere, Text: fmt.Sprintf(
		"not applied: Application %s on cluster %q has another owner, and annotation %s is %s: remove the annotation to take it over, or rename this Application; cluster: %s",
		payload.DeliveredName(app), work.Namespace, contract.ManagementPolicyAnnotation, payload.ManagementNoTakeover, why)}}
}
