// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
)

// Gate is open while the CustomResourceDefinition of GitOpsClusters is ours. Another
// project may put its own over ours at any time: both use the same name, and its
// controller works on the same objects.
type Gate struct {
	reader client.Reader
	mapper meta.RESTMapper
	// adopt takes any CustomResourceDefinition that serves our version.
	adopt bool
	// every is the interval of the checks.
	every    time.Duration
	recorder events.EventRecorder
	pod      *corev1.Pod

	open atomic.Bool
	last string // why it was closed at the last check
}

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=gitopsclusters.apps.open-cluster-management.io,verbs=get

func newGate(mgr ctrl.Manager, options Options) *Gate {
	host, _ := os.Hostname() // in a pod it is the pod's name
	return &Gate{
		reader: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), adopt: options.Adopt, every: options.Recheck,
		recorder: mgr.GetEventRecorder("gitopscluster"),
		pod: &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: options.HubNamespace, Name: host},
		},
	}
}

// check opens or closes the gate, and logs a change once.
func (g *Gate) check(ctx context.Context) {
	why := g.closed(ctx)
	g.open.Store(why == "")
	foreign := 0.0
	if why != "" {
		foreign = 1
	}
	foreignCRD.Set(foreign) // set once, so that a scrape observes no other state
	if why == g.last {
		return
	}
	g.last = why
	if why == "" {
		ctrl.LoggerFrom(ctx).Info("reconciling GitOpsClusters")
		return
	}
	ctrl.LoggerFrom(ctx).Info("not reconciling GitOpsClusters", "why", why)
	if g.pod.Namespace != "" {
		g.recorder.Eventf(g.pod, nil, corev1.EventTypeWarning, "GitOpsClustersNotReconciled", "Look", "%s", why)
	}
}

// closed returns why GitOpsClusters are not reconciled, "" when they are not.
func (g *Gate) closed(ctx context.Context) string {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := g.reader.Get(ctx, client.ObjectKey{Name: v1beta1.CRDName}, crd)
	if apierrors.IsNotFound(err) {
		return "gitopscluster finds no CustomResourceDefinition " + v1beta1.CRDName + "; apply the one that comes with it (deploy/components/gitopsclusters)"
	}
	if err != nil {
		return g.unread(err)
	}
	if !g.adopt && crd.Annotations[v1beta1.ProvidedByAnnotation] != v1beta1.ProvidedBy {
		return "CustomResourceDefinition " + v1beta1.CRDName + " is another project's, whose controller works on GitOpsClusters, so gitopscluster does not; uninstall that controller and apply the CustomResourceDefinition that comes with gitopscluster, or set --adopt-crd"
	}
	kind := schema.GroupKind{Group: v1beta1.GroupVersion.Group, Kind: v1beta1.Kind}
	_, err = g.mapper.RESTMapping(kind, v1beta1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return "CustomResourceDefinition " + v1beta1.CRDName + " does not serve v1beta1; apply the one that comes with gitopscluster"
	}
	if err != nil {
		return g.unread(err)
	}
	return ""
}

// unread is the result of [Gate.closed] if something could not be read. The gate then keeps its
// state.
func (g *Gate) unread(err error) string {
	if g.open.Load() {
		return ""
	}
	return fmt.Sprintf("gitopscluster cannot read CustomResourceDefinition %s: %v", v1beta1.CRDName, err)
}

// wait returns when the gate is open, or with false at the end of ctx.
func (g *Gate) wait(ctx context.Context) bool {
	for {
		if g.check(ctx); g.open.Load() {
			return true
		}
		if !clock.Sleep(ctx, g.every) {
			return false
		}
	}
}

// watch checks until ctx ends, and calls opened whenever the gate opens again.
func (g *Gate) watch(ctx context.Context, opened func()) {
	for clock.Sleep(ctx, g.every) {
		before := g.open.Load()
		if g.check(ctx); g.open.Load() && !before {
			opened()
		}
	}
}
