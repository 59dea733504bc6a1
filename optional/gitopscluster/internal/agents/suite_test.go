// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

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
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/enqueue"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
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
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), appsv1.AddToScheme(hub.scheme), certificatesv1.AddToScheme(hub.scheme),
			clusterv1.Install(hub.scheme), addonv1alpha1.Install(hub.scheme), workv1.Install(hub.scheme), argocd.AddToScheme(hub.scheme)); err != nil {
			return err
		}
		if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
			return err
		}
		return hub.client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: certificates.DefaultKeyNamespace}})
	})
}

var serial atomic.Int64

func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, serial.Add(1)) }

// fixture is one test's Argo CD with a principal, and a controller on the test hub.
type fixture struct {
	*Reconciler
	t         *testing.T
	namespace string
	writes    *atomic.Int64
	stop      func()
	// wrap is a transport between the controller and the API server. nil adds none.
	wrap  func(http.RoundTripper) http.RoundTripper
	grace time.Duration
	// trigger starts a pass, as package gitops does.
	trigger enqueue.Queue

	mu        sync.Mutex
	abandoned []string
	// specs is nil until the GitOpsClusters are known. holders has the holders of each cluster's Secret.
	specs   map[types.NamespacedName]Spec
	holders map[string][]string
	plan    *Plan
	passes  int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, namespace: unique("argocd"), holders: map[string][]string{}}
	f.sweep()
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "argocd-agent-principal"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
	}}
	f.create(service)
	f.balanced("192.0.2.1")
	labels := map[string]string{"app": "p"}
	f.create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "argocd-agent-principal"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "p", Image: "quay.io/argoprojlabs/argocd-agent:v0.9.0", Args: []string{"principal", "--auth=" + principal.AuthValue, "--destination-based-mapping"},
		}}}},
	}})
	f.start()
	return f
}

// sweep deletes the ManifestWorks and add-ons of earlier tests. They would count for this test's Argo CD,
// because it is the only one.
func (f *fixture) sweep() {
	f.t.Helper()
	for _, list := range []client.ObjectList{&workv1.ManifestWorkList{}, &addonv1alpha1.ManagedClusterAddOnList{}, &certificatesv1.CertificateSigningRequestList{}} {
		if err := hub.client.List(context.Background(), list); err != nil {
			f.t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			left, ok := o.(client.Object)
			if !ok {
				return fmt.Errorf("a list has %T", o)
			}
			if err := hub.client.Patch(context.Background(), left, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
				return client.IgnoreNotFound(err)
			}
			return client.IgnoreNotFound(hub.client.Delete(context.Background(), left))
		}); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fixture) balanced(addresses ...string) {
	f.t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "argocd-agent-principal"}}
	testkit.EditStatus(f.t, hub.client, s, func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = nil
		for _, a := range addresses {
			s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
		}
	})
}

func (f *fixture) start() {
	f.t.Helper()
	counted, writes := testkit.CountWrites(hub.config)
	if f.wrap != nil {
		counted.Wrap(f.wrap)
	}
	yes := true
	mgr, err := ctrl.NewManager(counted, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Cache: cache.Options{ByObject: Caches([]string{f.namespace})},
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.writes = writes
	f.trigger, f.specs, f.plan = enqueue.Queue{}, nil, &Plan{open: map[string]bool{f.namespace: true}}
	f.Reconciler, err = Setup(context.Background(), mgr, Options{Namespaces: []string{f.namespace}, Limit: limit.Limit{Percent: 20, Least: 1}, Grace: f.grace, Secret: f.secretOf, Abandoned: func(owner types.NamespacedName, cluster string, kept []pki.Issued) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.abandoned = append(f.abandoned, fmt.Sprint(owner, " ", cluster, " ", len(kept)))
	}}, reconcile.Request{})
	if err != nil {
		f.t.Fatal(err)
	}
	c := ctrl.NewControllerManagedBy(mgr).Named("pass").WatchesRawSource(f.trigger.Source())
	for _, s := range f.Sources() {
		c.WatchesRawSource(s)
	}
	if err := c.Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) { return f.pass(ctx) })); err != nil {
		f.t.Fatal(err)
	}
	f.stop = testkit.Run(f.t, mgr)
}

