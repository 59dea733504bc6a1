// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appstatus"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server that the tests share. Each test runs alone, with its own namespaces and clusters.
var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), argocd.AddToScheme(hub.scheme), workv1.Install(hub.scheme),
			clusterv1.Install(hub.scheme), clusterv1beta1.Install(hub.scheme)); err != nil {
			return err
		}
		hub.client, err = client.New(c, client.Options{Scheme: hub.scheme})
		return err
	})
}

// start runs the mirror with a cache that is trimmed like the binary's. wrap, unless nil, wraps its client.
func start(t testing.TB, options Options, wrap func(client.WithWatch) client.Client) (writes *atomic.Int64, stop func()) {
	t.Helper()
	counted, writes := testkit.CountWrites(hub.config)
	mgr, err := ctrl.NewManager(counted, managerOptions(wrap))
	if err != nil {
		t.Fatalf("create manager: %v", err)
	}
	works, err := slim.Indexer(t.Context(), mgr.GetCache(), &workv1.ManifestWork{}, manifestcache.IndexFuncs())
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(t.Context(), mgr, manifestcache.NewIndex(works), options); err != nil {
		t.Fatal(err)
	}
	return writes, testkit.Run(t, mgr)
}

func managerOptions(wrap func(client.WithWatch) client.Client) ctrl.Options {
	yes := true
	return ctrl.Options{
		Scheme:     hub.scheme,
		Logger:     logr.Discard(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&argocd.Application{}:  {Transform: manifestcache.TrimApplication(1 << 20)},
			&workv1.ManifestWork{}: {Transform: manifestcache.Transform(payload.StoredOf, func(*contract.Rejected) {})},
		}},
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, o)
			if err != nil || wrap == nil {
				return c, err
			}
			return wrap(c), nil
		},
	}
}

var serial atomic.Int64

// fleet is a namespace of Applications and the objects of a test.
type fleet struct {
	t         testing.TB
	namespace string
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{t: t, namespace: fmt.Sprintf("team-%d", serial.Add(1))}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
	t.Cleanup(func() { // the mirror of the next test would process them
		if err := hub.client.DeleteAllOf(context.Background(), &argocd.Application{}, client.InNamespace(f.namespace)); err != nil {
			t.Errorf("delete Applications: %v", err)
		}
	})
	return f
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		f.t.Fatalf("create %T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
	}
}

// cluster creates an available ManagedCluster, and deletes it after the test.
func (f *fleet) cluster() *clusterv1.ManagedCluster {
	f.t.Helper()
	c := &clusterv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cluster-%d", serial.Add(1))},
		Spec:       clusterv1.ManagedClusterSpec{HubAcceptsClient: true},
	}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Name}})
	f.create(c)
	f.t.Cleanup(func() {
		if err := hub.client.Delete(context.Background(), c); client.IgnoreNotFound(err) != nil {
			f.t.Errorf("delete ManagedCluster: %v", err)
		}
	})
	available(f.t, c, metav1.ConditionTrue)
	return c
}

func available(t testing.TB, c *clusterv1.ManagedCluster, status metav1.ConditionStatus) {
	t.Helper()
	testkit.EditStatus(t, hub.client, c, func(c *clusterv1.ManagedCluster) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: clusterv1.ManagedClusterConditionAvailable, Status: status, Reason: "Test", Message: "as the test says",
		})
	})
}

// app creates a pulled Application with this target cluster.
func (f *fleet) app(name, cluster string, change ...func(*argocd.Application)) *argocd.Application {
	f.t.Helper()
	a := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: name,
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: cluster, argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"default","source":{"path":"guestbook","repoURL":"https://git.example.com/apps.git"}}`),
	}
	for _, c := range change {
		c(a)
	}
	f.create(a)
	return a
}

// work creates the ManifestWork that delivers app to the cluster, without any agent's status.
func (f *fleet) work(app *argocd.Application, cluster string) *workv1.ManifestWork {
	f.t.Helper()
	w := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster, Name: contract.WorkName(app.Name, string(app.UID)),
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.HubNamespaceAnnotation: app.Namespace, contract.HubNameAnnotation: app.Name},
		},
	}
	spec(w, "1")
	f.create(w)
	return w
}

// spec sets a spec that differs between versions.
func spec(w *workv1.ManifestWork, version string) {
	w.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"x"},"data":{"version":"` + version + `"}}`),
	}}}
}

// applied sets the agent's Applied condition on the work, without a new report.
func applied(t testing.TB, w *workv1.ManifestWork) {
	t.Helper()
	testkit.EditStatus(t, hub.client, w, func(w *workv1.ManifestWork) {
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
			Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", ObservedGeneration: w.Generation,
		})
	})
}

// refused sets the agent's conditions on a work whose first manifest it cannot apply, without a new report.
func refused(t testing.TB, w *workv1.ManifestWork) {
	t.Helper()
	testkit.EditStatus(t, hub.client, w, func(w *workv1.ManifestWork) {
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
			Type: workv1.WorkApplied, Status: metav1.ConditionFalse, Reason: "AppliedManifestWorkFailed", Message: "Failed to apply manifest work", ObservedGeneration: w.Generation,
		})
		w.Status.ResourceStatus.Manifests[0].Conditions = []metav1.Condition{{
			Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Reason: "AppliedManifestFailed", LastTransitionTime: metav1.Now(),
			Message: "Failed to apply manifest: namespaces is forbidden",
		}}
	})
}

