// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
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
)

const (
	// foreignRecheck is how often a Secret of another writer is read again; no event
	// tells of its deletion, since only Secrets with our label are watched.
	foreignRecheck = time.Minute

	fieldOwner       = "multicluster-integrations-register"
	reasonSecretUsed = "ClusterSecretTaken"
	actionRegister   = "Register"
)

// Secrets are granted in the Argo CD namespace only, by a Role.
// +kubebuilder:rbac:groups="",resources=secrets,namespace=argocd,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the cluster Secret of one ManagedCluster.
type Reconciler struct {
	client client.Client
	// live reads past the cache, which holds Secrets with our label only.
	live      client.Reader
	namespace string
	// instanceLabel is the label key of Options.
	instanceLabel string
	recorder      events.EventRecorder

	foreign sync.Map // names of clusters whose Secret has another writer, as logged
}

// Reconcile makes the Secret of one ManagedCluster what it should be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := r.client.Get(ctx, request.NamespacedName, cluster)
	if apierrors.IsNotFound(err) {
		cluster, err = nil, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get ManagedCluster %s: %w", request.Name, err)
	}
	secret, err := r.secret(ctx, r.client, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !registrable(cluster) {
		r.foreign.Delete(request.Name)
		return requeueOnConflict(r.remove(ctx, secret))
	}
	if secret == nil {
		return r.create(ctx, cluster)
	}
	return r.update(ctx, cluster, secret)
}

func (r *Reconciler) create(ctx context.Context, cluster *clusterv1.ManagedCluster) (ctrl.Result, error) {
	want := secretFor(cluster, r.namespace, r.instanceLabel)
	err := r.client.Create(ctx, want, client.FieldOwner(fieldOwner))
	if err == nil {
		r.foreign.Delete(cluster.Name)
		ctrl.LoggerFrom(ctx).Info("registered cluster with Argo CD", "secret", want.Name)
		return ctrl.Result{}, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, fmt.Errorf("create Secret %s/%s: %w", r.namespace, want.Name, err)
	}
	// The cache is behind, the Secret lost the label that it is cached by, or another
	// writer (an operator, the cluster import of RHACM) made it.
	secret, err := r.secret(ctx, r.live, cluster.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if secret == nil {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return r.update(ctx, cluster, secret)
}

func (r *Reconciler) update(ctx context.Context, cluster *clusterv1.ManagedCluster, secret *corev1.Secret) (ctrl.Result, error) {
	if !isOwn(secret) {
		r.recordForeign(ctx, cluster, secret)
		return ctrl.Result{RequeueAfter: foreignRecheck}, nil
	}
	r.foreign.Delete(cluster.Name)
	patch, err := repairPatch(secret, secretFor(cluster, r.namespace, r.instanceLabel), cluster.Labels)
	if err != nil || patch == nil {
		return ctrl.Result{}, err
	}
	target := &corev1.Secret{}
	target.Namespace, target.Name = secret.Namespace, secret.Name
	if err := r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner)); err != nil {
		return requeueOnConflict(fmt.Errorf("patch Secret %s/%s: %w", secret.Namespace, secret.Name, err))
	}
	return ctrl.Result{}, nil
}

// remove deletes the Secret as it was seen, and only if it is ours.
func (r *Reconciler) remove(ctx context.Context, secret *corev1.Secret) error {
	if secret == nil || !isOwn(secret) {
		return nil
	}
	err := r.client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("unregistered cluster from Argo CD", "secret", secret.Name)
	return nil
}

// secret returns the Secret of a cluster's name, whoever wrote it, or nil.
func (r *Reconciler) secret(ctx context.Context, reader client.Reader, cluster string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: r.namespace, Name: secretName(cluster)}
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
	if _, known := r.foreign.LoadOrStore(cluster.Name, true); known {
		return
	}
	const note = "propagation does not register this cluster with Argo CD, since Secret %s/%s was created by another writer; delete or rename that Secret"
	ctrl.LoggerFrom(ctx).Info("cannot register cluster with Argo CD: another writer created its Secret; delete or rename that", "secret", secret.Name)
	r.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonSecretUsed, actionRegister, note, secret.Namespace, secret.Name)
}

// requeueOnConflict has the cluster reconciled again soon when a write met another one.
func requeueOnConflict(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return ctrl.Result{}, err
}
