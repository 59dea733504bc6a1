// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

const (
	// DefaultLifetime is how long a client certificate is valid.
	DefaultLifetime = 168 * time.Hour
	// MinLifetime is the shortest lifetime, because the registration agent checks for renewals only
	// every five minutes.
	MinLifetime = time.Hour
	// byCluster indexes requests by the cluster that they name.
	byCluster = "sign.cluster"
	// generationMark is an annotation that exists only in the cache. See [trim].
	generationMark = "sign.generation"
)

// Options are the options of [Setup].
type Options struct {
	// Namespaces are the namespaces of Argo CDs with a CA that signs.
	Namespaces []string
	// KeyNamespace is the same as in certificates.Options.
	KeyNamespace string
	// Lifetime is the lifetime of a certificate. 0 means [DefaultLifetime].
	Lifetime time.Duration
	// Now is the clock. nil means the system's clock.
	Now func() time.Time
	// Backoff decides when a failed request is tried again. If it is nil, [boot.Backoff] decides.
	Backoff workqueue.TypedRateLimiter[reconcile.Request]
}

func (o Options) withDefaults() Options {
	if o.Lifetime == 0 {
		o.Lifetime = DefaultLifetime
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Backoff == nil {
		o.Backoff = boot.Backoff()
	}
	return o
}

func (o Options) rules() pki.Rules {
	return pki.Rules{ServerName: agent.CSRServerName}
}

// Caches returns the objects that the manager's cache must have for [Setup] in addition to
// ManagedClusters. They are requests of our signer, and add-ons of our name.
func Caches() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&certificatesv1.CertificateSigningRequest{}: {
			Field: fields.OneTermEqualSelector("spec.signerName", agent.SignerName), Transform: trim,
		},
		&addonv1alpha1.ManagedClusterAddOn{}: {
			Field: fields.OneTermEqualSelector("metadata.name", agent.AddOnName), Transform: agent.Transform,
		},
	}
}

// AddOns returns the source of the add-ons in [Caches]. The clusters' agents write their status.
func AddOns(config *rest.Config) (slim.Source, error) {
	return slim.NewSource(config, agent.AddOns, slim.Whole[addonv1alpha1.ManagedClusterAddOn], client.MatchingFields{"metadata.name": agent.AddOnName})
}

// trim is the transform of the cache of requests. A managed cluster may create any number of requests. Of
// each, trim keeps who made it, for which cluster and for which generation, and the decision.
func trim(in any) (any, error) {
	csr, ok := in.(*certificatesv1.CertificateSigningRequest)
	if !ok || len(csr.Spec.Request) == 0 { // no request, or it is trimmed already
		return in, nil
	}
	generation := strconv.Itoa(pki.RequestedGeneration(csr.Spec.Request))
	labels := map[string]string{agent.CSRClusterLabel: csr.Labels[agent.CSRClusterLabel]}
	csr.ObjectMeta = metav1.ObjectMeta{
		Name: csr.Name, UID: csr.UID, ResourceVersion: csr.ResourceVersion, Labels: labels,
		Annotations:       map[string]string{generationMark: generation},
		CreationTimestamp: csr.CreationTimestamp, DeletionTimestamp: csr.DeletionTimestamp,
	}
	csr.Spec = certificatesv1.CertificateSigningRequestSpec{
		SignerName: csr.Spec.SignerName, Username: csr.Spec.Username, Groups: csr.Spec.Groups,
	}
	return csr, nil
}

// requestedGeneration returns the generation that a cached request is for, 0 if it names none.
func requestedGeneration(csr *certificatesv1.CertificateSigningRequest) int {
	generation, err := strconv.Atoi(csr.Annotations[generationMark])
	if err != nil {
		return 0
	}
	return generation
}

