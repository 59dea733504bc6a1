// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rehearsal runs the rooms that bring argocd-agent to managed clusters, and
// nothing else of propagation: the end-to-end test of the hand-over to OCM's agents says
// by a file what a GitOpsCluster would. It is in no image.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/agent"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/agent/fleet"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/principal"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/sign"
)

// look is how often the file is read.
const look = 100 * time.Millisecond

// Asked is what the file says of one cluster.
type Asked struct {
	agent.Wanted
	Leave, Abandoned bool
}

// Said is what is written of one cluster.
type Said struct {
	agent.State
	Done    bool
	Waiting string
	Error   string
}

func main() {
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("rehearsal", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "of the hub")
	r := &rehearsal{said: map[string]Said{}, nudges: make(chan event.TypedGenericEvent[string])}
	flags.StringVar(&r.asks, "asked", "", "file that says what is wanted of each cluster")
	flags.StringVar(&r.says, "said", "", "file that is written with what is known of each cluster")
	flags.StringVar(&r.namespace, "argocd-namespace", "argocd", "namespace of the hub's Argo CD")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), certificatesv1.AddToScheme(scheme), clusterv1.Install(scheme), addonv1alpha1.Install(scheme)); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{ByObject: sign.Caches()}})
	if err != nil {
		return err
	}
	if err := sign.Setup(ctx, mgr, sign.Options{Namespaces: []string{r.namespace}, Lifetime: sign.MinLifetime}); err != nil {
		return err
	}
	r.keeper = certificates.New(mgr.GetClient(), mgr.GetAPIReader(), certificates.Options{})
	if r.fleet, err = fleet.New(mgr); err != nil {
		return err
	}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// rehearsal keeps the agents of the clusters in the file.
type rehearsal struct {
	asks, says, namespace string
	fleet                 *fleet.Fleet
	keeper                *certificates.Keeper
	nudges                chan event.TypedGenericEvent[string]

	mu   sync.Mutex
	said map[string]Said
}

func (r *rehearsal) setup(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("rehearsal")
	for _, s := range r.fleet.Sources(func(cluster string, _ types.NamespacedName) []reconcile.Request { return request(cluster) }) {
		b = b.WatchesRawSource(s)
	}
	b = b.WatchesRawSource(source.TypedChannel(r.nudges, handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, cluster string) []reconcile.Request { return request(cluster) })))
	return errors.Join(b.Complete(r), mgr.Add(r))
}

func request(cluster string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
}

// Start has every cluster looked at when the file says something else.
func (r *rehearsal) Start(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	before := ""
	for {
		if content, err := os.ReadFile(r.asks); err == nil && string(content) != before {
			before = string(content)
			for cluster := range r.asked() {
				r.nudges <- event.TypedGenericEvent[string]{Object: cluster}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (r *rehearsal) asked() map[string]Asked {
	asked := map[string]Asked{}
	if content, err := os.ReadFile(r.asks); err == nil {
		_ = json.Unmarshal(content, &asked) // the test writes it whole
	}
	return asked
}

// Reconcile does what the file asks for one cluster.
func (r *rehearsal) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	asked, known := r.asked()[request.Name]
	if !known {
		return reconcile.Result{}, nil
	}
	var said Said
	var err error
	if asked.Leave {
		said.Done, said.Waiting, err = r.fleet.Leave(ctx, request.Name, asked.Abandoned)
	} else {
		said.State, err = r.ensure(ctx, asked.Wanted)
	}
	if err != nil {
		said.Error = err.Error()
	}
	return reconcile.Result{}, errors.Join(err, r.say(request.Name, said))
}

func (r *rehearsal) ensure(ctx context.Context, w agent.Wanted) (agent.State, error) {
	pki, err := r.keeper.Ensure(ctx, certificates.Wanted{
		Namespace: r.namespace, KeepPrincipalRunning: true,
		Principal: principal.Found{Address: w.Address, Port: w.Port, Names: []string{w.Address}, ProxyNames: []string{w.Address}},
	})
	if err != nil {
		return agent.State{}, err
	}
	w.ArgoNamespace, w.CABundle, w.BundleDigest = r.namespace, pki.CABundle, pki.BundleDigest
	return r.fleet.Ensure(ctx, w)
}

// say writes what is known of all clusters.
func (r *rehearsal) say(cluster string, said Said) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said[cluster] = said
	content, err := json.Marshal(r.said)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.says+".next", content, 0o600); err != nil {
		return err
	}
	return os.Rename(r.says+".next", r.says)
}
