// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	config *rest.Config
	hub    client.Client
)

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		config = c
		ctrl.SetLogger(logr.Discard()) // each process is given its own
		scheme := runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), workv1.Install(scheme), clusterv1.Install(scheme)); err != nil {
			return err
		}
		hub, err = client.New(config, client.Options{Scheme: scheme})
		return err
	})
}

// eventually waits until check has no objection; name says what is waited for.
func eventually(t *testing.T, name string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v", name, err)
		case <-tick.C:
		}
	}
}

// process is a running aggregation.
type process struct {
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs the binary's command against the test hub, seen through wire.
func start(t *testing.T, through *tap, args ...string) *process {
	t.Helper()
	c := New()
	var o boot.Options
	fs := flag.NewFlagSet("aggregation", flag.ContinueOnError)
	o.BindFlags(fs, Program())
	c.BindFlags(fs)
	args = append([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-election-namespace=default"}, args...)
	if err := errors.Join(fs.Parse(args), o.Validate(), c.Validate()); err != nil {
		t.Fatal(err)
	}
	log, level, err := boot.NewLogger(through.log(t), "info")
	if err != nil {
		t.Fatal(err)
	}
	env := &boot.Env{Program: Program(), Options: o, Config: rest.CopyConfig(config), Log: log, Level: level}
	env.Config.Wrap(through.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = c.Run(ctx, env)
	}()
	t.Cleanup(func() { p.end(t) })
	return p
}

// end stops the process and waits for it.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	<-p.done
	if p.err != nil {
		t.Errorf("the process ended with: %v", p.err)
	}
}

// tap sits between a process and the API server: it notes writes and breaks what
// it is told to.
type tap struct {
	mu     sync.Mutex
	writes []string
	broken func(*http.Request) *http.Response
	lines  strings.Builder
}

func (p *tap) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		p.mu.Lock()
		broken := p.broken
		if isReport := strings.Contains(r.URL.Path, "/multiclusterapplicationsetreports"); isReport && r.Method != http.MethodGet {
			p.writes = append(p.writes, r.Method+" "+r.URL.Path) // a POST names no report
		}
		p.mu.Unlock()
		if broken != nil {
			if response := broken(r); response != nil {
				response.Request = r
				return response, nil
			}
		}
		return next.RoundTrip(r)
	})
}

// breakWith answers requests in the API server's place; nil mends.
func (p *tap) breakWith(broken func(*http.Request) *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = broken
}

// log returns where the process logs to.
func (p *tap) log(*testing.T) io.Writer { return (*logWriter)(p) }

func (p *tap) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines.String()
}

