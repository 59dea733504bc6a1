// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/placement/internal/appset"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// account is placement's account, with the permissions and the policy of its installation.
const account = "system:serviceaccount:multicluster-integrations:multicluster-integrations-placement"

var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), clusterv1beta1.Install(hub.scheme), appset.AddToScheme(hub.scheme)); err != nil {
			return err
		}
		if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
			return err
		}
		return install("role.yaml", "bindings.yaml", "policy.yaml")
	})
}

// install applies files of the component, as kustomize does.
func install(files ...string) error {
	ctx := context.Background()
	for _, name := range []string{"argocd", "second", "team", "multicluster-integrations"} {
		if err := hub.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	if err := hub.client.Create(ctx, generatorConfig("argocd")); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(testkit.Root(), "deploy", "components", "placement", file))
		if err != nil {
			return err
		}
		for _, document := range bytes.Split(append([]byte("\n"), text...), []byte("\n---\n")) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(document, o); err != nil {
				return err
			}
			if len(o.Object) == 0 {
				continue
			}
			if err := hub.client.Create(ctx, o); err != nil {
				return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
			}
		}
	}
	return nil
}

func generatorConfig(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ocm-placement-generator"},
		Data:       map[string]string{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "placementdecisions", "statusListKey": "decisions", "matchKey": "clusterName"},
	}
}

// asAccount returns the configuration of placement's account.
func asAccount() *rest.Config {
	c := rest.CopyConfig(hub.config)
	c.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:multicluster-integrations", "system:authenticated"}}
	return c
}

// start runs placement. If a cluster is in no decision, it waits no longer than for other changes.
func start(t testing.TB, namespaces ...string) (writes *atomic.Int64, stop func()) {
	t.Helper()
	return startWith(t, quiet, namespaces...)
}

func startWith(t testing.TB, absence time.Duration, namespaces ...string) (writes *atomic.Int64, stop func()) {
	t.Helper()
	if len(namespaces) == 0 {
		namespaces = []string{"argocd"}
	}
	counted, writes := testkit.CountWrites(asAccount())
	skipNames := true
	mgr, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skipNames}, Cache: cache.Options{ByObject: Caches(namespaces)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newReconciler(mgr.GetClient(), namespaces)
	r.absence = absence
	if err := setup(mgr, r); err != nil {
		t.Fatal(err)
	}
	return writes, testkit.Run(t, mgr)
}

// stepper is placement with the clock of a test. It handles an ApplicationSet only when the test asks for that.
type stepper struct {
	*Reconciler
	cached client.Reader
	clock  time.Time
	logged []string // at level Info
}

// newStepper returns a process that has just started.
func newStepper(t testing.TB) *stepper {
	t.Helper()
	cached, err := cache.New(asAccount(), cache.Options{Scheme: hub.scheme, ByObject: Caches([]string{"argocd"})})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(asAccount(), client.Options{Scheme: hub.scheme, Cache: &client.CacheOptions{Reader: cached}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cached.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if !cached.WaitForCacheSync(ctx) {
		t.Fatal("the cache does not start")
	}
	s := &stepper{Reconciler: newReconciler(c, []string{"argocd"}), cached: cached, clock: time.Unix(1_000_000, 0)}
	s.now = func() time.Time { return s.clock }
	return s
}

// at lets time pass and handles the ApplicationSet. It fails unless a refresh is requested then, or not, as the test
// wants.
func (s *stepper) at(t testing.TB, after time.Duration, want bool, why string) {
	t.Helper()
	if got, _ := s.handle(t, after); got != want {
		t.Fatalf("%s: a refresh is requested: %t, want %t", why, got, want)
	}
}

// handle lets time pass and handles ApplicationSet "set" of Argo CD's namespace. It returns whether a refresh is
// requested, and when to handle the ApplicationSet again. Of a requested refresh it removes the annotation, as the
// ApplicationSet controller does.
func (s *stepper) handle(t testing.TB, after time.Duration) (requested bool, again time.Duration) {
	t.Helper()
	s.clock = s.clock.Add(after)
	testkit.Until(t, "the cache", func() bool { return s.sees(t, hub.client) == s.sees(t, s.cached) })
	ctx := ctrl.LoggerInto(context.Background(), funcr.New(func(_, line string) { s.logged = append(s.logged, line) }, funcr.Options{}))
	result, err := s.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "argocd", Name: "set"}})
	if err != nil {
		t.Fatal(err)
	}
	if requested = setOf(t, "argocd", "set").Refreshing(); requested {
		release(t, "argocd", "set")
	}
	return requested, result.RequeueAfter
}

