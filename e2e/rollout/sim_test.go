// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config     *rest.Config
	client     client.Client
	scheme     *runtime.Scheme
	kubeconfig string
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		if err := env.Build(context.Background()); err != nil {
			return err
		}
		if _, err := envtest.InstallCRDs(c, envtest.CRDInstallOptions{Paths: []string{env.Rollouts(testkit.Root(), "apps.open-cluster-management.io_applicationsetrollouts.yaml")}, MaxTime: time.Minute}); err != nil {
			return err
		}
		hub.config = c
		if hub.scheme, err = env.Scheme(); err != nil {
			return err
		}
		if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
			return err
		}
		folder, err := os.MkdirTemp("", "rollout-test-")
		if err != nil {
			return err
		}
		hub.kubeconfig = filepath.Join(folder, "kubeconfig")
		config := clientcmdapi.NewConfig()
		config.Clusters["hub"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
		config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
		config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "admin"}
		config.CurrentContext = "hub"
		return clientcmd.WriteToFile(*config, hub.kubeconfig)
	})
}

// binary is a process of the product, which can be killed and started again.
type binary struct {
	*testkit.Binary
	t    testing.TB
	name string
	args []string
	cmd  *exec.Cmd
}

func newBinary(t testing.TB, name string, args ...string) *binary {
	t.Helper()
	served, flags := testkit.NewBinary(t)
	return &binary{Binary: served, t: t, name: name, args: slices.Concat([]string{"--kubeconfig=" + hub.kubeconfig, "--leader-elect=false"}, flags, args)}
}

func (b *binary) start() {
	b.t.Helper()
	b.cmd = testkit.Command(context.Background(), filepath.Join(testkit.Root(), "bin", "product", b.name), b.args...)
	log, err := os.OpenFile(filepath.Join(b.t.TempDir(), b.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	b.cmd.Stdout, b.cmd.Stderr = log, log
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *binary) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed
}

// fleet is an ApplicationSet on simulated clusters, of which the first is a group of its own.
type fleet struct {
	t         testing.TB
	namespace string
	clusters  []string
	rollout   *rollout.ApplicationSetRollout
	binaries  []*binary
	ctx       context.Context //nolint:containedctx // that of the agents

	mu       sync.Mutex
	branch   string
	bad      map[string]string // revision or path -> how
	clock    time.Time
	reported map[string]string // cluster -> what was last reported of which work
	violated []string
	writes   map[string]int // generations of a work beyond the first
	work     chan string
}

func newFleet(t testing.TB, groups ...int) *fleet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &fleet{t: t, ctx: ctx, namespace: fmt.Sprintf("team-%d", time.Now().UnixNano()), branch: "r0", bad: map[string]string{}, clock: time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC), reported: map[string]string{}, writes: map[string]int{}, work: make(chan string, 100000)}
	t.Cleanup(cancel)
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
	_ = hub.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}}) // of another test
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"generators": []any{},
		"template":   map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"project": "default", "destination": map[string]any{}}},
	}}}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind))
	set.SetNamespace(f.namespace)
	set.SetName("guestbook")
	f.create(set)
	for g, n := range groups {
		d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprint("g", g), Labels: map[string]string{
			clusterv1beta1.PlacementLabel: "guestbook", clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(g), clusterv1beta1.DecisionGroupNameLabel: "",
		}}}
		f.create(d)
		for range n {
			name := fmt.Sprintf("%s-c%04d", f.namespace, len(f.clusters))
			f.clusters = append(f.clusters, name)
			f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			f.create(c)
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}}
			if err := hub.client.Status().Update(ctx, c); err != nil {
				t.Fatal(err)
			}
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
			f.create(&argocd.Application{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: f.namespace, Name: name, Labels: map[string]string{contract.PullLabel: "true"},
					Annotations:     map[string]string{contract.ClusterAnnotation: name, argocd.SkipReconcileAnnotation: "true"},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: "guestbook", UID: set.GetUID()}},
				},
				Spec: f.spec("p0"),
			})
		}
		if err := hub.client.Status().Update(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	f.rollout = &rollout.ApplicationSetRollout{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "guestbook"},
		Spec: rollout.Spec{ApplicationSet: "guestbook", Placement: "guestbook", OnFailure: rollout.Rollback, Strategy: clusterv1alpha1.RolloutStrategy{
			Type:                clusterv1alpha1.ProgressivePerGroup,
			ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: clusterv1alpha1.RolloutConfig{ProgressDeadline: "None", MinSuccessTime: metav1.Duration{Duration: 2 * time.Second}}},
		}},
	}
	f.agents()
	f.binaries = []*binary{
		newBinary(t, env.Propagation, "--rollouts", "--deliver-namespace=false"), newBinary(t, env.Rollout),
	}
	for _, b := range f.binaries {
		b.start()
		t.Cleanup(b.kill)
	}
	return f
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		f.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