type logWriter tap

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines.Write(b)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is what an API server says when it fails.
func answer(code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"injected"}`, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// world is what one test has on the hub.
type world struct {
	t         *testing.T
	namespace string
}

var (
	worlds   int
	workKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}
)

func newWorld(t *testing.T) *world {
	t.Helper()
	worlds++
	w := &world{t: t, namespace: fmt.Sprintf("argocd-%d", worlds)}
	w.must(hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// applicationSet creates an ApplicationSet.
func (w *world) applicationSet(name string) *unstructured.Unstructured {
	w.t.Helper()
	set := w.applicationSetObject(name)
	w.must(hub.Create(w.t.Context(), set))
	return set
}

func (w *world) applicationSetObject(name string) *unstructured.Unstructured {
	set := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": w.namespace, "name": name},
		"spec": map[string]any{
			"generators": []any{},
			"template": map[string]any{
				"metadata": map[string]any{"name": "x"},
				"spec":     map[string]any{"project": "default", "destination": map[string]any{}},
			},
		},
	}}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind))
	return set
}

// cluster makes a ManagedCluster available, or not, and returns its name.
func (w *world) cluster(name string, available metav1.ConditionStatus) string {
	w.t.Helper()
	name = w.namespace + "-" + name
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := hub.Create(w.t.Context(), c); apierrors.IsAlreadyExists(err) {
		w.must(hub.Get(w.t.Context(), client.ObjectKeyFromObject(c), c))
	} else {
		w.must(err)
		w.must(hub.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	c.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.ManagedClusterConditionAvailable, Status: available, Reason: "Test", Message: "as the test says",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)),
	}}
	w.must(hub.Status().Update(w.t.Context(), c))
	return name
}

// app is a delivered Application, by its ManifestWork.
type app struct {
	set, name, cluster string
}

func (a app) work() string { return a.name + "-abcde" }

// deliver creates the ManifestWork of an Application.
func (w *world) deliver(a app) {
	w.t.Helper()
	w.must(hub.Create(w.t.Context(), &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.cluster, Name: a.work(),
		Labels: map[string]string{contract.PullLabel: "true", contract.ApplicationSetLabel: "true"},
		Annotations: map[string]string{
			contract.HostingAnnotation: w.namespace + "/" + a.set, contract.HubNamespaceAnnotation: w.namespace, contract.HubNameAnnotation: a.name,
		},
	}}))
}

// values of feedback by name.
type values map[string]string

// healthy is the feedback of an Application that fares well.
func healthy() values {
	return values{
		contract.FeedbackHealthStatus: "Healthy", contract.FeedbackSyncStatus: "Synced", contract.FeedbackSyncRevision: "53e28ff2",
		contract.FeedbackOperationPhase: "Succeeded", contract.FeedbackOperationStartedAt: "2026-11-20T10:00:00Z",
	}
}

// report plays the work agent that reports feedback.
func (w *world) report(a app, v values) {
	w.t.Helper()
	work := &workv1.ManifestWork{}
	w.must(hub.Get(w.t.Context(), client.ObjectKey{Namespace: a.cluster, Name: a.work()}, work))
	now := metav1.NewTime(time.Date(2026, 11, 20, 10, 0, 5, 0, time.UTC))
	var feedback []workv1.FeedbackValue
	for name, value := range v {
		feedback = append(feedback, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	work.Status.Conditions = []metav1.Condition{{
		Type: workv1.WorkApplied, Status: metav1.ConditionTrue, ObservedGeneration: work.Generation, Reason: "Applied", LastTransitionTime: now,
	}}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: w.namespace, Name: a.name},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: feedback},
		Conditions:      []metav1.Condition{{Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: now}},
	}}
	w.must(hub.Status().Update(w.t.Context(), work))
}

// read returns a report.
func (w *world) read(name string) (*v1alpha1.MulticlusterApplicationSetReport, error) {
	r := &v1alpha1.MulticlusterApplicationSetReport{}
	return r, hub.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, r)
}

// row waits until the report has one row, of which want says "health sync [condition types]".
func (w *world) row(report, want string) {
	w.t.Helper()
	eventually(w.t, "report "+report+" with a row "+want, func() error {
		r, err := w.read(report)
		if err != nil {
			return err
		}
		if n := len(r.Statuses.ClusterConditions); n != 1 {
			return fmt.Errorf("%d rows", n)
		}
		c := r.Statuses.ClusterConditions[0]
		got := c.HealthStatus + " " + c.SyncStatus
		for _, condition := range c.Conditions {
			got += " " + condition.Type
		}
		if got != want {
			return errors.New(got)
		}
		return nil
	})
}

// lone makes an ApplicationSet with one healthy Application on one available cluster.
func (w *world) lone(set string) app {
	w.t.Helper()
	w.applicationSet(set)
	a := app{set, set + "-app", w.cluster("cluster1", metav1.ConditionTrue)}
	w.deliver(a)
	w.report(a, healthy())
	return a
}

// passed waits until the process leads and has had its turn at everything that came
// before: a change of an ApplicationSet made for the purpose has reached its report.
// Reports are written side by side, so it does not stand for any other write.
func (w *world) passed() {
	w.t.Helper()
	marks++
	w.lone(fmt.Sprintf("mark-%d", marks))
	w.row(fmt.Sprintf("mark-%d", marks), "Healthy Synced")
}

var marks int

// writesOf returns the writes of one report.
func (p *tap) writesOf(namespace, name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var of []string
	for _, w := range p.writes {
		if strings.HasSuffix(w, "/namespaces/"+namespace+"/multiclusterapplicationsetreports/"+name) {
			of = append(of, w)
		}
	}
	return of
}
