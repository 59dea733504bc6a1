// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/propagation/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/propagation/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server that the tests share; each has namespaces and clusters of its own,
// and runs alone. propagation has the rights of the shipped roles, and no others.
var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
	// secrets are the rules of the Role that is there once for each Argo CD.
	secrets []rbacv1.PolicyRule
	// optional are the rules of the component.
	optional []rbacv1.PolicyRule
}

const (
	account   = "system:serviceaccount:multicluster-integrations:multicluster-integrations"
	component = "deploy/components/gitopsclusters/"
	crdFile   = component + "apps.open-cluster-management.io_gitopsclusters.yaml"
)

func TestMain(m *testing.M) {
	code, err := withHub(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withHub(tests func() int) (code int, err error) {
	c, stop, err := testkit.Start(func(e *envtest.Environment) {
		e.CRDDirectoryPaths = append(e.CRDDirectoryPaths, filepath.Join(testkit.Root(), crdFile))
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	ctrl.SetLogger(logr.New(&logs))
	hub.config, hub.scheme = c, runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(hub.scheme), rbacv1.AddToScheme(hub.scheme), clusterv1.Install(hub.scheme), clusterv1beta1.Install(hub.scheme),
		v1beta1.AddToScheme(hub.scheme), v1alpha1.AddToScheme(hub.scheme)); err != nil {
		return 1, err
	}
	if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
		return 1, err
	}
	if err := grant(); err != nil {
		return 1, err
	}
	code = tests()
	if code == 0 && whole() {
		err = unused()
	}
	return code, err
}

// whole reports whether every test was run.
func whole() bool {
	return !slices.ContainsFunc(os.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "-test.run=") || strings.HasPrefix(arg, "-test.skip=") || strings.HasPrefix(arg, "-test.list=")
	})
}

// grant gives propagation's account the roles that are shipped.
func grant() error {
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}}
	for _, file := range []string{"deploy/base/rbac/propagation.yaml", component + "propagation.yaml"} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(), file))
		if err != nil {
			return err
		}
		for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
			role := &rbacv1.ClusterRole{}
			if err := decoder.Decode(role); err != nil {
				break
			}
			switch {
			case role.Kind == "Role" && role.Namespace == "argocd":
				hub.secrets = role.Rules
			case role.Kind == "ClusterRole":
				if strings.HasPrefix(file, component) {
					hub.optional = role.Rules
				}
				binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}
				if err := errors.Join(hub.client.Create(context.Background(), role), hub.client.Create(context.Background(), binding)); err != nil {
					return err
				}
			}
		}
	}
	if len(hub.secrets) == 0 || len(hub.optional) == 0 {
		return errors.New("no roles found: the tests would prove nothing")
	}
	return nil
}

// used are verbs on resources that propagation has used.
var used sync.Map

// unused names the rights of the component that no test needed.
func unused() error {
	var failed error
	for _, rule := range hub.optional {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if _, ok := used.Load(verb + " " + resource); !ok {
					failed = errors.Join(failed, fmt.Errorf("the component's role allows %s %s, which no test uses", verb, resource))
				}
			}
		}
	}
	return failed
}

// recorder notes what goes to the API server.
type recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	// writes are "verb resource[/subresource] namespace/name", but for Events.
	writes []string
	denied []string
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	verb, resource, object := requested(q)
	used.Store(verb+" "+resource, true)
	if q.URL.Query().Get("sendInitialEvents") != "" { // an API server that cannot do that is asked for a list
		used.Store("list "+resource, true)
	}
	response, err := r.next.RoundTrip(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && response.StatusCode == http.StatusForbidden {
		r.denied = append(r.denied, verb+" "+resource+" "+object)
	}
	if q.Method != http.MethodGet && resource != "events" && err == nil && response.StatusCode < 300 {
		r.writes = append(r.writes, verb+" "+resource+" "+object)
	}
	return response, err
}

func (r *recorder) written() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.writes)
}

