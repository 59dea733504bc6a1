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
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps the cluster Secret of each ManagedCluster up to date.
type Reconciler struct {
	client client.Client
	// live reads from the API server. The cache only has Secrets with our label.
	live      client.Reader
	namespace string
	// instanceLabel is the label key of [Options.InstanceLabel].
	instanceLabel string
	recorder      events.EventRecorder

	foreign sync.Map // clusters with a Secret of another writer, as logged
}

// Reconcile creates, updates or deletes the Secret of one ManagedCluster.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := r.client.Get(ctx, request.NamespacedName, cluster)
	if apierrors.IsNotFound(err) {
		cluster = nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("get ManagedCluster %s: %w", request.Name, err)
	}
	secret, err := r.secret(ctx, r.client, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !clustersecret.Registrable(cluster) {
		r.foreign.Delete(request.Name)
		return r.apply(ctx, secret, cluster)
	}
	if secret != nil {
		return r.update(ctx, cluster, secret)
	}
	result, err := r.apply(ctx, nil, cluster)
	if err == nil {
		r.foreign.Delete(request.Name)
	}
	if !apierrors.IsAlreadyExists(err) {
		return result, err
	}
	// The cache is behind, or the Secret has lost the label that the cache selects. Another writer
	// may also have created it (an operator, or the cluster import of RHACM).
	secret, err = r.secret(ctx, r.live, request.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if secret == nil {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	clustersecret.Trim(secret)
	return r.update(ctx, cluster, secret)
}

func (r *Reconciler) update(ctx context.Context, cluster *clusterv1.ManagedCluster, secret *corev1.Secret) (ctrl.Result, error) {
	if !clustersecret.IsOwn(secret) {
		r.recordForeign(ctx, cluster, secret)
		return ctrl.Result{RequeueAfter: foreignRecheck}, nil
	}
	r.foreign.Delete(cluster.Name)
	return r.apply(ctx, secret, cluster)
}

// apply makes the write that a Secret needs, if any. If another client has written the Secret, the
// cluster is reconciled again soon.
func (r *Reconciler) apply(ctx context.Context, secret *corev1.Secret, cluster *clusterv1.ManagedCluster) (ctrl.Result, error) {
	step, err := clustersecret.Plan(secret, cluster, r.namespace, r.instanceLabel, clustersecret.Every)
	if err != nil {
		return ctrl.Result{}, err
	}
	err = step.Apply(ctx, r.client)
	if step.Verb != clustersecret.VerbCreate && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return ctrl.Result{}, err
}

// secret returns the Secret with a cluster's name, whoever wrote it, or nil.
func (r *Reconciler) secret(ctx context.Context, reader client.Reader, cluster string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: r.namespace, Name: clustersecret.Name(cluster)}
	if err := reader.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	return secret, nil
}

// recordForeign logs once, and records an Event, that the Secret of a cluster belongs to another
// writer.
func (r *Reconciler) recordForeign(ctx context.Context, cluster *clusterv1.ManagedCluster, secret *corev1.Secret) {
	if _, known := r.foreign.LoadOrStore(cluster.Name, true); known {
		return
	}
	const note = "propagation does not register this cluster with Argo CD, since Secret %s/%s was created by another writer; if nothing else uses that Secret, delete it; " +
		"ApplicationSets that read cluster Secrets delete the Applications of this cluster until the new Secret exists: set their applicationsSync to create-update first"
	ctrl.LoggerFrom(ctx).Info("cannot register cluster with Argo CD: another writer created its Secret; the Event of the ManagedCluster has the remedy", "secret", secret.Name)
	r.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonSecretUsed, actionRegister, note, secret.Namespace, secret.Name)
}
