// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

const (
	// foreignRecheck is how often a Secret of another writer is read again. Its deletion causes no
	// event, because only Secrets with our label are watched.
	foreignRecheck = time.Minute

	reasonSecretUsed = "ClusterSecretTaken"
	actionRegister   = "Register"
)

// Secrets are granted in the Argo CD namespace only, by a Role.
// +kubebuilder:rbac:groups="",resources=secrets,namespace=argocd,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Scope decides which clusters are registered where.
type Scope interface {
	// Want returns the desired state of a cluster's Secret in a namespace.
	Want(namespace, cluster string) clustersecret.Desired
	// Taken records which Secret of another writer registers a cluster, or "" for none.
	Taken(namespace, cluster, secret string)
}

// Reconciler keeps the cluster Secrets of one ManagedCluster.
type Reconciler struct {
	client client.Client
	// live reads past the cache, which holds Secrets with a label only.
	live       client.Reader
	namespaces []string
	scope      Scope
	// instanceLabel is the label key of Options.
	instanceLabel string
	recorder      events.EventRecorder

	foreign sync.Map // Secrets of another writer, as logged
	// grace is how long a ManagedCluster has to be missing before its Secret is deleted. missing is
	// since when it is, by its name.
	grace   time.Duration
	missing sync.Map
}

// Reconcile brings the Secrets of one ManagedCluster to the desired state.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.ManagedCluster{}
	cluster.Name = request.Name
	err := r.client.Get(ctx, request.NamespacedName, cluster)
	exists := !apierrors.IsNotFound(err)
	if exists && err != nil {
		return ctrl.Result{}, fmt.Errorf("get ManagedCluster %s: %w", request.Name, err)
	}
	if exists {
		r.missing.Delete(request.Name)
	}
	var result ctrl.Result
	var failed error
	for _, namespace := range r.namespaces {
		one, err := r.reconcile(ctx, namespace, cluster, exists)
		failed = errors.Join(failed, err)
		if one.RequeueAfter > 0 && (result.RequeueAfter == 0 || one.RequeueAfter < result.RequeueAfter) {
			result = one
		}
	}
	return result, failed
}

