// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
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
	admin  client.Client
)

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		config = c
		ctrl.SetLogger(logr.Discard())
		if err := errors.Join(argocd.AddToScheme(scheme.Scheme), clusterv1.Install(scheme.Scheme), v1alpha1.AddToScheme(scheme.Scheme)); err != nil {
			return err
		}
		admin, err = client.New(c, client.Options{Scheme: scheme.Scheme})
		return err
	})
}

const team = "team-a"

func start(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	c, o := New(), boot.Options{}
	fs := flag.NewFlagSet("page", flag.ContinueOnError)
	o.BindFlags(fs, Program())
	c.BindFlags(fs)
	if err := fs.Parse([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0", "--lease-namespace=" + team, "--page-bind-address=" + address}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.Validate(), c.Validate()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, &boot.Env{Program: Program(), Options: o, Config: rest.CopyConfig(config), Log: logr.Discard()})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "https://" + address
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// viewer creates an account that may read the reports of the namespace, and returns a token.
func viewer(t *testing.T) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: team, Name: "viewer"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	create(t, account,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps.open-cluster-management.io"}, Resources: []string{"multiclusterapplicationsetreports"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: team, Name: "viewer"}}})
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func application(name, cluster, status string) *argocd.Application {
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: team, Name: name, Labels: map[string]string{contract.PullLabel: "true"}, Annotations: map[string]string{contract.ClusterAnnotation: cluster},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "guestbook", UID: "1"}},
		},
		Spec: json.RawMessage(`{"project":"default","destination":{"namespace":"x"}}`), Status: json.RawMessage(status),
	}
}

// An account with the permission reads the page over TLS. The page shows Applications with and without
// errors of delivery, the report's resources, links to clusters, and the Leases.
func TestPage_showsTheHub(t *testing.T) {
	renewed := metav1.NowMicro()
	app := application("guestbook-c1", "c1", `{"health":{"status":"Degraded"},"sync":{"status":"Synced","revision":"abc"}}`)
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}, app,
		application("guestbook-c2", "c2", `{"conditions":[{"type":"PullDeliveryError","message":"no PlacementDecision","lastTransitionTime":"2026-11-21T10:00:00Z"}]}`),
		&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Annotations: map[string]string{contract.ArgoCDURLAnnotation: "https://argocd.example.com/"}}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "multicluster-integrations-propagation"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}},
		&v1alpha1.MulticlusterApplicationSetReport{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "guestbook"}, Statuses: v1alpha1.AppSetStatuses{
			Resources: []v1alpha1.ResourceRef{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "x", Name: "settings"}},
		}})
	create(t, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "odd"}})
	testkit.WriteUnreadableStatus(t, admin, "cluster.open-cluster-management.io/v1", "ManagedCluster", client.ObjectKey{Name: "odd"}) // hides no other cluster
	address, token := start(t), viewer(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true} // the certificate is self-signed
	t.Cleanup(transport.CloseIdleConnections)
	shows := func(path string, texts ...string) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("%q on %s", texts, path), func() error {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+token)
			response, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			for _, text := range texts {
				if !strings.Contains(string(body), text) {
					err = errors.Join(err, fmt.Errorf("%s: no %q in %s", response.Status, text, body))
				}
			}
			return err
		})
	}
	shows("/sets/team-a/guestbook", "guestbook-c1", "Degraded", "guestbook-c2", "Refused", "no PlacementDecision", "settings", "propagation last renewed its Lease", "aggregation holds no Lease")
	shows("/apps/team-a/guestbook-c1", `"https://argocd.example.com/applications?search=guestbook-c1"`)
	shows("/hub?state=Refused", "guestbook-c2")
	app.Status = json.RawMessage(`{"health":{"status":"Healthy"},"sync":{"status":"Synced"}}`)
	if err := admin.Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	shows("/sets/team-a/guestbook?health=Healthy", "guestbook-c1")
	if err := admin.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	shows("/apps/team-a/guestbook-c1", "There is no such Application")
}