// sees returns the versions of the objects that a client reads.
func (s *stepper) sees(t testing.TB, c client.Reader) (versions string) {
	t.Helper()
	sets, decisions, kinds := &appset.ApplicationSetList{}, &clusterv1beta1.PlacementDecisionList{}, &corev1.ConfigMapList{}
	for _, list := range []client.ObjectList{sets, decisions, kinds} {
		if err := c.List(context.Background(), list, client.InNamespace("argocd")); err != nil {
			t.Fatal(err)
		}
	}
	all := []string{}
	for i := range sets.Items {
		all = append(all, sets.Items[i].Name+sets.Items[i].ResourceVersion)
	}
	for i := range decisions.Items {
		all = append(all, decisions.Items[i].Name+decisions.Items[i].ResourceVersion)
	}
	for i := range kinds.Items {
		all = append(all, kinds.Items[i].Name+kinds.Items[i].ResourceVersion)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

const byPlacement = "{clusterDecisionResource: {configMapRef: ocm-placement-generator, labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: %s}}}}"

// newSet creates an ApplicationSet. It has an annotation of another client.
func newSet(t testing.TB, namespace, name, generators string) {
	t.Helper()
	set := &appset.ApplicationSet{}
	err := yaml.Unmarshal(fmt.Appendf(nil, `{metadata: {namespace: %s, name: %s, annotations: {theirs: stays}}, spec: {generators: [%s], template: {metadata: {name: x}, spec: {project: default, destination: {}}}}}`,
		namespace, name, generators), set)
	if err != nil {
		t.Fatal(err)
	}
	set.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationSetKind))
	create(t, set)
}

func create(t testing.TB, o client.Object) {
	t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// decide creates or updates a PlacementDecision, as OCM does: it is created without clusters.
func decide(t testing.TB, namespace, placement, name string, clusters ...string) {
	t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{clusterv1beta1.PlacementLabel: placement},
	}}
	err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(d), d)
	if apierrors.IsNotFound(err) {
		create(t, d)
	} else if err != nil {
		t.Fatal(err)
	}
	testkit.EditStatus(t, hub.client, d, func(d *clusterv1beta1.PlacementDecision) {
		d.Status.Decisions = []clusterv1beta1.ClusterDecision{}
		for _, c := range clusters {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
		}
	})
}

func undecide(t testing.TB, namespace, name string) {
	t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := hub.client.Delete(context.Background(), d); err != nil {
		t.Fatal(err)
	}
}

func register(t testing.TB, namespace, cluster string) {
	t.Helper()
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: cluster + "-cluster-secret",
		Labels: map[string]string{argocd.SecretTypeLabel: argocd.SecretTypeCluster, contract.RegisteredNameLabel: cluster},
	}})
}

func setOf(t testing.TB, namespace, name string) *appset.ApplicationSet {
	t.Helper()
	set := &appset.ApplicationSet{}
	if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// refreshed waits for the annotation and removes it, as the ApplicationSet controller does.
func refreshed(t testing.TB, namespace, name string) {
	t.Helper()
	testkit.Until(t, "a refresh of "+namespace+"/"+name, func() bool { return setOf(t, namespace, name).Refreshing() })
	if set := setOf(t, namespace, name); set.Annotations["theirs"] != "stays" || set.Annotations[appset.RefreshAnnotation] != "true" || set.Generation != 1 {
		t.Errorf("%s/%s has annotations %v, generation %d", namespace, name, set.Annotations, set.Generation)
	}
	release(t, namespace, name)
}

// release removes the annotation.
func release(t testing.TB, namespace, name string) {
	t.Helper()
	patch(t, hub.client, namespace, name, `{"metadata":{"annotations":{"`+appset.RefreshAnnotation+`":null}}}`)
}

func patch(t testing.TB, c client.Client, namespace, name, text string) {
	t.Helper()
	if err := tryPatch(c, namespace, name, text); err != nil {
		t.Fatal(err)
	}
}

func tryPatch(c client.Client, namespace, name, text string) error {
	set := argocd.ApplicationSetMetadata()
	set.Namespace, set.Name = namespace, name
	return c.Patch(context.Background(), set, client.RawPatch(types.MergePatchType, []byte(text)))
}
