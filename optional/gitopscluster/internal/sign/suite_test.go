// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

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
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

// signer is the user of the signer. It has only the shipped permissions.
const signer = "system:serviceaccount:multicluster-integrations:gitopscluster"

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), eventsv1.AddToScheme(hub.scheme), certificatesv1.AddToScheme(hub.scheme), rbacv1.AddToScheme(hub.scheme),
			clusterv1.Install(hub.scheme), addonv1alpha1.Install(hub.scheme)); err != nil {
			return err
		}
		if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
			return err
		}
		return errors.Join(
			hub.client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: certificates.DefaultKeyNamespace}}),
			grant("sign", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: signer},
				rule("certificates.k8s.io", "certificatesigningrequests", "get", "list", "watch", "delete"),
				rule("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
				rule("certificates.k8s.io", "certificatesigningrequests/status", "update"),
				rbacv1.PolicyRule{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, Verbs: []string{"approve", "sign"}, ResourceNames: []string{agent.SignerName}},
				rule("addon.open-cluster-management.io", "managedclusteraddons", "get", "list", "watch", "patch"),
				rule("cluster.open-cluster-management.io", "managedclusters", "get", "list", "watch"),
				rule("events.k8s.io", "events", "create", "patch"),
				rule("", "secrets", "get")),
			grant("ask", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"},
				rule("certificates.k8s.io", "certificatesigningrequests", "create", "get")))
	})
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func grant(name string, to rbacv1.Subject, rules ...rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: "test-" + name}
	return errors.Join(
		hub.client.Create(context.Background(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}),
		hub.client.Create(context.Background(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, Subjects: []rbacv1.Subject{to}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		}))
}

var serial atomic.Int64

func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, serial.Add(1)) }

// argo is one test's Argo CD with a CA, and a running signer. The signer's clock is ahead by late.
type argo struct {
	t         *testing.T
	namespace string
	late      atomic.Int64
	options   Options
	client    client.Client // the signer's client, with its cache
	// wrap adds a client between the signer and the API server. nil adds none.
	wrap func(client.WithWatch) client.Client
	stop func()
}

func newArgo(t *testing.T) *argo {
	t.Helper()
	a := &argo{t: t, namespace: unique("argocd")}
	a.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}})
	a.ca()
	a.options = Options{Namespaces: []string{a.namespace}, Now: func() time.Time { return time.Now().Add(time.Duration(a.late.Load())) }}
	a.start()
	return a
}

// ca creates the CA as package certificates does.
func (a *argo) ca() {
	a.t.Helper()
	keeper := certificates.New(hub.client, hub.client, certificates.Options{})
	if _, err := keeper.Ensure(context.Background(), certificates.Facts{Namespace: a.namespace}); err != nil {
		a.t.Fatal(err)
	}
}

func (a *argo) start() {
	a.t.Helper()
	as := rest.CopyConfig(hub.config)
	as.Impersonate = rest.ImpersonationConfig{UserName: signer}
	yes := true
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Cache: cache.Options{ByObject: Caches()},
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, o)
			if err != nil || a.wrap == nil {
				return c, err
			}
			return a.wrap(c), nil
		},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	if err := Setup(context.Background(), mgr, a.options); err != nil {
		a.t.Fatal(err)
	}
	a.client, a.stop = mgr.GetClient(), testkit.Run(a.t, mgr)
}

func (a *argo) create(o client.Object) {
	a.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		a.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// cluster creates an accepted cluster without an add-on.
func (a *argo) cluster() string {
	a.t.Helper()
	name := unique("c")
	a.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	a.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
	return name
}

// addOn creates our add-on with a certificate generation.
func (a *argo) addOn(cluster string, generation int) {
	a.t.Helper()
	a.create(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.AddOnName, Annotations: map[string]string{
		contract.RegisteredByAnnotation: contract.RegisteredBy, agent.ArgoNamespaceAnnotation: a.namespace,
	}}})
	a.generation(cluster, generation)
}

