// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe is the observer of a managed cluster: it writes views of Applications to the
// ConfigMaps by which the hub requests them.
package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Rights in the observer's namespace, and those in Argo CD's, are in deploy/liveview.

// How often, and how many.
const (
	// interval is the time between two reads of the requested views from Redis. It limits how often
	// a ConfigMap is written.
	interval = 2 * time.Second
	// thorough is how often Applications are read although their keys in Redis did not change.
	thorough = 5 * interval
)

// Reconciler writes the views of one ConfigMap at a time.
type Reconciler struct {
	client client.Client
	live   client.Reader
	redis  *argoredis.Redis
	argocd string
}

// Caches returns the objects that [Setup] watches: ConfigMaps of the hub in the observer's
// namespace.
func Caches(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{namespace: {}},
			Label:      labels.SelectorFromSet(labels.Set{request.Label: "true"}),
		},
	}
}

// Setup adds the controller to mgr. The cache of mgr must be limited to [Caches].
func Setup(mgr ctrl.Manager, redis *argoredis.Redis, argocdNamespace string) error {
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), redis: redis, argocd: argocdNamespace}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("views").
		For(&corev1.ConfigMap{}, builder.WithPredicates(requestsOthers)).
		// One Application at a time: the largest need most of the memory of the container.
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: boot.Backoff()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the views: %w", err)
	}
	return nil
}

// requestsOthers leaves out the changes that the observer makes itself: a view that changes
// all the time is written once in an interval.
var requestsOthers = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.ConfigMap)
		after, ok2 := e.ObjectNew.(*corev1.ConfigMap)
		return ok && ok2 && before.Data[request.ApplicationsKey] != after.Data[request.ApplicationsKey]
	},
}

// Reconcile writes the views that a ConfigMap requests, if they are others than before.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	requested := &corev1.ConfigMap{}
	if err := r.client.Get(ctx, req.NamespacedName, requested); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if requested.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	applications, err := request.ReadApplications(requested.Data)
	if err != nil {
		return ctrl.Result{}, reconcile.TerminalError(err)
	}
	before, _ := request.ReadViews(requested.Data[request.ViewsKey]) // a value that cannot be read is written again
	next := make(request.Views, len(applications))
	var down error // after a failed connection, it is not tried again for each Application
	for _, name := range slices.Sorted(maps.Keys(applications)) {
		v, err := request.View{}, down
		if down == nil {
			v, err = r.view(ctx, applications[name], before[name])
		}
		if noConnection(err) {
			down = err
		}
		if err := ctx.Err(); err != nil {
			return ctrl.Result{}, err
		}
		if err != nil {
			v = last(before[name], err)
		}
		if len(applications) > 1 && len(v.Blob) > request.MaxShared {
			v = request.View{Alone: true}
		}
		if v.Message != "" && v.Message != before[name].Message {
			ctrl.LoggerFrom(ctx).Info("view is not complete", "application", applications[name], "message", v.Message)
		}
		next[name] = v
	}
	if err := r.write(ctx, requested, next); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: interval}, nil
}

// view returns the view of an Application, which is namespace/name.
func (r *Reconciler) view(ctx context.Context, application string, before request.View) (request.View, error) {
	now := time.Now()
	minute := now.Unix() / 60
	known := before.Source
	if before.Renewed != minute || now.UnixNano()%int64(thorough) <= int64(interval) {
		known = "" // read the Application as well, once a minute however long a pass takes
	}
	v, source, err := r.read(ctx, application, known)
	if err != nil {
		return request.View{}, err
	}
	if source == before.Source {
		before.Renewed = minute
		return before, nil
	}
	blob, message, err := view.Encode(v)
	return request.View{Source: source, Renewed: minute, Blob: blob, Message: message}, err
}

func noConnection(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) || errors.Is(err, io.EOF)
}

// last returns the previous view with the reason why no newer view exists, and without a digest.
func last(before request.View, err error) request.View {
	message := err.Error()
	return request.View{Blob: before.Blob, Message: message[:min(len(message), request.MaxMessage)], Renewed: before.Renewed}
}

// read returns the view of an Application and its digest. If the keys in Redis have a known digest,
// it does not read the Application, because its status then usually has not changed either.
func (r *Reconciler) read(ctx context.Context, application, known string) (v view.View, source string, err error) {
	namespace, name, ok := strings.Cut(application, "/")
	if !ok || namespace == "" || name == "" {
		return v, "", fmt.Errorf("the ConfigMap has %q, want namespace/name of an Application", application)
	}
	if v, err = r.redis.Read(ctx, view.Instance(r.argocd, namespace, name)); err != nil {
		return v, "", err
	}
	keys := digest(v.Tree, v.Resources)
	if strings.HasPrefix(known, keys) {
		return v, known, nil
	}
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"})
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		if apierrors.IsNotFound(err) {
			return v, "", fmt.Errorf("there is no Application %s", application)
		}
		return v, "", fmt.Errorf("read Application %s: %w", application, err)
	}
	status, _, err := unstructured.NestedMap(app.Object, "status")
	if err == nil {
		v.Status, err = json.Marshal(view.StatusOf(status))
	}
	return v, keys + digest(v.Status), err
}

func digest(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d\n%s", len(part), part) // a hash takes everything
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// write changes the observer's data in a ConfigMap.
func (r *Reconciler) write(ctx context.Context, requested *corev1.ConfigMap, views request.Views) error {
	text, err := json.Marshal(views)
	if err != nil || string(text) == requested.Data[request.ViewsKey] {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{request.ViewsKey: string(text)}})
	if err != nil {
		return err
	}
	target := &corev1.ConfigMap{}
	target.Namespace, target.Name = requested.Namespace, requested.Name
	err = r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("liveview-observer"))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", requested.Namespace, requested.Name, err)
	}
	return nil
}