// restart starts the hub with another grace period, after a stop, and sets its GitOpsClusters.
func (f *fixture) restart(grace time.Duration, specs ...Spec) {
	f.t.Helper()
	f.grace = grace
	f.start()
	f.Set(specs...)
}

// pass runs one pass, as package gitops does.
func (f *fixture) pass(ctx context.Context) (reconcile.Result, error) {
	f.mu.Lock()
	known, specs := f.specs != nil, slices.Collect(maps.Values(f.specs))
	f.mu.Unlock()
	if !known {
		return reconcile.Result{}, nil
	}
	plan, err := f.MakePlan(ctx, specs)
	if plan == nil || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: boot.ConflictDelay}, client.IgnoreAlreadyExists(err)
	}
	f.Apply(plan)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.passes = plan, f.passes+1
	return reconcile.Result{RequeueAfter: plan.After}, err
}

// Set adds or changes GitOpsClusters and starts a pass. Their clusters get a Secret.
func (f *fixture) Set(specs ...Spec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.specs == nil {
		f.specs = map[types.NamespacedName]Spec{}
	}
	for _, a := range specs {
		f.specs[a.Owner] = a
		for _, name := range a.Clusters {
			if !slices.Contains(f.holders[name], a.Owner.String()) {
				f.holders[name] = append(f.holders[name], a.Owner.String())
			}
		}
	}
	f.trigger.Add(reconcile.Request{})
}

func (f *fixture) Delete(owner types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.specs, owner)
	f.trigger.Add(reconcile.Request{})
}

// passed waits for a pass that began after the call, and returns the last plan.
func (f *fixture) passed() *Plan {
	f.t.Helper()
	f.mu.Lock()
	before := f.passes
	f.mu.Unlock()
	testkit.Eventually(f.t, "a plan", func() error {
		f.trigger.Add(reconcile.Request{})
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.passes < before+2 {
			return fmt.Errorf("%d passes since", f.passes-before)
		}
		return nil
	})
	return f.last()
}

func (f *fixture) last() *Plan {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.plan
}

func (f *fixture) Status(owner types.NamespacedName) (Status, bool) { return f.last().Status(owner) }

func (f *fixture) Has(owner types.NamespacedName, namespace, cluster string) bool {
	return f.last().Has(owner, namespace, cluster)
}

func (f *fixture) Left(owner types.NamespacedName) bool { return f.last().Left(owner, f.namespace) }

func (f *fixture) Shape(namespace, cluster string) (string, []byte, error) {
	return f.last().Shape(namespace, cluster)
}

// secretOf returns the holders of a cluster's Secret.
func (f *fixture) secretOf(_ context.Context, _, cluster string) (holders []string, digest string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.holders[cluster], "sha256:x", nil
}

// annotated returns the GitOpsCluster in an object's owner annotation.
func annotated(o client.Object) types.NamespacedName {
	owner := types.NamespacedName{}
	owner.Namespace, owner.Name, _ = contract.SplitKey(o.GetAnnotations()[agent.OwnerAnnotation])
	return owner
}

func (f *fixture) create(o client.Object) {
	f.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		f.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

func (f *fixture) cluster() string {
	f.t.Helper()
	name := unique("c")
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	f.create(c)
	testkit.EditStatus(f.t, hub.client, c, func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: metav1.Now()}}
	})
	return name
}

func (f *fixture) owner(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: f.namespace, Name: name}
}

// spec returns the spec of a GitOpsCluster of that name and age.
func (f *fixture) spec(name string, age time.Duration, clusters ...string) Spec {
	return Spec{Owner: f.owner(name), Created: time.Now().Add(-age), ArgoNamespace: f.namespace, Clusters: clusters,
		Agent: &Agent{Mode: agent.ModeManaged, Field: "spec.address", Namespace: "argocd", RestartPrincipal: true}}
}

