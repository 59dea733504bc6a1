// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe is the observer of a managed cluster: it answers the ConfigMaps by which
// the hub asks for views of Applications.
package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"open-cluster-management.io/multicluster-integrations/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Rights in the observer's namespace, and those in Argo CD's, are in deploy/liveview.

// interval is how often a view that is requested for is read again. It bounds how often one is
// written.
const interval = 2 * time.Second

// Reconciler answers one ConfigMap at a time.
type Reconciler struct {
	client  client.Client
	live    client.Reader
	redis   *argoredis.Redis
	argocd  string
	refresh time.Duration
}

// Caches returns what [Setup] watches: ConfigMaps of the hub in the observer's namespace.
func Caches(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{namespace: {}},
			Label:      labels.SelectorFromSet(labels.Set{request.Label: "true"}),
		},
	}
}

// Setup adds the controller to mgr, whose cache must be limited to [Caches].
func Setup(mgr ctrl.Manager, redis *argoredis.Redis, argocdNamespace string) error {
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), redis: redis, argocd: argocdNamespace, refresh: interval}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("views").
		For(&corev1.ConfigMap{}, builder.WithPredicates(requestsAnother)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: boot.Backoff()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the views: %w", err)
	}
	return nil
}

// requestsAnother leaves out the changes that the observer makes itself: a view that changes
// all the time is written once in an interval.
var requestsAnother = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.ConfigMap)
		after, ok2 := e.ObjectNew.(*corev1.ConfigMap)
		return ok && ok2 && before.Data[request.ApplicationKey] != after.Data[request.ApplicationKey]
	},
}

// Reconcile writes the view that a ConfigMap asks for, if it is another than before.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	requested := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, req.NamespacedName, requested); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if requested.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	v, err := r.read(ctx, requested.Data[request.ApplicationKey])
	var next result
	switch {
	case errors.Is(err, context.Canceled):
		return ctrl.Result{}, err
	case err != nil:
		next.message = err.Error()
	default:
		next = encode(v)
	}
	if next.differs(requested) {
		if err := r.write(ctx, requested, next); err != nil {
			return ctrl.Result{}, err
		}
		if next.message != "" {
			ctrl.LoggerFrom(ctx).Info("view is not complete", "application", requested.Data[request.ApplicationKey], "message", next.message)
		}
	}
	return ctrl.Result{RequeueAfter: r.refresh}, nil
}

// read returns the view of an Application, which is namespace/name.
func (r *Reconciler) read(ctx context.Context, application string) (view.View, error) {
	namespace, name, ok := strings.Cut(application, "/")
	if !ok || namespace == "" || name == "" {
		return view.View{}, fmt.Errorf("%s of the ConfigMap is %q, want namespace/name of an Application", request.ApplicationKey, application)
	}
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		if apierrors.IsNotFound(err) {
			return view.View{}, fmt.Errorf("there is no Application %s", application)
		}
		return view.View{}, fmt.Errorf("read Application %s: %w", application, err)
	}
	v, err := r.redis.Read(ctx, view.Instance(r.argocd, namespace, name))
	if err != nil {
		return view.View{}, err
	}
	status, _, err := unstructured.NestedMap(app.Object, "status")
	if err == nil {
		v.Status, err = json.Marshal(view.StatusOf(status))
	}
	return v, err
}

// result is what a ConfigMap should say. A message without a view leaves the view that is
// there: it is the last one.
type result struct {
	view            []byte
	message, source string
}

func encode(v view.View) result {
	sum := sha256.New()
	for _, part := range [][]byte{v.Tree, v.Resources, v.Status} {
		_, _ = fmt.Fprintf(sum, "%d\n%s", len(part), part) // a hash takes everything
	}
	a := result{source: hex.EncodeToString(sum.Sum(nil))}
	blob, cut, err := view.Encode(v)
	switch {
	case err != nil:
		return result{message: err.Error()}
	case cut != "":
		a.message = fmt.Sprintf("the view is larger than %d KiB: %s", view.MaxEncoded>>10, cut)
	}
	a.view = blob
	return a
}

func (r result) differs(requested *corev1.ConfigMap) bool {
	return r.message != requested.Data[request.MessageKey] || r.view != nil && r.source != requested.Data[request.SourceKey]
}

// write changes what is the observer's own in a ConfigMap.
func (r *Reconciler) write(ctx context.Context, requested *corev1.ConfigMap, next result) error {
	patch := map[string]any{"data": map[string]any{request.MessageKey: next.message}}
	if next.view != nil {
		patch["data"] = map[string]any{request.MessageKey: next.message, request.SourceKey: next.source}
		patch["binaryData"] = map[string]any{request.ViewKey: next.view}
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	target := &corev1.ConfigMap{}
	target.Namespace, target.Name = requested.Namespace, requested.Name
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, raw), client.FieldOwner("liveview-observer"))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", requested.Namespace, requested.Name, err)
	}
	return nil
}