func (*fleet) spec(path string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"project":"default","destination":{"namespace":"guestbook"},"source":{"repoURL":"https://git.example/apps","targetRevision":"main","path":%q}}`, path))
}

// content gives every Application another path.
func (f *fleet) content(path string) {
	f.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": f.spec(path)})
	if err != nil {
		f.t.Fatal(err)
	}
	var all errgroup.Group
	all.SetLimit(20)
	for _, name := range f.clusters {
		all.Go(func() error {
			app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
			return hub.client.Patch(f.ctx, app, client.RawPatch(types.MergePatchType, patch))
		})
	}
	if err := all.Wait(); err != nil {
		f.t.Fatal(err)
	}
}

// commit gives the branch another revision, which is bad in some way unless how is empty.
func (f *fleet) commit(revision, how string) {
	f.mu.Lock()
	f.branch = revision
	if how != "" {
		f.bad[revision] = how
	}
	f.mu.Unlock()
	for _, name := range f.clusters {
		f.work <- name
	}
}

// agents play the work agents and Argo CDs of all clusters, and note what must not be.
func (f *fleet) agents() {
	f.t.Helper()
	watching, err := cache.New(hub.config, cache.Options{Scheme: hub.scheme})
	if err != nil {
		f.t.Fatal(err)
	}
	go func() { _ = watching.Start(f.ctx) }() // it ends with the test
	works, err := watching.GetInformer(f.ctx, &workv1.ManifestWork{})
	if err != nil {
		f.t.Fatal(err)
	}
	again := func(o any) {
		if w, ok := o.(*workv1.ManifestWork); ok && strings.HasPrefix(w.Namespace, f.namespace+"-") {
			f.work <- w.Namespace
		}
	}
	_, err = works.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: again, UpdateFunc: func(before, after any) {
		was, ok := before.(*workv1.ManifestWork)
		is, ok2 := after.(*workv1.ManifestWork)
		if ok && ok2 && was.Generation != is.Generation {
			again(after)
		}
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	go func() { // Argo CD compares now and again, too; where that changes nothing it is left out
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-f.ctx.Done():
				return
			case <-tick.C:
				for _, e := range f.status().Clusters {
					if e.State == rollout.StateProgressing {
						f.work <- e.Name
					}
				}
			}
		}
	}()
	for range 8 {
		go func() {
			for {
				select {
				case <-f.ctx.Done():
					return
				case cluster := <-f.work:
					f.report(watching, cluster)
				}
			}
		}()
	}
}

// report has a cluster compare what its work says, twice: the second comparison comes after
// the hub has seen that the first change was applied.
func (f *fleet) report(from client.Reader, cluster string) {
	var list workv1.ManifestWorkList
	if err := from.List(f.ctx, &list, client.InNamespace(cluster)); err != nil || len(list.Items) != 1 {
		return
	}
	w := list.Items[0].DeepCopy()
	var app argocd.Application
	if json.Unmarshal(w.Spec.Workload.Manifests[len(w.Spec.Workload.Manifests)-1].Raw, &app) != nil {
		return
	}
	var spec struct {
		Source struct{ Path, TargetRevision string }
	}
	_ = json.Unmarshal(app.Spec, &spec)
	f.mu.Lock()
	revision := spec.Source.TargetRevision
	if revision == "main" {
		revision = f.branch
	}
	how := f.bad[revision] + f.bad[spec.Source.Path]
	if how != "" && cluster != f.clusters[0] {
		f.violated = append(f.violated, fmt.Sprintf("%s compares %s at %s", cluster, spec.Source.Path, revision))
	}
	f.clock = f.clock.Add(time.Second)
	at := f.clock.Format(time.RFC3339)
	key := fmt.Sprintf("%d %s %s %s", w.Generation, revision, spec.Source.Path, how)
	first := f.reported[cluster] != key
	f.reported[cluster] = key
	f.writes[cluster] = int(w.Generation)
	f.mu.Unlock()
	values := map[string]string{
		contract.FeedbackHealthStatus: argocd.HealthHealthy, contract.FeedbackSyncStatus: argocd.SyncSynced, contract.FeedbackOperationPhase: argocd.OperationSucceeded,
		contract.FeedbackSyncRevision: revision, contract.FeedbackOperationStartedAt: at, contract.FeedbackReconciledAt: at,
	}
	switch {
	case strings.HasPrefix(how, "sync"):
		values[contract.FeedbackOperationPhase], values[contract.FeedbackSyncStatus] = argocd.OperationFailed, argocd.SyncOutOfSync
	case strings.HasPrefix(how, "degrades") && !first, strings.HasPrefix(how, "health"):
		values[contract.FeedbackHealthStatus] = argocd.HealthDegraded
	}
	m := workv1.ManifestCondition{
		ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Version: "v1alpha1", Kind: argocd.ApplicationKind, Resource: argocd.ApplicationPlural, Namespace: app.Namespace, Name: app.Name},
		Conditions:   []metav1.Condition{},
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
	}
	status := workv1.ManifestWorkStatus{
		Conditions:     []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "Applied", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Now()}},
		ResourceStatus: workv1.ManifestResourceStatus{Manifests: []workv1.ManifestCondition{m}},
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		_ = hub.client.Status().Patch(f.ctx, w, client.RawPatch(types.MergePatchType, patch)) // the next event
	}
	if first {
		time.AfterFunc(700*time.Millisecond, func() {
			select {
			case f.work <- cluster:
			case <-f.ctx.Done():
			}
		})
	}
}

func (f *fleet) status() *rollout.Status {
	r := &rollout.ApplicationSetRollout{}
	if err := hub.client.Get(f.ctx, client.ObjectKeyFromObject(f.rollout), r); err != nil {
		return &rollout.Status{Message: err.Error()}
	}
	return &r.Status
}

// eventually is [testkit.Eventually], with more patience for more clusters.
func (f *fleet) eventually(what string, check func() error) {
	f.t.Helper()
	patience := testkit.Patience + time.Duration(len(f.clusters))*200*time.Millisecond
	if err := testkit.WaitFor(f.ctx, patience, 100*time.Millisecond, what, func(context.Context) error { return check() }); err != nil {
		f.t.Fatal(err)
	}
}

// becomes waits until the rollout is as it should be.
func (f *fleet) becomes(what string, is func(*rollout.Status) bool) *rollout.Status {
	f.t.Helper()
	var s *rollout.Status
	f.eventually(what, func() error {
		if s = f.status(); is(s) {
			return nil
		}
		raw, err := json.Marshal(s)
		return errors.Join(errors.New(string(raw)), err)
	})
	return s
}

// approve approves the candidate that was taken back.
func (f *fleet) approve() {
	f.t.Helper()
	s := f.becomes("the candidate to be taken back", func(s *rollout.Status) bool { return s.Phase == rollout.RolledBack })
	testkit.Edit(f.t, hub.client, &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "guestbook"}}, func(r *rollout.ApplicationSetRollout) {
		r.Annotations = map[string]string{rollout.WordAnnotation: fmt.Sprintf("approve %d", s.Candidate.Number)}
	})
}

// adopt has the rollout take over what runs.
func (f *fleet) adopt() {
	f.t.Helper()
	f.create(f.rollout)
	f.becomes("what runs to be promoted and pinned", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && meta.IsStatusConditionTrue(s.Conditions, "Ready")
	})
}

// runs waits until every cluster's work carries what it should.
func (f *fleet) runs(what string, is func(i int, path, revision string) bool) {
	f.t.Helper()
	f.eventually(what, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, name := range f.clusters {
			fields := strings.Fields(f.reported[name])
			if len(fields) < 3 || !is(i, fields[2], fields[1]) {
				return fmt.Errorf("%s runs %v", name, fields)
			}
		}
		return nil
	})
}

// abort takes a candidate back.
func abort(t testing.TB, f *fleet, number int64) {
	t.Helper()
	testkit.Edit(t, hub.client, &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "guestbook"}}, func(r *rollout.ApplicationSetRollout) {
		r.Annotations = map[string]string{rollout.WordAnnotation: fmt.Sprintf("abort %d", number)}
	})
}

// bare returns how long one bare pass of writes takes: an annotation on every work, by as
// many workers as propagation has.
func (f *fleet) bare() time.Duration {
	f.t.Helper()
	var list workv1.ManifestWorkList
	if err := hub.client.List(f.ctx, &list); err != nil {
		f.t.Fatal(err)
	}
	began := time.Now()
	names := make(chan *workv1.ManifestWork)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for w := range names {
				patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"bare":"pass"}}}`))
				_ = hub.client.Patch(f.ctx, w, patch) // it is counted all the same
			}
		})
	}
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Namespace, f.namespace+"-") {
			names <- &list.Items[i]
		}
	}
	close(names)
	all.Wait()
	return time.Since(began)
}
