// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server of all tests. Each test has its own clusters.
var hub struct {
	config *rest.Config
	client client.WithWatch
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		scheme := runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(scheme), clusterv1.Install(scheme), workv1.Install(scheme), addonv1alpha1.Install(scheme)); err != nil {
			return err
		}
		hub.config = c
		hub.client, err = client.NewWithWatch(c, client.Options{Scheme: scheme})
		return err
	})
}

var serial atomic.Int64

// rig is one managed cluster, and a controller that delivers the agent to it.
type rig struct {
	t      *testing.T
	name   string
	writes *atomic.Int64
	stop   func()
	fleet  *Fleet

	mu        sync.Mutex
	wanted    *agent.Desired // nil if the agent has to be removed
	abandoned bool
	state     agent.State
	done      bool
	waits     string
}

// newRig creates an available managed cluster and starts the controller.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, name: fmt.Sprintf("agent-%d", serial.Add(1))}
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.name}})
	r.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: r.name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	r.available(metav1.ConditionTrue)
	r.wanted = &agent.Desired{
		Cluster: r.name, Owner: types.NamespacedName{Namespace: "argocd", Name: "fleet"}, ArgoNamespace: "argocd", AgentNamespace: "argocd",
		Mode: agent.ModeManaged, Address: "principal.example.com", Port: 443, Image: "quay.io/argoprojlabs/argocd-agent:v0.9.0",
		CABundle: certificate(t, "ca", ""), Generation: 1,
	}
	r.start()
	return r
}

// start runs a new controller. After stop this is a restart.
func (r *rig) start() {
	r.t.Helper()
	config, writes := testkit.CountWrites(hub.config)
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: hub.client.Scheme(), Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		r.t.Fatal(err)
	}
	f, err := New(mgr)
	if err != nil {
		r.t.Fatal(err)
	}
	yes := true
	b := ctrl.NewControllerManagedBy(mgr).Named("fleet").WithOptions(controller.Options{
		SkipNameValidation: &yes,
		RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, time.Second),
	})
	for _, source := range f.Sources(func(cluster string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: cluster}}}
	}) {
		b = b.WatchesRawSource(source)
	}
	// In these tests, events of the ManagedCluster trigger a reconciliation, instead of events of a
	// GitOpsCluster.
	b = b.For(&clusterv1.ManagedCluster{})
	if err := b.Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, r.reconcile(ctx, f, request.Name)
	})); err != nil {
		r.t.Fatal(err)
	}
	r.fleet = f
	r.writes, r.stop = writes, testkit.Run(r.t, mgr)
}

func (r *rig) reconcile(ctx context.Context, f *Fleet, name string) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case name != r.name:
	case r.wanted != nil:
		r.state, err = f.Ensure(ctx, *r.wanted)
	default:
		r.done, r.waits, err = f.Leave(ctx, r.name, r.abandoned)
	}
	return err
}

// want changes the desired agent and triggers a reconciliation.
func (r *rig) want(change func(*agent.Desired)) {
	r.t.Helper()
	r.mu.Lock()
	w := agent.Desired{}
	if r.wanted != nil {
		w = *r.wanted
	}
	change(&w)
	r.wanted = &w
	r.mu.Unlock()
	r.nudge()
}

// leave removes the cluster from the selection and triggers a reconciliation.
func (r *rig) leave(abandoned bool) {
	r.t.Helper()
	r.mu.Lock()
	r.wanted, r.abandoned, r.done = nil, abandoned, false
	r.mu.Unlock()
	r.nudge()
}

// nudge triggers a reconciliation, as an event of a GitOpsCluster does.
func (r *rig) nudge() {
	r.t.Helper()
	testkit.Edit(r.t, hub.client, r.cluster(), func(c *clusterv1.ManagedCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations["test.example.com/nudge"] = fmt.Sprint(serial.Add(1))
	})
}

func (r *rig) cluster() *clusterv1.ManagedCluster {
	return &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: r.name}}
}

func (r *rig) available(status metav1.ConditionStatus) {
	r.t.Helper()
	testkit.EditStatus(r.t, hub.client, r.cluster(), func(c *clusterv1.ManagedCluster) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "Test"})
	})
}

func (r *rig) create(o client.Object) {
	r.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		r.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// await waits until check accepts the cluster's state, and returns the state.
func (r *rig) await(what string, check func(agent.State) bool) agent.State {
	r.t.Helper()
	var state agent.State
	testkit.Eventually(r.t, what, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if state = r.state; !check(state) {
			return fmt.Errorf("the state is %+v", state)
		}
		return nil
	})
	return state
}

// waitsFor waits until check accepts the departure. check gets whether the departure is done, and
// its wait.
func (r *rig) waitsFor(check func(done bool, waits string) error) {
	r.t.Helper()
	testkit.Eventually(r.t, "the departure of "+r.name, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return check(r.done, r.waits)
	})
}

func certificate(t *testing.T, cluster, group string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cluster}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