// requested reads a request as the API server's authorizer does.
func requested(q *http.Request) (verb, resource, object string) {
	parts := strings.Split(strings.Trim(q.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = parts[min(2, len(parts)):]
	} else {
		parts = parts[min(3, len(parts)):]
	}
	namespace := ""
	if len(parts) > 2 && parts[0] == "namespaces" {
		namespace, parts = parts[1]+"/", parts[2:]
	}
	verb = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete", http.MethodPut: "update", http.MethodGet: "get"}[q.Method]
	if len(parts) > 0 {
		resource = parts[0]
	}
	if len(parts) > 1 {
		object = namespace + parts[1]
	} else if verb == "get" {
		if verb = "list"; q.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verb, resource, object
}

var serial atomic.Int64

func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, serial.Add(1)) }

// fleet is an Argo CD of the hub with a namespace of GitOpsClusters.
type fleet struct {
	t *testing.T
	// argocd is where Secrets are, team where GitOpsClusters and Placements are.
	argocd, team string
	options      Options
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, argocd: unique("argocd"), team: unique("team")}
	f.namespace(f.argocd)
	f.namespace(f.team)
	f.grantSecrets(f.argocd)
	f.options = Options{Namespaces: []string{f.argocd}, MaxLeaving: guard.Limit{Percent: 20, Least: 1}, Recheck: 50 * time.Millisecond, HubNamespace: "default"}
	return f
}

func (f *fleet) namespace(name string) {
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (f *fleet) grantSecrets(namespace string) {
	f.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secrets"}, Rules: hub.secrets})
	f.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secrets"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "secrets"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}},
	})
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		f.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// start runs registration and GitOpsClusters as propagation's account.
func (f *fleet) start() (record *recorder, stop func()) {
	f.t.Helper()
	record = &recorder{}
	as := rest.CopyConfig(hub.config)
	as.Impersonate.UserName = account
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { record.next = next; return record })
	skip := true
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.New(&logs), Cache: cache.Options{ByObject: register.Caches(true, f.options.Namespaces...)},
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	roster, err := Setup(mgr, f.options)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := register.Setup(f.t.Context(), mgr, register.Options{Namespaces: f.options.Namespaces, Scope: roster, Again: roster.Again()}); err != nil {
		f.t.Fatal(err)
	}
	stop = testkit.Run(f.t, mgr)
	f.t.Cleanup(func() {
		stop()
		record.mu.Lock()
		defer record.mu.Unlock()
		if len(record.denied) > 0 {
			f.t.Errorf("the shipped roles do not allow: %q", record.denied)
		}
	})
	return record, stop
}

// cluster creates accepted ManagedClusters, gone after the test.
func (f *fleet) clusters(n int) []string {
	f.t.Helper()
	names := make([]string, n)
	for i := range names {
		c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: unique("c")}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
		names[i] = c.Name
		f.create(c)
		f.t.Cleanup(func() {
			if err := hub.client.Delete(context.Background(), c); client.IgnoreNotFound(err) != nil {
				f.t.Errorf("delete ManagedCluster %s: %v", c.Name, err)
			}
		})
	}
	return names
}

// placement creates a Placement with the decision for some clusters.
func (f *fleet) placement(name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	f.t.Helper()
	f.create(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name}})
	return f.decision(name, clusters...)
}

func (f *fleet) decision(name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	f.t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name + "-decision-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: name}}}
	f.create(d)
	f.decide(d, clusters...)
	return d
}

func (f *fleet) decide(d *clusterv1beta1.PlacementDecision, clusters ...string) {
	f.t.Helper()
	testkit.EditStatus(f.t, hub.client, d, func(d *clusterv1beta1.PlacementDecision) {
		d.Status.Decisions = []clusterv1beta1.ClusterDecision{}
		for _, c := range clusters {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
		}
	})
}

// gitops creates a GitOpsCluster in the words of v1beta1.
func (f *fleet) gitops(name, placement string, change ...func(*v1beta1.GitOpsCluster)) *v1beta1.GitOpsCluster {
	f.t.Helper()
	o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name}}
	o.Spec.ArgoServer = &v1beta1.ArgoServerSpec{ArgoNamespace: f.argocd, Cluster: "local-cluster"}
	o.Spec.PlacementRef = corev1.ObjectReference{APIVersion: "cluster.open-cluster-management.io/v1beta1", Kind: "Placement", Name: placement, Namespace: "not-read"}
	for _, c := range change {
		c(o)
	}
	f.create(o)
	f.t.Cleanup(func() { f.release(o) })
	return o
}

