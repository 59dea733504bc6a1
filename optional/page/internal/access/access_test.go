// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	hub    client.Client
	config *rest.Config
)

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		config = c
		hub, err = client.New(c, client.Options{Scheme: scheme.Scheme})
		return err
	})
}

func open(t *testing.T, config *rest.Config, through http.RoundTripper) *Access {
	t.Helper()
	a, err := New(config, &http.Client{Transport: through})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// real returns an Access to the API server of the test.
func real(t *testing.T) *Access {
	t.Helper()
	through, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, config, through)
}

// reviewer acts as an API server that gives each account one namespace. A token is "account/namespace". A
// suffix after "#" makes another token of the same account.
type reviewer struct {
	mu             sync.Mutex
	tokens, rights int
	broken         error
}

func (r *reviewer) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return nil, r.broken
	}
	var review struct {
		metav1.TypeMeta
		Spec struct {
			Token              string
			User               string
			ResourceAttributes *authorizationv1.ResourceAttributes
		}
	}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		return nil, err
	}
	var answer any
	if strings.HasSuffix(request.URL.Path, "/tokenreviews") {
		r.tokens++
		name, _, _ := strings.Cut(review.Spec.Token, "#")
		status := authenticationv1.TokenReviewStatus{Error: "[invalid bearer token]"}
		if strings.Contains(name, "/") {
			status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: name, Extra: map[string]authenticationv1.ExtraValue{user.CredentialIDKey: {review.Spec.Token}},
			}}
		}
		answer = authenticationv1.TokenReview{TypeMeta: review.TypeMeta, Status: status}
	} else {
		r.rights++
		_, namespace, _ := strings.Cut(review.Spec.User, "/")
		allowed := namespace == review.Spec.ResourceAttributes.Namespace
		answer = authorizationv1.SubjectAccessReview{TypeMeta: review.TypeMeta, Status: authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}}
	}
	data, err := json.Marshal(answer)
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data))}, err
}

func (r *reviewer) take() (tokens, rights int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tokens, rights, r.tokens, r.rights = r.tokens, r.rights, 0, 0
	return tokens, rights
}

var nowhere = &rest.Config{Host: "https://hub.example.com", ContentConfig: rest.ContentConfig{ContentType: "application/json"}}

func create(t *testing.T, o client.Object) {
	t.Helper()
	if err := hub.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// account creates a ServiceAccount and returns a token.
func account(t *testing.T, namespace, name string) string {
	t.Helper()
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(t, a)
	request := &authenticationv1.TokenRequest{}
	if err := hub.SubResource("token").Create(t.Context(), a, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// grant lets an account read the reports of one namespace. An empty namespace means all.
func grant(t *testing.T, in, namespace, account string) client.Object {
	t.Helper()
	name := "viewer-" + account
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"apps.open-cluster-management.io"}, Resources: []string{Resource}, Verbs: []string{Verb}}}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}}
	var binding client.Object
	if in == "" {
		create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
		binding = &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	} else {
		create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name}, Rules: rules})
		binding = &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}}
	}
	create(t, binding)
	return binding
}

func namespaces(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}})
	}
}

// sees returns the namespaces that a token may see.
func sees(t *testing.T, a *Access, token string, of ...string) []string {
	t.Helper()
	v, err := a.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	rights, err := a.Rights(t.Context(), v, of)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(of), func(n string) bool { return !rights.Allow(n) })
}

// Two tenants see only their own namespaces, and a platform account sees all, on a real API server. The API
// server's authorizer has a cache, so permissions take effect after a moment.
func TestAccess_limitsTenantsToTheirNamespaces(t *testing.T) {
	namespaces(t, "team-a", "team-b", "team-c")
	a, b, platform := account(t, "team-a", "anna"), account(t, "team-b", "ben"), account(t, "team-c", "pia")
	grant(t, "team-a", "team-a", "anna")
	binding := grant(t, "team-b", "team-b", "ben")
	grant(t, "", "team-c", "pia")
	for _, test := range []struct {
		token string
		want  []string
	}{{a, []string{"team-a"}}, {b, []string{"team-b"}}, {platform, []string{"team-a", "team-b", "team-c"}}} {
		testkit.Eventually(t, fmt.Sprintf("%v", test.want), func() error {
			if got := sees(t, real(t), test.token, "team-a", "team-b", "team-c"); !slices.Equal(got, test.want) {
				return fmt.Errorf("it sees %v", got)
			}
			return nil
		})
	}
	if err := hub.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the right to be gone", func() error {
		if got := sees(t, real(t), b, "team-a", "team-b"); len(got) > 0 {
			return fmt.Errorf("it sees %v", got)
		}
		return nil
	})
}

func TestAuthenticate_refusesUnknownTokens(t *testing.T) {
	a := real(t)
	for _, token := range []string{"", "nonsense", "a.b.c"} {
		if _, err := a.Authenticate(t.Context(), token); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// many returns n names of namespaces.
func many(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("team-%04d", i)
	}
	return all
}

// Open pages send many requests. The API server gets one review per account, namespace and minute, for any
// number of tokens of an account.
func TestRights_reviewANamespaceOnceAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		tenants, tokens, namespaces, times int
	}{
		"one tenant":            {1, 1, 1000, 25},
		"a new token each time": {1, 60, 1000, 25},
		"some tenants":          {8, 1, 900, 3}, // the authorizer caches 8,192 answers
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				through := &reviewer{}
				a := open(t, nowhere, through)
				all := many(test.namespaces)
				seconds := time.Now()
				for i := range test.times {
					for n := range test.tenants {
						own := all[n]
						if got := sees(t, a, fmt.Sprintf("tenant-%d/%s#%d", n, own, i%test.tokens), all...); !slices.Equal(got, []string{own}) {
							t.Fatalf("tenant %d sees %v", n, got)
						}
					}
					<-time.After(time.Until(seconds.Add(time.Duration(2*i+2) * time.Second)))
				}
				if _, rights := through.take(); rights != test.tenants*(test.namespaces+1) {
					t.Errorf("%d reviews of rights", rights)
				}
			})
		})
	}
}

