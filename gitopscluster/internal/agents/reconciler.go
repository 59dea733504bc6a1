// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/principal/reader"
	"open-cluster-management.io/multicluster-integrations/gitopscluster/internal/sign"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// workers is how many clusters are worked off at a time.
const workers = 20

// Options of [Setup].
type Options struct {
	// Namespaces are those of the hub's Argo CDs.
	Namespaces []string
	// CALife and Lifetime of certificates, 0: the defaults.
	CALife, Lifetime time.Duration
	// Relay is the user name of OCM's gRPC server, see sign.Options.
	Relay string
	// Limit is how many clusters get a new certificate at a time.
	Limit limit.Limit
	// SecretDigest returns the digest of the config in a cluster's Secret, "" when it has none.
	SecretDigest func(namespace, cluster string) string
	// Changed is called when the answers of an Argo CD's GitOpsClusters have changed,
	// Reshaped when the Secrets of clusters have to be looked at.
	Changed  func(namespace string)
	Reshaped func(clusters ...string)
	// Abandoned is called when a cluster was let go of without proof, with the certificates
	// that it may have kept.
	Abandoned func(owner types.NamespacedName, cluster string, kept []pki.Issued)
}

// Hub knows what GitOpsClusters ask for and what has become of it.
type Hub struct {
	options Options
	signing sign.Options
	client  client.Client
	fleet   *fleet.Fleet
	reader  *reader.Reader
	keeper  *certificates.Keeper
	again   chan event.GenericEvent

	mu sync.Mutex
	// started: pending are the GitOpsClusters that have not been heard since.
	started bool
	pending map[types.NamespacedName]bool
	asks    map[types.NamespacedName]Ask
	tasks   map[string]*task
	states  map[string]agent.State
	leaving map[string]string
	answers map[types.NamespacedName]Answer
	// kept are the Argo CDs whose certificates may be ours, surveyed those that were
	// looked at after everybody had been heard.
	kept, surveyed map[string]bool
}

// Caches returns what the manager's cache must hold beside Secrets and ManagedClusters.
func Caches(namespaces []string) map[client.Object]cache.ByObject {
	all := reader.Caches(namespaces)
	maps.Copy(all, sign.Caches())
	return all
}

func newHub(c client.Client, live client.Reader, options Options) *Hub {
	h := &Hub{
		options: options, client: c, again: make(chan event.GenericEvent),
		signing: sign.Options{Namespaces: options.Namespaces, Lifetime: options.Lifetime, Relay: options.Relay},
		reader:  reader.New(c, live, time.Now),
		keeper:  certificates.New(c, live, certificates.Options{CALife: options.CALife}),
		pending: map[types.NamespacedName]bool{}, asks: map[types.NamespacedName]Ask{}, tasks: map[string]*task{},
		states: map[string]agent.State{}, leaving: map[string]string{}, answers: map[types.NamespacedName]Answer{}, kept: map[string]bool{}, surveyed: map[string]bool{},
	}
	for _, namespace := range options.Namespaces {
		h.kept[namespace] = true
	}
	return h
}

// Setup adds the controllers to mgr, whose cache must be built with [Caches].
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) (*Hub, error) {
	h := newHub(mgr.GetClient(), mgr.GetAPIReader(), options)
	var err error
	if h.fleet, err = fleet.New(mgr); err != nil {
		return nil, err
	}
	if err := sign.Setup(ctx, mgr, h.signing); err != nil {
		return nil, err
	}
	secrets, err := certificates.Source(mgr, options.Namespaces, handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, o *metav1.PartialObjectMetadata) []reconcile.Request {
			return []reconcile.Request{argo(o.Namespace)}
		}))
	if err != nil {
		return nil, err
	}
	ofArgo := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{argo(o.GetNamespace())}
	})
	relevant := builder.WithPredicates(predicate.NewPredicateFuncs(reader.Relevant))
	controllers := ctrl.NewControllerManagedBy(mgr).
		Named("agents").
		Watches(&corev1.Service{}, ofArgo, relevant).
		Watches(&appsv1.Deployment{}, ofArgo, relevant).
		WatchesRawSource(secrets).
		WatchesRawSource(source.Channel(h.again, handler.EnqueueRequestsFromMapFunc(named))).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: boot.Backoff()})
	for _, s := range h.fleet.Sources(func(name string) []reconcile.Request { return []reconcile.Request{cluster(name)} }) {
		controllers.WatchesRawSource(s)
	}
	if err := controllers.Complete(h); err != nil {
		return nil, fmt.Errorf("set up agents: %w", err)
	}
	return h, nil
}

// Requests of the queue: of an Argo CD, and of a cluster.
func argo(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace}}
}

