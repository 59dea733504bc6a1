// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server that the tests share. Each test runs alone, with its own Argo CD namespace and
// clusters.
var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), clusterv1.Install(hub.scheme)); err != nil {
			return err
		}
		hub.client, err = client.New(c, client.Options{Scheme: hub.scheme})
		return err
	})
}

var serial atomic.Int64

func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, serial.Add(1)) }

// argo is an Argo CD namespace of one test.
type argo struct {
	t             *testing.T
	namespace     string
	instanceLabel string
	backoff       workqueue.TypedRateLimiter[reconcile.Request]
}

// in returns the same namespace for a subtest.
func (a *argo) in(t *testing.T) *argo {
	part := *a
	part.t = t
	return &part
}

func newArgo(t *testing.T) *argo {
	t.Helper()
	a := &argo{t: t, namespace: unique("argocd")}
	a.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}})
	return a
}

// start runs the registration. wrap, unless nil, wraps its client.
func (a *argo) start(wrap func(client.WithWatch) client.Client) (writes *atomic.Int64, stop func()) {
	a.t.Helper()
	config, writes := testkit.CountWrites(hub.config)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:     hub.scheme,
		Logger:     logr.Discard(),
		Cache:      cache.Options{ByObject: Caches(false, a.namespace)},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: skipNames,
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, o)
			if err != nil || wrap == nil {
				return c, err
			}
			return wrap(c), nil
		},
	})
	if err != nil {
		a.t.Fatalf("create manager: %v", err)
	}
	if err := Setup(mgr, Options{Namespace: a.namespace, InstanceLabel: a.instanceLabel, Backoff: a.backoff}); err != nil {
		a.t.Fatal(err)
	}
	return writes, testkit.Run(a.t, mgr)
}

// skipNames allows a second manager in one process.
var skipNames = func() config.Controller {
	yes := true
	return config.Controller{SkipNameValidation: &yes}
}()

func (a *argo) create(o client.Object) {
	a.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		a.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// cluster creates an accepted ManagedCluster with labels, and deletes it after the test.
func (a *argo) cluster(name string, labels map[string]string) *clusterv1.ManagedCluster {
	a.t.Helper()
	c := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	}
	a.create(c)
	a.t.Cleanup(func() {
		if err := hub.client.Delete(context.Background(), c); client.IgnoreNotFound(err) != nil {
			a.t.Errorf("delete ManagedCluster %s: %v", name, err)
		}
	})
	return c
}

// stored returns the Secret of a cluster, or nil.
func (a *argo) stored(cluster string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: a.namespace, Name: cluster + "-cluster-secret"}, s)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return s, err
}

// registered waits until the Secret of a cluster exists and passes check.
func (a *argo) registered(cluster string, check func(*corev1.Secret) error) *corev1.Secret {
	a.t.Helper()
	var found *corev1.Secret
	testkit.Eventually(a.t, "the Secret of "+cluster, func() error {
		s, err := a.stored(cluster)
		switch {
		case err != nil:
			return err
		case s == nil:
			return errors.New("there is none")
		case check != nil:
			if err := check(s); err != nil {
				return err
			}
		}
		found = s
		return nil
	})
	return found
}

// absent waits until a cluster has no Secret.
func (a *argo) absent(cluster string) {
	a.t.Helper()
	testkit.Eventually(a.t, "no Secret of "+cluster, func() error {
		s, err := a.stored(cluster)
		if err == nil && s != nil {
			err = errors.New("it is there")
		}
		return err
	})
}
