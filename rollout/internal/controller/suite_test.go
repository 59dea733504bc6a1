// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		if _, err := envtest.InstallCRDs(c, envtest.CRDInstallOptions{Paths: []string{filepath.Join(testkit.Root(), "deploy", "components", "rollouts")}, MaxTime: time.Minute}); err != nil {
			return err
		}
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), argocd.AddToScheme(hub.scheme), rollout.AddToScheme(hub.scheme),
			clusterv1.Install(hub.scheme), clusterv1beta1.Install(hub.scheme), workv1.Install(hub.scheme)); err != nil {
			return err
		}
		hub.client, err = client.New(c, client.Options{Scheme: hub.scheme})
		return err
	})
}

// start runs the controller until the test ends or stop is called.
func start(t testing.TB) (writes *atomic.Int64, stop func()) {
	t.Helper()
	counted, writes := testkit.CountWrites(hub.config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return liveReads{t, next} })
	skipNames := true
	informers, err := Informers(counted)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skipNames}, Cache: cache.Options{ByObject: Caches(), NewInformer: informers},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(context.Background(), mgr); err != nil {
		t.Fatal(err)
	}
	return writes, testkit.Run(t, mgr)
}

// liveReads fails a test in which an object is read from the API server: the controller has
// the right to list and watch, and to write its status.
type liveReads struct {
	t    testing.TB
	next http.RoundTripper
}

func (l liveReads) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/guestbook") {
		l.t.Errorf("%s is read from the API server", r.URL.Path)
	}
	return l.next.RoundTrip(r)
}

var serial atomic.Int64

// fleet is an ApplicationSet with one Application for each cluster, each cluster a group of
// its own, and the works that propagation would write.
type fleet struct {
	t         testing.TB
	namespace string
	clusters  []string
	set       *unstructured.Unstructured
	rollout   *rollout.ApplicationSetRollout
	clock     time.Time
}

func newFleet(t testing.TB, clusters int) *fleet {
	t.Helper()
	f := &fleet{t: t, namespace: fmt.Sprintf("team-%d", serial.Add(1)), clock: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
	f.set = applicationSet()
	f.set.SetNamespace(f.namespace)
	f.set.SetName("guestbook")
	f.set.Object["spec"] = map[string]any{
		"generators": []any{},
		"template":   map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"project": "default", "destination": map[string]any{}}},
	}
	f.create(f.set)
	for i := range clusters {
		f.add(i)
	}
	f.rollout = &rollout.ApplicationSetRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "guestbook"},
		Spec: rollout.Spec{ApplicationSet: "guestbook", Placement: "guestbook", OnFailure: rollout.Rollback, Strategy: clusterv1alpha1.RolloutStrategy{
			Type: clusterv1alpha1.ProgressivePerGroup, ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: clusterv1alpha1.RolloutConfig{
				ProgressDeadline: "None", MaxFailures: intstr.FromInt32(0),
			}},
		}},
	}
	return f
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		f.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// add makes cluster i with its group and its Application.
func (f *fleet) add(i int) {
	f.t.Helper()
	name := fmt.Sprintf("%s-c%d", f.namespace, i)
	f.clusters = append(f.clusters, name)
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	f.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	f.available(name, metav1.ConditionTrue)
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name, Labels: map[string]string{
		clusterv1beta1.PlacementLabel: "guestbook", clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(i), clusterv1beta1.DecisionGroupNameLabel: "",
	}}}
	f.create(d)
	d.Status.Decisions = []clusterv1beta1.ClusterDecision{{ClusterName: name}}
	if err := hub.client.Status().Update(context.Background(), d); err != nil {
		f.t.Fatal(err)
	}
	f.create(&argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: name, Labels: map[string]string{contract.PullLabel: "true"}, Annotations: map[string]string{contract.ClusterAnnotation: name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: f.set.GetName(), UID: f.set.GetUID()}},
		},
		Spec: json.RawMessage(`{"project":"default","destination":{"namespace":"guestbook"},"source":{"repoURL":"https://git.example/apps","path":"one"}}`),
	})
}

func (f *fleet) available(cluster string, is metav1.ConditionStatus) {
	f.t.Helper()
	testkit.EditStatus(f.t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: is, Reason: "Test", LastTransitionTime: metav1.Now()}}
	})
}