func cluster(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// named turns an object of the channel into its request.
func named(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// look has something worked off.
func (h *Hub) look(ctx context.Context, requests ...reconcile.Request) {
	for _, r := range requests {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
		select {
		case h.again <- event.GenericEvent{Object: o}:
		case <-ctx.Done():
			return
		}
	}
}

// Start says which GitOpsClusters there are; until each has been heard, no agent leaves.
func (h *Hub) Start(ctx context.Context, owners []types.NamespacedName) {
	h.mu.Lock()
	h.started = true
	for _, owner := range owners {
		if _, heard := h.asks[owner]; !heard {
			h.pending[owner] = true
		}
	}
	settled := h.settled()
	h.mu.Unlock()
	if settled {
		h.lookAtAll(ctx)
	}
}

// Ask notes what a GitOpsCluster asks for, and has it done.
func (h *Hub) Ask(ctx context.Context, a Ask) {
	h.mu.Lock()
	before, known := h.asks[a.Owner]
	h.asks[a.Owner] = a
	last := h.pending[a.Owner] && len(h.pending) == 1
	delete(h.pending, a.Owner)
	h.mu.Unlock()
	h.look(ctx, argo(a.ArgoNamespace))
	if last {
		h.lookAtAll(ctx)
	}
	if known && before.ArgoNamespace != a.ArgoNamespace {
		h.look(ctx, argo(before.ArgoNamespace))
	}
}

// Gone forgets a GitOpsCluster that there is no more.
func (h *Hub) Gone(ctx context.Context, owner types.NamespacedName) {
	h.mu.Lock()
	a, known := h.asks[owner]
	last := h.pending[owner] && len(h.pending) == 1
	delete(h.asks, owner)
	delete(h.pending, owner)
	delete(h.answers, owner)
	h.mu.Unlock()
	if last {
		h.lookAtAll(ctx)
	}
	if known {
		h.look(ctx, argo(a.ArgoNamespace))
	}
}

// lookAtAll surveys every Argo CD.
func (h *Hub) lookAtAll(ctx context.Context) {
	for _, namespace := range h.options.Namespaces {
		h.look(ctx, argo(namespace))
	}
}

// Answer returns what became of an ask; false as long as that is not known.
func (h *Hub) Answer(owner types.NamespacedName) (Answer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, known := h.answers[owner]
	return a, known
}

// Has reports whether something of an Argo CD's agent is, or is to be, or may be, on a
// cluster on behalf of a GitOpsCluster. An agent that another one has taken over is not.
func (h *Hub) Has(owner types.NamespacedName, namespace, cluster string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks[cluster]
	return t != nil && t.namespace == namespace && t.owner == owner || slices.Contains(h.options.Namespaces, namespace) && !h.surveyed[namespace]
}

// Left reports whether nothing of what a GitOpsCluster asked for is left.
func (h *Hub) Left(owner types.NamespacedName) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a, heard := h.asks[owner]
	if !heard || slices.Contains(h.options.Namespaces, a.ArgoNamespace) && !h.surveyed[a.ArgoNamespace] {
		return false
	}
	for _, t := range h.tasks {
		if t.owner == owner {
			return false
		}
	}
	return true
}

// ErrNotKnown says that a cluster's Secret had better be left as it is.
var ErrNotKnown = errors.New("it is not known yet whether the cluster has an agent")

// Shape returns server and config of a cluster's Secret in the namespace of an Argo CD,
// an empty server for one without agent. [ErrNotKnown]: leave it as it is.
func (h *Hub) Shape(namespace, cluster string) (server string, config []byte, err error) {
	return h.shape(namespace, cluster, false)
}

// Planned is Shape as it would be without a dry run.
func (h *Hub) Planned(namespace, cluster string) (server string, config []byte, err error) {
	return h.shape(namespace, cluster, true)
}

func (h *Hub) shape(namespace, cluster string, planned bool) (server string, config []byte, err error) {
	h.mu.Lock()
	t, settled, surveyed := h.tasks[cluster], h.settled(), h.surveyed[namespace] || !slices.Contains(h.options.Namespaces, namespace)
	h.mu.Unlock()
	switch {
	case t == nil && settled && surveyed || t != nil && t.namespace != namespace:
		return "", nil, nil
	case t == nil || t.wanted == nil || t.untouched && (!planned || !t.dry) || t.config == nil:
		return "", nil, ErrNotKnown
	}
	config, _, err = t.config(cluster)
	return t.server, config, err
}

// settled reports whether every GitOpsCluster has been heard.
func (h *Hub) settled() bool { return h.started && len(h.pending) == 0 }

// of returns the asks for an Argo CD, the oldest first.
func (h *Hub) of(namespace string) []Ask {
	asks := slices.DeleteFunc(slices.Collect(maps.Values(h.asks)), func(a Ask) bool { return a.ArgoNamespace != namespace })
	slices.SortFunc(asks, older)
	return asks
}
