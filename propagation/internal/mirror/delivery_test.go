// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/deliver"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// startBoth runs delivery and the mirror with one cache, as the binary does.
func startBoth(t *testing.T, options Options, wrap func(client.WithWatch) client.Client) (stop func()) {
	t.Helper()
	informers, err := appcache.Informers(hub.config)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	mgr, err := ctrl.NewManager(hub.config, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes},
		Cache:      cache.Options{ByObject: appcache.Caches("argocd", 4<<10), NewInformer: informers},
		NewClient:  managerOptions(wrap).NewClient,
	})
	if err != nil {
		t.Fatal(err)
	}
	index, err := appcache.NewIndex(t.Context(), mgr.GetCache())
	if err != nil {
		t.Fatal(err)
	}
	unlimited := limit.Limit{Percent: 100}
	err = errors.Join(
		deliver.Setup(t.Context(), mgr, index, deliver.Options{
			ArgoCDNamespace: "argocd", Binding: deliver.BindingNone, Concurrency: 2, SizeLimit: 4 << 10,
			Withdrawals: budget.Settings{Group: unlimited, Hub: unlimited, Window: time.Minute},
		}),
		Setup(t.Context(), mgr, index, options))
	if err != nil {
		t.Fatal(err)
	}
	return testkit.Run(t, mgr)
}

// A change that delivery delays or refuses is not shown as done until it is delivered and compared.
func TestChange_isNotDoneWhileDelayedOrRefused(t *testing.T) {
	for name, c := range map[string]struct {
		pause string
		size  int // of a value in the spec
	}{
		"paused":  {pause: "delivery", size: 1},
		"refused": {size: 5 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			var changed, synced atomic.Bool
			startBoth(t, Options{ApplyGrace: time.Millisecond, CompareGrace: time.Hour}, patchChecker(func(patch map[string]json.RawMessage, _ string) {
				if changed.Load() && strings.Contains(string(patch["status"]), `"Synced"`) {
					synced.Store(true)
				}
			}))
			cluster := f.cluster().Name
			app := f.app("guestbook", cluster)
			work := &workv1.ManifestWork{}
			delivered := func(project string) {
				t.Helper()
				testkit.Eventually(t, "the work of project "+project, func() error {
					key := client.ObjectKey{Namespace: cluster, Name: contract.WorkName(app.Name, string(app.UID))}
					if err := hub.client.Get(t.Context(), key, work); err != nil {
						return err
					}
					if m := work.Spec.Workload.Manifests; !strings.Contains(string(m[len(m)-1].Raw), `"project":"`+project+`"`) {
						return errors.New("it has another one")
					}
					return nil
				})
			}
			delivered("default")
			report(t, work, healthy...)
			awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")

			changed.Store(true)
			testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
				if c.pause != "" {
					a.Annotations[contract.PausedAnnotation] = c.pause
				}
				a.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"default","info":[{"name":"x","value":"` + strings.Repeat("y", c.size) + `"}]}`)
			})
			testkit.Eventually(t, "OutOfSync", func() error {
				if s := statusOf(t, app); s.Sync.Status != argocd.SyncOutOfSync || s.Health.Status != argocd.HealthHealthy {
					return errNot(s)
				}
				return nil
			})
			report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:40:00Z")...) // of the former spec

			testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
				delete(a.Annotations, contract.PausedAnnotation)
				a.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"new"}`)
			})
			delivered("new")
			applied(t, work)
			if synced.Load() {
				t.Error("the Application was Synced before its change was delivered and compared")
			}
			changed.Store(false)
			report(t, work, append(healthy, "reconciledAt", "2036-11-20T09:41:00Z")...)
			testkit.Eventually(t, "Synced", func() error {
				if s := statusOf(t, app); s.Sync.Status != argocd.SyncSynced {
					return errNot(s)
				}
				return nil
			})
		})
	}
}

// One cluster's agent reports times that Go's type cannot hold. Delivery and mirror go on for other clusters, in a
// running process and in a new one.
func TestDelivery_survivesWhatOneClusterReports(t *testing.T) {
	f := newFleet(t)
	odd := f.cluster()
	work := f.work(f.app("odd", odd.Name), odd.Name)
	serve := func() {
		t.Helper()
		good := f.cluster()
		app := f.app("good-"+good.Name, good.Name)
		work := &workv1.ManifestWork{}
		testkit.Eventually(t, "the delivery to another cluster", func() error {
			return hub.client.Get(t.Context(), client.ObjectKey{Namespace: good.Name, Name: contract.WorkName(app.Name, string(app.UID))}, work)
		})
		report(t, work, healthy...)
		awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
		available(t, good, metav1.ConditionFalse)
		awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
	}
	stop := startBoth(t, Options{CompareGrace: time.Millisecond}, nil)
	testkit.WriteUnreadableStatus(t, hub.client, clusterv1.GroupVersion.String(), "ManagedCluster", client.ObjectKeyFromObject(odd))
	testkit.WriteUnreadableStatus(t, hub.client, workv1.GroupVersion.String(), "ManifestWork", client.ObjectKeyFromObject(work))
	serve()
	stop()
	startBoth(t, Options{CompareGrace: time.Millisecond}, nil)
	serve()
}

// The cache keeps neither conditions nor operation of an Application with large annotations. The mirror shows the
// report of its cluster, and leaves the conditions of others.
func TestMirror_keepsConditionsThatTheCacheLeavesOut(t *testing.T) {
	f := newFleet(t)
	startBoth(t, Options{ApplyGrace: time.Millisecond, CompareGrace: time.Millisecond}, nil)
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name, func(a *argocd.Application) {
		a.Annotations["example.com/note"] = strings.Repeat("x", 40<<10) // more than a work may have
		a.Status = json.RawMessage(`{"conditions":[{"message":"theirs","type":"Theirs"}]}`)
	})
	report(t, f.work(app, cluster.Name), healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded Theirs PullDeliveryError")
	available(t, cluster, metav1.ConditionFalse)
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded Theirs PullDeliveryError ClusterUnreachableWarning")
	available(t, cluster, metav1.ConditionTrue)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded Theirs PullDeliveryError")
}