func (f *fleet) app(i int) *argocd.Application {
	f.t.Helper()
	app := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: f.namespace, Name: f.clusters[i]}, app); err != nil {
		f.t.Fatal(err)
	}
	return app
}

// deliver writes the work of cluster i, as propagation does.
func (f *fleet) deliver(i int, carried rollout.Carried) {
	f.t.Helper()
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: f.clusters[i], Name: "work"}}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(w), w); client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
	there := w.UID != ""
	w.Labels = map[string]string{contract.PullLabel: "true", contract.ApplicationSetLabel: "true"}
	w.Annotations = map[string]string{
		contract.HubNamespaceAnnotation: f.namespace, contract.HubNameAnnotation: f.clusters[i], contract.HostingAnnotation: f.namespace + "/guestbook",
		contract.RolloutAnnotation: carried.String(),
	}
	if !there {
		f.create(w)
		return
	}
	if err := hub.client.Update(context.Background(), w); err != nil {
		f.t.Fatal(err)
	}
}

// report is what the agent of cluster i reports: a comparison later than all before.
func (f *fleet) report(i int, revision, sync, health, phase string) {
	f.t.Helper()
	f.clock = f.clock.Add(time.Second)
	at := f.clock.Format(time.RFC3339)
	values := map[string]string{
		contract.FeedbackHealthStatus: health, contract.FeedbackSyncStatus: sync, contract.FeedbackSyncRevision: revision, contract.FeedbackOperationPhase: phase,
		contract.FeedbackOperationStartedAt: at, contract.FeedbackReconciledAt: at,
	}
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: f.clusters[i], Name: "work"}}
	testkit.EditStatus(f.t, hub.client, w, func(w *workv1.ManifestWork) {
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Now()}}
		m := workv1.ManifestCondition{
			ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: f.namespace, Name: f.clusters[i]},
			Conditions:   []metav1.Condition{},
		}
		for name, value := range values {
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
		}
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	})
}

func (f *fleet) healthy(i int, revision string) {
	f.t.Helper()
	f.report(i, revision, argocd.SyncSynced, argocd.HealthHealthy, argocd.OperationSucceeded)
}

// becomes waits until the rollout is as it should be.
func (f *fleet) becomes(what string, is func(*rollout.Status) bool) *rollout.Status {
	f.t.Helper()
	r := &rollout.ApplicationSetRollout{}
	testkit.Eventually(f.t, what, func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(f.rollout), r); err != nil {
			return err
		}
		if !is(&r.Status) {
			raw, err := json.Marshal(r.Status)
			return fmt.Errorf("the status is %s %w", raw, err)
		}
		return nil
	})
	return &r.Status
}

func (f *fleet) phase(p rollout.Phase) *rollout.Status {
	f.t.Helper()
	return f.becomes("phase "+string(p), func(s *rollout.Status) bool { return s.Phase == p })
}

// adopted is a fleet that runs r0, with a rollout that knows it.
func adopted(t testing.TB, clusters int) *fleet {
	t.Helper()
	f := newFleet(t, clusters)
	for i := range f.clusters {
		f.deliver(i, rollout.Carried{Content: rollout.Content(f.app(i))})
		f.healthy(i, "r0")
	}
	f.create(f.rollout)
	f.becomes("what every cluster runs to be promoted", func(s *rollout.Status) bool {
		c := meta.FindStatusCondition(s.Conditions, readyCondition)
		return s.Promoted != nil && s.Promoted.Revisions[0] == "r0" && c.Status == metav1.ConditionFalse && c.Reason == "NotPinned" &&
			!strings.Contains(c.Message, f.clusters[0]) && strings.Contains(c.Message, f.clusters[1])
	})
	f.pin("r0")
	f.becomes("the others to be pinned", func(s *rollout.Status) bool { return meta.IsStatusConditionTrue(s.Conditions, readyCondition) })
	return f
}

// pin is what propagation makes of what is promoted.
func (f *fleet) pin(revision string) {
	f.t.Helper()
	for i := 1; i < len(f.clusters); i++ {
		f.deliver(i, rollout.Carried{Content: rollout.Content(f.app(i)), Revisions: []string{revision}})
		f.healthy(i, revision)
	}
}