func (a *argo) generation(cluster string, generation int) {
	a.t.Helper()
	testkit.EditStatus(a.t, hub.client, a.stored(cluster), func(o *addonv1alpha1.ManagedClusterAddOn) {
		o.Status.Registrations = []addonv1alpha1.RegistrationConfig{{
			SignerName: agent.SignerName, Subject: addonv1alpha1.Subject{User: cluster, Groups: []string{agent.Group(generation)}},
		}}
	})
}

func (a *argo) stored(cluster string) *addonv1alpha1.ManagedClusterAddOn {
	a.t.Helper()
	o := &addonv1alpha1.ManagedClusterAddOn{}
	if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: agent.AddOnName}, o); err != nil {
		a.t.Fatal(err)
	}
	return o
}

// request is a registration agent's request, which a test may change.
type request struct {
	as       string // the cluster that makes the request
	template x509.CertificateRequest
	csr      certificatesv1.CertificateSigningRequest
}

// ask creates a request of a cluster, with that cluster's identity.
func (a *argo) ask(cluster string, generation int, change ...func(*request)) *certificatesv1.CertificateSigningRequest {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	r := &request{
		as:       cluster,
		template: x509.CertificateRequest{Subject: pkix.Name{CommonName: cluster, Organization: []string{agent.Group(generation)}}, DNSNames: []string{agent.CSRServerName}},
		csr: certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: unique("addon-" + cluster), Labels: map[string]string{agent.CSRClusterLabel: cluster, agent.CSRAddOnLabel: agent.AddOnName}},
			Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: agent.SignerName, Usages: []certificatesv1.KeyUsage{
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment, certificatesv1.UsageClientAuth,
			}},
		},
	}
	for _, f := range change {
		f(r)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &r.template, key)
	if err != nil {
		a.t.Fatal(err)
	}
	r.csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	as := rest.CopyConfig(hub.config)
	as.Impersonate = rest.ImpersonationConfig{
		UserName: "system:open-cluster-management:" + r.as + ":agent", Groups: []string{"system:open-cluster-management:" + r.as, "system:authenticated"},
	}
	c, err := client.New(as, client.Options{Scheme: hub.scheme})
	if err != nil {
		a.t.Fatal(err)
	}
	if err := c.Create(context.Background(), &r.csr); err != nil {
		a.t.Fatal(err)
	}
	return &r.csr
}

// signed waits for a request's certificate, and returns it.
func (a *argo) signed(csr *certificatesv1.CertificateSigningRequest) *x509.Certificate {
	a.t.Helper()
	var found *x509.Certificate
	testkit.Eventually(a.t, "the certificate of "+csr.Name, func() error {
		now := a.read(csr)
		if len(now.Status.Certificate) == 0 {
			return fmt.Errorf("conditions are %v", now.Status.Conditions)
		}
		all, err := pki.ParseCertificates(now.Status.Certificate)
		if err != nil {
			return err
		}
		found = all[0]
		return nil
	})
	return found
}

func (a *argo) denied(csr *certificatesv1.CertificateSigningRequest) {
	a.t.Helper()
	testkit.Eventually(a.t, "the denial of "+csr.Name, func() error {
		if now := a.read(csr); !has(now, certificatesv1.CertificateDenied) {
			return fmt.Errorf("conditions are %v, it has %d bytes of certificate", now.Status.Conditions, len(now.Status.Certificate))
		}
		return nil
	})
}

// pending checks that requests are neither signed nor denied, after the signer has signed a later one.
func (a *argo) pending(requests map[string]*certificatesv1.CertificateSigningRequest) {
	a.t.Helper()
	probe := a.cluster()
	a.addOn(probe, 1)
	a.signed(a.ask(probe, 1))
	for name, csr := range maps.All(requests) {
		if now := a.read(csr); len(now.Status.Certificate) > 0 || len(now.Status.Conditions) > 0 {
			a.t.Errorf("%s: conditions %v, %d bytes of certificate", name, now.Status.Conditions, len(now.Status.Certificate))
		}
	}
}

func (a *argo) read(csr *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
	a.t.Helper()
	now := &certificatesv1.CertificateSigningRequest{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(csr), now); err != nil {
		a.t.Fatal(err)
	}
	return now
}