// reconcile creates, updates or deletes the Secret of a cluster in one namespace.
func (r *Reconciler) reconcile(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster, exists bool) (ctrl.Result, error) {
	want := r.scope.Want(namespace, cluster.Name)
	secret, err := r.secret(ctx, r.client, namespace, cluster.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !exists || !clustersecret.Registrable(cluster) || !want.Registered {
		r.forget(namespace, cluster.Name)
		known := cluster
		if !exists {
			if wait := r.waits(cluster.Name, secret); wait > 0 {
				return ctrl.Result{RequeueAfter: wait}, nil
			}
			known = nil
		}
		step, err := clustersecret.Plan(secret, known, namespace, r.instanceLabel, want)
		if err != nil {
			return ctrl.Result{}, err
		}
		return r.do(ctx, step)
	}
	rival, err := r.rival(ctx, namespace, cluster.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if rival != nil && (secret == nil || !clustersecret.IsOwn(secret)) {
		r.recordForeign(ctx, cluster, rival)
		return ctrl.Result{RequeueAfter: foreignRecheck}, nil
	}
	if secret == nil {
		return r.create(ctx, namespace, cluster, want)
	}
	return r.update(ctx, namespace, cluster, secret, want)
}

// waits returns how long the Secret of a ManagedCluster that is missing stays: a hub that is
// restored may have its Secrets before its ManagedClusters.
func (r *Reconciler) waits(cluster string, secret *corev1.Secret) time.Duration {
	if secret == nil || !clustersecret.IsOwn(secret) {
		return 0
	}
	now := time.Now()
	since, _ := r.missing.LoadOrStore(cluster, now)
	began, _ := since.(time.Time)
	return r.grace - now.Sub(began)
}

// rival returns a cluster Secret of another writer that registers a cluster, or nil.
func (r *Reconciler) rival(ctx context.Context, namespace, cluster string) (*corev1.Secret, error) {
	return Rival(ctx, r.client, namespace, cluster, client.MatchingFields{secretsByCluster: cluster})
}

// Rival returns the cluster Secret of another writer in a namespace that registers a cluster, or
// nil.
func Rival(ctx context.Context, reader client.Reader, namespace, cluster string, more ...client.ListOption) (*corev1.Secret, error) {
	list := &corev1.SecretList{}
	if err := reader.List(ctx, list, append(more, client.InNamespace(namespace), clustersecret.Selector)...); err != nil {
		return nil, fmt.Errorf("list cluster Secrets of %s: %w", namespace, err)
	}
	for i := range list.Items {
		if s := &list.Items[i]; clustersecret.ClusterName(s) == cluster && !clustersecret.IsOwn(s) {
			return s, nil
		}
	}
	return nil, nil
}

func (r *Reconciler) create(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster, want clustersecret.Desired) (ctrl.Result, error) {
	step, err := clustersecret.Plan(nil, cluster, namespace, r.instanceLabel, want)
	if err != nil {
		return ctrl.Result{}, err
	}
	result, err := r.do(ctx, step)
	if err == nil {
		r.forget(namespace, cluster.Name)
	}
	if !apierrors.IsAlreadyExists(err) {
		return result, err
	}
	// The cache is behind, or the Secret has lost the label that the cache selects. Another writer
	// may also have created it (an operator, or the cluster import of RHACM).
	secret, err := r.secret(ctx, r.live, namespace, cluster.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if secret == nil {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	clustersecret.Trim(secret)
	return r.update(ctx, namespace, cluster, secret, want)
}

func (r *Reconciler) update(ctx context.Context, namespace string, cluster *clusterv1.ManagedCluster, secret *corev1.Secret, want clustersecret.Desired) (ctrl.Result, error) {
	if !clustersecret.IsOwn(secret) {
		r.recordForeign(ctx, cluster, secret)
		return ctrl.Result{RequeueAfter: foreignRecheck}, nil
	}
	r.forget(namespace, cluster.Name)
	step, err := clustersecret.Plan(secret, cluster, namespace, r.instanceLabel, want)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.do(ctx, step)
}

// do makes the one write of a step. If another client has written the Secret, the cluster is
// reconciled again soon.
func (r *Reconciler) do(ctx context.Context, step clustersecret.Step) (ctrl.Result, error) {
	err := step.Apply(ctx, r.client)
	if step.Verb != clustersecret.VerbCreate && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return ctrl.Result{}, err
}

// secret returns the Secret of a cluster's name, also one of another writer, or nil.
func (r *Reconciler) secret(ctx context.Context, reader client.Reader, namespace, cluster string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: namespace, Name: clustersecret.Name(cluster)}
	if err := reader.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	return secret, nil
}

// recordForeign logs once, and records an Event, that another writer has the name of
// a cluster's Secret.
func (r *Reconciler) recordForeign(ctx context.Context, cluster *clusterv1.ManagedCluster, secret *corev1.Secret) {
	r.scope.Taken(secret.Namespace, cluster.Name, secret.Name)
	if _, known := r.foreign.LoadOrStore(types.NamespacedName{Namespace: secret.Namespace, Name: cluster.Name}, true); known {
		return
	}
	const note = "gitopscluster does not register this cluster with Argo CD, since Secret %s/%s was created by another writer; if nothing else uses that Secret, delete it; " +
		"ApplicationSets that read cluster Secrets delete the Applications of this cluster until the new Secret exists: set their applicationsSync to create-update first"
	ctrl.LoggerFrom(ctx).Info("cannot register cluster with Argo CD: another writer created its Secret; the Event of the ManagedCluster has the remedy", "secret", secret.Name)
	r.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonSecretUsed, actionRegister, note, secret.Namespace, secret.Name)
}

// forget records that no other writer has a Secret of a cluster's name.
func (r *Reconciler) forget(namespace, cluster string) {
	r.foreign.Delete(types.NamespacedName{Namespace: namespace, Name: cluster})
	r.scope.Taken(namespace, cluster, "")
}
