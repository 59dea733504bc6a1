// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/applications"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal/reader"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
)

// Reconciler reconciles Argo CDs of the hub and clusters with agents. A request without a name is
// for an Argo CD, one without a namespace for a cluster.
type Reconciler struct {
	store   *store
	options Options
	reports *reporter
	client  client.Client
	fleet   *fleet.Fleet
	reader  *reader.Reader
	keeper  *certificates.Keeper
	// applications reads and writes the Applications of the hub.
	applications *applications.Reader
	queue        enqueue.Queue
	// orphaned has the clusters with an agent whose GitOpsCluster does not exist, and since when.
	orphaned sync.Map
}

func newReconciler(c client.Client, live client.Reader, options Options) *Reconciler {
	return &Reconciler{
		store: newStore(options.Namespaces), options: options, client: c,
		reports:      &reporter{client: c, signing: sign.Options{Namespaces: options.Namespaces, KeyNamespace: options.KeyNamespace, Lifetime: options.Lifetime, Now: options.Now}, secret: options.Secret},
		reader:       reader.New(c, live, time.Now),
		keeper:       certificates.New(c, live, certificates.Options{CALife: options.CALife, KeyNamespace: options.KeyNamespace}),
		applications: applications.New(c, live),
	}
}

// Requests of the queue: of an Argo CD, and of a cluster.
func argo(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}}
}

func cluster(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// enqueueAll has every Argo CD reconciled.
func (r *Reconciler) enqueueAll() {
	for _, namespace := range r.options.Namespaces {
		r.queue.Add(argo(namespace))
	}
}

// Start records the existing GitOpsClusters. Until each was reconciled, no agent is removed.
func (r *Reconciler) Start(owners []types.NamespacedName) {
	if r.store.start(owners) {
		r.enqueueAll()
	}
}

// Set carries out the spec of a GitOpsCluster.
func (r *Reconciler) Set(spec Spec) {
	before, known, last := r.store.set(spec)
	r.queue.Add(argo(spec.ArgoNamespace))
	if last {
		r.enqueueAll()
	}
	if known && before.ArgoNamespace != spec.ArgoNamespace {
		r.queue.Add(argo(before.ArgoNamespace))
	}
}

// Delete forgets a GitOpsCluster that was deleted.
func (r *Reconciler) Delete(owner types.NamespacedName) {
	before, known, last := r.store.remove(owner)
	if last {
		r.enqueueAll()
	}
	if known {
		r.queue.Add(argo(before.ArgoNamespace))
	}
}

// Status returns the result of a spec. ok is false while it is unknown.
func (r *Reconciler) Status(owner types.NamespacedName) (Status, bool) { return r.store.status(owner) }

// Has reports whether something of an Argo CD's agent is, or is to be, or may be, on a
// cluster on behalf of a GitOpsCluster. An agent that another one has taken over is not.
func (r *Reconciler) Has(owner types.NamespacedName, namespace, cluster string) bool {
	return r.store.has(owner, namespace, cluster)
}

// Left reports whether everything that a GitOpsCluster asked for is removed.
func (r *Reconciler) Left(owner types.NamespacedName) bool { return r.store.left(owner) }

// ErrNotKnown means that a cluster's Secret should stay unchanged for now.
var ErrNotKnown = errors.New("it is not known yet whether the cluster has an agent")

// Shape returns server and config of a cluster's Secret in the namespace of an Argo CD,
// an empty server for one without agent. [ErrNotKnown]: leave it as it is.
func (r *Reconciler) Shape(namespace, cluster string) (server string, config []byte, err error) {
	return r.shape(namespace, cluster, false)
}

// Planned is Shape as it would be without a dry run.
func (r *Reconciler) Planned(namespace, cluster string) (server string, config []byte, err error) {
	return r.shape(namespace, cluster, true)
}

func (r *Reconciler) shape(namespace, cluster string, planned bool) (server string, config []byte, err error) {
	t, decided := r.store.task(cluster, namespace)
	switch {
	case t == nil && decided || t != nil && t.namespace != namespace:
		return "", nil, nil
	case t == nil || t.wanted == nil || t.untouched && (!planned || !t.dry) || t.config == nil:
		return "", nil, ErrNotKnown
	}
	config, _, err = t.config(cluster)
	return t.server, config, err
}