func (f *fixture) addOn(cluster string) (*addonv1alpha1.ManagedClusterAddOn, error) {
	o := &addonv1alpha1.ManagedClusterAddOn{}
	return o, hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: agent.AddOnName}, o)
}

// delivered waits until check accepts the ManifestWork of a cluster.
func (f *fixture) delivered(cluster string, check func(*workv1.ManifestWork) error) *workv1.ManifestWork {
	f.t.Helper()
	w := &workv1.ManifestWork{}
	testkit.Eventually(f.t, "the work of "+cluster, func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, w); err != nil {
			a, known := f.Status(f.owner("a"))
			return fmt.Errorf("%w; answer %t %+v", err, known, a)
		}
		return check(w)
	})
	return w
}

func holds(text string) func(*workv1.ManifestWork) error {
	return func(w *workv1.ManifestWork) error {
		for _, m := range w.Spec.Workload.Manifests {
			if strings.Contains(string(m.Raw), text) {
				return nil
			}
		}
		return fmt.Errorf("there is no %q in it", text)
	}
}

func (f *fixture) absent(o client.Object) {
	f.t.Helper()
	testkit.Eventually(f.t, fmt.Sprintf("the end of %T %s", o, o.GetName()), func() error {
		err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
}

// keyGone acts as a work agent that no longer finds the client certificate's Secret.
func keyGone(t *testing.T, f *fixture, cluster string) {
	t.Helper()
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.LeavingWorkName}}
	testkit.Eventually(t, "the look for the key", func() error { return hub.client.Get(context.Background(), client.ObjectKeyFromObject(w), w) })
	f.absent(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.AddOnName}})
	testkit.EditStatus(t, hub.client, w, func(w *workv1.ManifestWork) {
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "x", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Now()}}
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: "argocd", Name: agent.ClientSecretName},
			Conditions: []metav1.Condition{
				{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: metav1.Now()},
				{Type: workv1.ManifestAvailable, Status: metav1.ConditionFalse, Reason: "ResourceNotAvailable", LastTransitionTime: metav1.Now()},
			},
		}}
	})
}

// signed requests a certificate as a cluster's registration agent does, and waits until it is issued. It
// returns the record of the certificate.
func (f *fixture) signed(cluster string) pki.Issued {
	f.t.Helper()
	var is []pki.Issued
	csr := requestOf(f.t, cluster, 1)
	testkit.Eventually(f.t, "the certificate", func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(csr), csr); err != nil {
			return err
		}
		chain, err := pki.ParseCertificates(csr.Status.Certificate)
		if err != nil {
			return fmt.Errorf("conditions %v, %w", csr.Status.Conditions, err)
		}
		// A signer with an old cache may record another certificate for a moment.
		addOn, err := f.addOn(cluster)
		if err != nil {
			return err
		}
		if is = pki.ParseIssued(addOn.Annotations[agent.IssuedAnnotation]); len(is) != 1 || is[0].SHA256 != pki.Fingerprint(chain[0]) {
			return fmt.Errorf("on record are %v", is)
		}
		return nil
	})
	return is[0]
}

func (f *fixture) status(name, what string, check func(Status) error) {
	f.t.Helper()
	testkit.Eventually(f.t, what, func() error {
		a, known := f.Status(f.owner(name))
		if !known {
			return errors.New("there is no answer")
		}
		return check(a)
	})
}

func requestOf(t *testing.T, cluster string, generation int) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: cluster, Organization: []string{agent.Group(generation)}}, DNSNames: []string{agent.CSRServerName},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(hub.config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:open-cluster-management:" + cluster + ":x", Groups: []string{"system:open-cluster-management:" + cluster, "system:masters"}}
	c, err := client.New(as, client.Options{Scheme: hub.scheme})
	if err != nil {
		t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: unique("addon-" + cluster), Labels: map[string]string{agent.CSRClusterLabel: cluster}},
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: agent.SignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})},
	}
	if err := c.Create(context.Background(), csr); err != nil {
		t.Fatal(err)
	}
	return csr
}