// report sets the agent's Applied condition on the work, and the reported values.
func report(t testing.TB, w *workv1.ManifestWork, pairs ...string) {
	t.Helper()
	testkit.EditStatus(t, hub.client, w, func(w *workv1.ManifestWork) {
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
			Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", ObservedGeneration: w.Generation,
		})
		var values []workv1.FeedbackValue
		for i := 0; i < len(pairs); i += 2 {
			values = append(values, workv1.FeedbackValue{Name: pairs[i], Value: workv1.FieldValue{Type: workv1.String, String: &pairs[i+1]}})
		}
		now := metav1.Now()
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{
			{ResourceMeta: workv1.ManifestResourceMeta{Ordinal: 0, Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "guestbook"}, Conditions: []metav1.Condition{}},
			{
				ResourceMeta: workv1.ManifestResourceMeta{
					Ordinal: 1, Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural,
					Namespace: "elsewhere", Name: w.Annotations[contract.HubNameAnnotation],
				},
				Conditions:      []metav1.Condition{{Type: "StatusFeedbackSynced", Status: metav1.ConditionTrue, Reason: "StatusFeedbackSynced", LastTransitionTime: now}},
				StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
			},
		}
	})
}

// healthy is the agent's report about a healthy and synced Application.
var healthy = []string{
	"healthStatus", "Healthy", "syncStatus", "Synced", "syncRevision", "53e28ff2",
	"operationStatePhase", "Succeeded", "operationStateStartedAt", "2036-11-20T09:30:00Z",
	"operationStateFinishedAt", "2036-11-20T09:31:00Z", "operationStateMessage", "successfully synced",
}

// hubStatus is the part of an Application's status that tests read.
type hubStatus struct {
	Health struct{ Status, Message string }
	Sync   struct {
		Status, Revision string
		Revisions        []string
	}

	OperationState *struct {
		Phase, StartedAt, FinishedAt, Message string
		Operation                             *struct {
			InitiatedBy struct {
				Username  string
				Automated bool
			}
			Info []struct{ Name, Value string }
		}
		SyncResult struct {
			Revision  *string
			Revisions []string
		}
	}
	Conditions []struct {
		Type, Message      string
		LastTransitionTime metav1.Time
	}
}

// short returns a summary of the status: health/sync@revision phase [condition types].
func (s *hubStatus) short() string {
	out := s.Health.Status + "/" + s.Sync.Status + "@" + s.Sync.Revision
	if s.OperationState != nil {
		out += " " + s.OperationState.Phase
	}
	for _, c := range s.Conditions {
		if c.Type != request.ClaimCondition { // not written by the mirror
			out += " " + c.Type
		}
	}
	return out
}

// operator returns who began the operation that a status shows. It is empty if the status does not show that.
func (s *hubStatus) operator() string {
	switch o := s.OperationState; {
	case o == nil || o.Operation == nil:
		return ""
	case o.Operation.InitiatedBy.Automated:
		return "automated"
	default:
		return o.Operation.InitiatedBy.Username
	}
}

// ask requests an operation on the hub that the work carries, or removes the request if user is empty.
func ask(t testing.TB, app *argocd.Application, w *workv1.ManifestWork, claim, user string) {
	t.Helper()
	testkit.Edit(t, hub.client, w, func(w *workv1.ManifestWork) { w.Annotations[contract.RequestAnnotation] = claim })
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		a.Operation = nil
		if user != "" {
			a.Operation = fmt.Appendf(nil, `{"initiatedBy":{"username":%q},"info":[{"name":"promotion","value":%q}],"sync":{"revision":"main"}}`, user, claim)
		}
		status := map[string]json.RawMessage{}
		if len(a.Status) > 0 {
			if err := json.Unmarshal(a.Status, &status); err != nil {
				t.Fatal(err)
			}
		}
		conditions, err := appstatus.Conditions(a.Status)
		if err != nil {
			t.Fatal(err)
		}
		var own []appstatus.Condition
		if user != "" {
			own = []appstatus.Condition{{Type: request.ClaimCondition, Message: request.ClaimMessage(claim, w.Namespace)}}
		}
		conditions, _ = appstatus.Merge(conditions, func(kind string) bool { return kind == request.ClaimCondition }, own, time.Now())
		if status["conditions"], err = json.Marshal(conditions); err != nil {
			t.Fatal(err)
		}
		if a.Status, err = json.Marshal(status); err != nil {
			t.Fatal(err)
		}
	})
}

func stored(t testing.TB, app *argocd.Application) *argocd.Application {
	t.Helper()
	a := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), a); err != nil {
		t.Fatalf("get Application: %v", err)
	}
	return a
}

func statusOf(t testing.TB, app *argocd.Application) *hubStatus {
	t.Helper()
	s := &hubStatus{}
	if raw := stored(t, app).Status; len(raw) > 0 {
		if err := json.Unmarshal(raw, s); err != nil {
			t.Fatalf("decode status: %v", err)
		}
	}
	return s
}

// awaitStatus waits until the Application's status, in short form, is want.
func awaitStatus(t testing.TB, app *argocd.Application, want string) *hubStatus {
	t.Helper()
	var s *hubStatus
	testkit.Eventually(t, "status "+want+" of "+app.Name, func() error {
		if s = statusOf(t, app); s.short() != want {
			return fmt.Errorf("it is %s", s.short())
		}
		return nil
	})
	return s
}
