// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// What operators decide is written on objects that no controller writes over: the
// ApplicationSet controller replaces the annotations of its Applications.

// +kubebuilder:rbac:groups=argoproj.io,resources=applicationsets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch

// namespaceMetadata returns an empty Namespace to read metadata into.
func namespaceMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// trimDecisions keeps of an ApplicationSet or Namespace what operators have decided.
func trimDecisions(in any) (any, error) {
	o, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	kept := metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	for key, value := range o.Annotations {
		if strings.HasPrefix(key, contract.KeyPrefix) {
			if kept.Annotations == nil {
				kept.Annotations = map[string]string{}
			}
			kept.Annotations[strings.Clone(key)] = strings.Clone(contract.Name(value, &contract.Rejected{}))
		}
	}
	o.ObjectMeta = kept
	return o, nil
}

// watchDecisions makes a decision reach the guard at once.
func (r *Reconciler) watchDecisions(b *builder.Builder) *builder.Builder {
	changed := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[contract.WithdrawalsAnnotation] != e.ObjectNew.GetAnnotations()[contract.WithdrawalsAnnotation]
	}, CreateFunc: func(e event.CreateEvent) bool {
		return e.Object.GetAnnotations()[contract.WithdrawalsAnnotation] != ""
	}})
	decided := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			if _, err := guard.Parse(m.Annotations[contract.WithdrawalsAnnotation], "", r.now()); err != nil {
				r.recordOn(referTo(m), policy.Message{Reason: policy.ReasonInvalidTarget, Text: "nothing is withdrawn: annotation " + contract.KeyPrefix + err.Error()})
			}
		}
		r.withdrawals.tell()
		return nil
	})
	return b.Watches(argocd.ApplicationSetMetadata(), decided, changed).Watches(namespaceMetadata(), decided, changed)
}

// decisionOn returns what operators have decided about a group: on its ApplicationSet,
// on its namespace, or for the whole hub.
func (r *Reconciler) decisionOn(ctx context.Context, g guard.Group) (guard.Decision, error) {
	var decisions []guard.Decision
	add := func(o *metav1.PartialObjectMetadata, namespace, name string) error {
		err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get %s %s: %w", o.Kind, name, err)
		}
		on := strings.TrimSpace(o.Kind + " " + strings.TrimPrefix(namespace+"/"+name, "/"))
		d, _ := guard.Parse(o.Annotations[contract.WithdrawalsAnnotation], on, r.now()) // a bad value was told of when it was seen
		decisions = append(decisions, d)
		return nil
	}
	if g.Set != "" {
		if err := add(argocd.ApplicationSetMetadata(), g.Namespace, g.Set); err != nil {
			return guard.Decision{}, err
		}
	}
	for _, namespace := range []string{g.Namespace, r.options.HubNamespace} {
		if namespace == "" {
			continue
		}
		if err := add(namespaceMetadata(), "", namespace); err != nil {
			return guard.Decision{}, err
		}
	}
	return guard.Strongest(decisions...), nil
}

// referTo refers to an object for an Event, that of a Namespace in that namespace.
func referTo(o *metav1.PartialObjectMetadata) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	if ref.Namespace == "" {
		ref.Namespace = o.Name
	}
	return ref
}
