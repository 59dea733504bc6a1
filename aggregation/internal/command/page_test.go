// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The whole way: a row of the hub on the page, for an account with the right, over TLS.
func TestPageShowsTheReport(t *testing.T) {
	w := newWorld(t)
	address := freeAddress(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir(), "--page-bind-address="+address)
	token := viewer(t, w.namespace)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true} // it is self-signed
	t.Cleanup(transport.CloseIdleConnections)
	look := func(path string) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := transport.RoundTrip(r)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", response.Status, body)
		}
		return string(body), err
	}
	a := w.lone("guestbook")
	degraded := healthy()
	degraded["healthStatus"] = "Degraded"
	w.report(a, degraded)
	testkit.Eventually(t, "the row on the page", func() error {
		body, err := look("/sets/" + w.namespace + "/guestbook")
		if err == nil && (!strings.Contains(body, a.name) || !strings.Contains(body, "Degraded")) {
			err = errors.New(body)
		}
		return err
	})
	w.must(hub.Patch(t.Context(), &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: a.cluster}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"apps.open-cluster-management.io/argocd-url":"https://argocd.example.com/"}}}`))))
	testkit.Eventually(t, "a link to the Argo CD of its cluster", func() error {
		body, err := look("/apps/" + w.namespace + "/" + a.name + "/" + a.cluster)
		if err == nil && !strings.Contains(body, `"https://argocd.example.com/applications?search=`+a.name+`"`) {
			err = errors.New(body)
		}
		return err
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/events?view=set:"+w.namespace+"/guestbook", nil)
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := transport.RoundTrip(r)
	w.must(err)
	defer func() { _ = response.Body.Close() }()
	w.report(a, healthy())
	said := make([]byte, 4096)
	for heard := ""; !strings.Contains(heard, "event: changed"); {
		n, err := response.Body.Read(said)
		if heard += string(said[:n]); err != nil {
			t.Fatalf("heard %q: %v", heard, err)
		}
	}
	testkit.Eventually(t, "the change on the page", func() error {
		body, err := look("/sets/" + w.namespace + "/guestbook?health=Healthy")
		if err == nil && !strings.Contains(body, a.name) {
			err = errors.New(body)
		}
		return err
	})
}

// While the page is off, no Application is listed and no token reviewed.
func TestPageOffCostsNothing(t *testing.T) {
	w := newWorld(t)
	through := &tap{}
	var asked atomic.Int64
	through.breakWith(func(r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, "/applications") && !strings.Contains(r.URL.Path, "/applicationsets") || strings.Contains(r.URL.Path, "reviews") {
			asked.Add(1)
		}
		return nil
	})
	start(t, through, "--intermediate-dir="+t.TempDir())
	w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests for the page", n)
	}
	if strings.Contains(through.logged(), "page") {
		t.Error("the page was started")
	}
}

// viewer makes an account that may read the reports of a namespace, and waits until
// the API server knows.
func viewer(t *testing.T, namespace string) (token string) {
	t.Helper()
	admin, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	for _, o := range []client.Object{
		account,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps.open-cluster-management.io"}, Resources: []string{"multiclusterapplicationsetreports"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "viewer"}}},
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// The page says nothing about a fleet of which it has not read all: rendered Applications
// come by a list of their own, and the first answer has them.
func TestPageWaitsForRenderedRows(t *testing.T) {
	w := newWorld(t)
	w.applicationSet("rendered")
	w.renders("rendered", "a", w.cluster("near", metav1.ConditionTrue))
	address := freeAddress(t)
	through, held := &tap{}, make(chan struct{}, 1)
	through.breakWith(func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/applications") || !strings.Contains(r.URL.RawQuery, "rendered") {
			return nil
		}
		select {
		case held <- struct{}{}:
		default: // asked again
		}
		return answer(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	})
	start(t, through, "--intermediate-dir="+t.TempDir(), "--rendered", "--page-bind-address="+address, "--page-secure=false")
	token := viewer(t, w.namespace)
	browser := &http.Client{Timeout: time.Minute}
	look := func() (code int, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/sets/"+w.namespace+"/rendered/rows", nil)
		w.must(err)
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := browser.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		w.must(err)
		return response.StatusCode, string(content)
	}
	select {
	case <-held:
	case <-time.After(time.Minute):
		t.Fatal("nobody asks for rendered Applications")
	}
	if code, body := look(); code != 0 && code != http.StatusServiceUnavailable {
		t.Errorf("it answers %d before it has read them: %s", code, body)
	}
	through.breakWith(nil)
	testkit.Eventually(t, "the page", func() error {
		code, body := look()
		if code == http.StatusTooManyRequests {
			return errors.New("asked too often")
		}
		if code != http.StatusOK {
			return fmt.Errorf("%d: %s\n%s", code, body, through.logged())
		}
		if !strings.Contains(body, `"application":"a"`) {
			t.Errorf("the first answer lacks the rendered Application: %s", body)
		}
		return nil
	})
}