func TestRights_areRememberedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		through := &reviewer{}
		a := open(t, nowhere, through)
		const token = "dora/team-d"
		seen := []string{"team-d", "team-e"}
		for _, step := range []struct {
			why            string
			after          time.Duration
			namespaces     []string
			tokens, rights int
		}{
			{"first the token, all namespaces and each one", 0, seen, 1, 3},
			{"then nothing", time.Second, seen, 0, 0},
			{"a new namespace alone", time.Second, []string{"team-c", "team-d", "team-e"}, 0, 1},
			{"one that is gone: nothing", time.Second, seen, 0, 0},
			{"after a minute all", remembered, seen, 1, 3},
		} {
			<-time.After(step.after)
			sees(t, a, token, step.namespaces...)
			if tokens, rights := through.take(); tokens != step.tokens || rights != step.rights {
				t.Errorf("%s: %d and %d reviews, want %d and %d", step.why, tokens, rights, step.tokens, step.rights)
			}
		}
	})
}

// If the API server does not answer, access is denied with ErrUnavailable, and not with ErrUnknown.
func TestAccess_failsClosed(t *testing.T) {
	through := &reviewer{broken: errors.New("connection refused")}
	a := open(t, nowhere, through)
	if _, err := a.Authenticate(t.Context(), "emil/team-e"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("token: %v", err)
	}
	through.broken = nil
	v, err := a.Authenticate(t.Context(), "emil/team-e")
	if err != nil {
		t.Fatalf("once it answers: %v", err)
	}
	through.broken = errors.New("connection refused")
	if rights, err := a.Rights(t.Context(), v, []string{"team-e"}); rights.Any() || !errors.Is(err, ErrUnavailable) {
		t.Errorf("rights: %v", err)
	}
	through.broken = nil
	if rights, err := a.Rights(t.Context(), v, []string{"team-e"}); err != nil || !rights.Allow("team-e") || rights.All {
		t.Errorf("rights once it answers: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), "nobody"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the API server's reason for a no: %v", err)
	}
}

// A flood of unknown tokens uses only its own share of reviews. A token that waits too long gets
// ErrUnavailable. A token that was accepted before does not wait.
func TestAuthenticate_limitsAFloodOfUnknownTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, nowhere, &reviewer{})
		if _, err := a.Authenticate(t.Context(), "known/team-a"); err != nil {
			t.Fatal(err)
		}
		<-time.After(remembered + time.Second) // its review has expired
		var flood sync.WaitGroup
		var unavailable atomic.Int64
		for n := range 1000 {
			flood.Go(func() {
				if _, err := a.Authenticate(t.Context(), fmt.Sprint("made-up-", n)); errors.Is(err, ErrUnavailable) {
					unavailable.Add(1)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if _, err := a.Authenticate(t.Context(), "known/team-a"); err != nil || time.Since(began) > time.Second {
			t.Errorf("who was known waits %s: %v", time.Since(began), err)
		}
		if _, err := a.Authenticate(t.Context(), "new/team-a"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a good token behind the flood: %v", err)
		}
		flood.Wait()
		if unavailable.Load() == 0 {
			t.Error("there was no flood")
		}
	})
}

// A viewer of all namespaces does not wait for the many reviews of other viewers.
func TestRights_doNotWaitForReviewsOfOtherViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, nowhere, &reviewer{})
		var tenants sync.WaitGroup
		for n := range 20 {
			v, err := a.Authenticate(t.Context(), fmt.Sprintf("tenant-%d/team-0001", n))
			if err != nil {
				t.Fatal(err)
			}
			tenants.Go(func() { _, _ = a.Rights(t.Context(), v, many(1000)) }) // their results do not matter here
		}
		synctest.Wait()
		v, err := a.Authenticate(t.Context(), "platform/") // the reviewer's namespace "" means all namespaces
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if rights, err := a.Rights(t.Context(), v, many(1000)); err != nil || !rights.All || time.Since(began) > time.Second {
			t.Errorf("%+v after %s: %v", rights.All, time.Since(began), err)
		}
		tenants.Wait()
	})
}

// Two tokens of one account share their permissions. Different accounts do not.
func TestAuthenticate_sharesPermissionsOfAnAccount(t *testing.T) {
	through := &reviewer{}
	a := open(t, nowhere, through)
	keys := map[string]string{}
	for _, token := range []string{"dora/team-d#1", "dora/team-d#2", "emil/team-d"} {
		v, err := a.Authenticate(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		keys[token] = v.key
	}
	if keys["dora/team-d#1"] != keys["dora/team-d#2"] || keys["dora/team-d#1"] == keys["emil/team-d"] {
		t.Errorf("keys %v", keys)
	}
}