// release removes a GitOpsCluster whatever holds it, so that the next test is alone.
func (f *fleet) release(o *v1beta1.GitOpsCluster) {
	ctx, at := context.Background(), &v1beta1.GitOpsCluster{}
	for {
		err := hub.client.Get(ctx, client.ObjectKeyFromObject(o), at)
		if err != nil {
			return // gone, or with its CRD
		}
		at.Finalizers = nil
		if err = hub.client.Update(ctx, at); err == nil {
			err = hub.client.Delete(ctx, at)
		}
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			f.t.Errorf("release GitOpsCluster %s: %v", o.Name, err)
			return
		}
	}
}

// says waits until a condition of a GitOpsCluster has a status and a reason.
func (f *fleet) says(o *v1beta1.GitOpsCluster, kind string, status metav1.ConditionStatus, reason string) *v1beta1.GitOpsCluster {
	f.t.Helper()
	at := &v1beta1.GitOpsCluster{}
	testkit.Eventually(f.t, fmt.Sprintf("%s %s/%s of %s", kind, status, reason, o.Name), func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), at); err != nil {
			return err
		}
		c := meta.FindStatusCondition(at.Status.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason || c.ObservedGeneration != at.Generation {
			return fmt.Errorf("generation %d, conditions are %+v", at.Generation, at.Status.Conditions)
		}
		return nil
	})
	return at
}

// ready waits until a GitOpsCluster is ready with so many clusters.
func (f *fleet) ready(o *v1beta1.GitOpsCluster, clusters int) *v1beta1.GitOpsCluster {
	f.t.Helper()
	var at *v1beta1.GitOpsCluster
	testkit.Eventually(f.t, fmt.Sprintf("%s to be ready with %d", o.Name, clusters), func() error {
		at = &v1beta1.GitOpsCluster{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), at); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(at.Status.Conditions, v1beta1.ConditionReady) || at.Status.Clusters.Registered != clusters || at.Status.Clusters.Selected != clusters {
			return fmt.Errorf("clusters %+v, conditions %+v", at.Status.Clusters, at.Status.Conditions)
		}
		return nil
	})
	return at
}

// secrets returns the clusters that have a Secret of ours in a namespace, with who holds them.
func (f *fleet) secrets(namespace string) map[string]*corev1.Secret {
	f.t.Helper()
	list := &corev1.SecretList{}
	if err := hub.client.List(context.Background(), list, client.InNamespace(namespace)); err != nil {
		f.t.Fatal(err)
	}
	found := map[string]*corev1.Secret{}
	for i := range list.Items {
		if register.IsOwn(&list.Items[i]) {
			found[register.ClusterName(&list.Items[i])] = &list.Items[i]
		}
	}
	return found
}

// registered waits until exactly these clusters have a Secret.
func (f *fleet) registered(clusters ...string) {
	f.t.Helper()
	want := slices.Sorted(slices.Values(clusters))
	testkit.Eventually(f.t, fmt.Sprintf("Secrets of %v", want), func() error {
		var got []string
		for name := range f.secrets(f.argocd) {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
}

func (f *fleet) gone(o client.Object) {
	f.t.Helper()
	testkit.Eventually(f.t, o.GetName()+" to be gone", func() error {
		err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

func nameOf(o client.Object) string {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}

// logs keeps every log line of every test.
var logs sink

type sink struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (s *sink) Init(logr.RuntimeInfo)  {}
func (s *sink) Enabled(level int) bool { return level <= 1 } // debug: propagation writes no more
func (s *sink) Info(_ int, msg string, pairs ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(&s.lines, msg, pairs)
}
func (s *sink) Error(err error, msg string, pairs ...any) {
	s.Info(0, msg+": "+fmt.Sprint(err), pairs...)
}
func (s *sink) WithValues(...any) logr.LogSink { return s }
func (s *sink) WithName(string) logr.LogSink   { return s }
func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}