// Setup adds the controller to mgr. The cache of mgr must be built with [Caches].
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	options = options.withDefaults()
	r := &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), namespaces: options.Namespaces, rules: options.rules(),
		keys: options.KeyNamespace, lifetime: options.Lifetime, now: options.Now, recorder: mgr.GetEventRecorder("gitopscluster"),
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &certificatesv1.CertificateSigningRequest{}, byCluster, clusterOf); err != nil {
		return fmt.Errorf("index CertificateSigningRequests: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("sign").
		For(&certificatesv1.CertificateSigningRequest{}).
		Watches(&addonv1alpha1.ManagedClusterAddOn{}, measured{handler.EnqueueRequestsFromMapFunc(r.requestsOf)}).
		Watches(&clusterv1.ManagedCluster{}, handler.EnqueueRequestsFromMapFunc(r.requestsOf), builder.WithPredicates(acceptanceChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: options.Backoff}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up sign: %w", err)
	}
	return nil
}

func clusterOf(o client.Object) []string { return []string{o.GetLabels()[agent.CSRClusterLabel]} }

// acceptanceChanged selects the changes that a waiting request may wait for.
var acceptanceChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.ManagedCluster)
		after, ok2 := e.ObjectNew.(*clusterv1.ManagedCluster)
		return ok && ok2 && before.Spec.HubAcceptsClient != after.Spec.HubAcceptsClient
	},
}

// requestsOf returns the requests that name the cluster of an add-on, or a cluster.
func (r *Reconciler) requestsOf(ctx context.Context, o client.Object) []reconcile.Request {
	cluster := o.GetNamespace()
	if cluster == "" {
		cluster = o.GetName()
	}
	requests, err := ownRequests(ctx, r.client, r.rules, cluster)
	if err != nil {
		// A waiting request is checked again, and a final one at the next event of its cluster.
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the certificate requests of a cluster in the cache", "cluster", cluster)
		return nil
	}
	found := make([]reconcile.Request, 0, len(requests))
	for i := range requests {
		found = append(found, reconcile.Request{NamespacedName: types.NamespacedName{Name: requests[i].Name}})
	}
	return found
}

// ownRequests returns the requests that a cluster made itself. They belong to the cache.
func ownRequests(ctx context.Context, reader client.Reader, rules pki.Rules, cluster string) ([]certificatesv1.CertificateSigningRequest, error) {
	var list certificatesv1.CertificateSigningRequestList
	if err := reader.List(ctx, &list, client.MatchingFields{byCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list CertificateSigningRequests of cluster %s: %w", cluster, err)
	}
	return own(list.Items, rules, cluster), nil
}

func own(requests []certificatesv1.CertificateSigningRequest, rules pki.Rules, cluster string) []certificatesv1.CertificateSigningRequest {
	return slices.DeleteFunc(requests, func(csr certificatesv1.CertificateSigningRequest) bool {
		return csr.Spec.SignerName != agent.SignerName || !rules.OwnRequest(&csr, cluster)
	})
}

// Requests summarizes the requests of a cluster for the decision about the next request.
type Requests struct {
	// Stuck is true if the last one can never be signed. The registration agent waits for it, so a
	// raised generation has to make it send another one.
	Stuck bool
	// Full is true if the registration agent sends no further request until some are deleted.
	Full bool
}

// RequestsOf reads the requests of a cluster with an add-on that requests a generation. reader is a
// client of a manager with [Setup].
func RequestsOf(ctx context.Context, reader client.Reader, options Options, cluster string, generation int) (Requests, error) {
	options = options.withDefaults()
	var list certificatesv1.CertificateSigningRequestList
	if err := reader.List(ctx, &list, client.MatchingFields{byCluster: cluster}, client.UnsafeDisableDeepCopy); err != nil {
		return Requests{}, fmt.Errorf("list CertificateSigningRequests of cluster %s: %w", cluster, err)
	}
	found := Requests{Full: len(list.Items) >= pki.MaxRequests}
	requests := own(list.Items, options.rules(), cluster)
	if len(requests) == 0 {
		return found, nil
	}
	last := slices.MaxFunc(requests, func(a, b certificatesv1.CertificateSigningRequest) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	requested := requestedGeneration(&last)
	old := !options.Now().Before(last.CreationTimestamp.Add(pki.RequestAge))
	found.Stuck = requested == generation && len(last.Status.Certificate) == 0 && (old || refused(&last))
	return found, nil
}
