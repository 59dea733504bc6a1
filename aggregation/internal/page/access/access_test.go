// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub client.Client

func TestMain(m *testing.M) {
	testkit.Main(m, func(config *rest.Config) (err error) {
		hub, err = client.New(config, client.Options{Scheme: scheme.Scheme})
		return err
	})
}

// counter counts reviews on their way to the API server, and breaks when told to.
type counter struct {
	client.Writer
	mu     sync.Mutex
	n      int
	broken error
}

func (c *counter) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	c.mu.Lock()
	c.n++
	broken := c.broken
	c.mu.Unlock()
	if broken != nil {
		return broken
	}
	return c.Writer.Create(ctx, o, options...)
}

func (c *counter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func create(t *testing.T, o client.Object) {
	t.Helper()
	if err := hub.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// account makes a ServiceAccount and returns a token of it.
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

// grant lets an account read the reports of a namespace; without one, of all.
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

// sees returns which of some namespaces a token sees.
func sees(t *testing.T, a *Access, token string, of ...string) []string {
	t.Helper()
	v, err := a.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := a.Allowed(t.Context(), v, of)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(of), func(n string) bool { return !allowed(n) })
}

// Two tenants and a person of the platform, on a real API server. The authorizer of the
// API server follows its own caches, so a right counts a moment after it is given.
func TestTenantsSeeTheirOwn(t *testing.T) {
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
			if got := sees(t, New(hub, time.Now), test.token, "team-a", "team-b", "team-c"); !slices.Equal(got, test.want) {
				return fmt.Errorf("it sees %v", got)
			}
			return nil
		})
	}
	if err := hub.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the right to be gone", func() error {
		if got := sees(t, New(hub, time.Now), b, "team-a", "team-b"); len(got) > 0 {
			return fmt.Errorf("it sees %v", got)
		}
		return nil
	})
}

func TestTokensOfNobody(t *testing.T) {
	a := New(hub, time.Now)
	for _, token := range []string{"", "nonsense", "a.b.c"} {
		if _, err := a.Authenticate(t.Context(), token); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestAnswersCountForAWhile(t *testing.T) {
	namespaces(t, "team-d")
	token := account(t, "team-d", "dora")
	through, at := &counter{Writer: hub}, &clock{time.Now()}
	a := New(through, at.Now)
	look := func() { sees(t, a, token, "team-d") }
	for _, step := range []struct {
		why     string
		after   time.Duration
		reviews int
	}{
		{"first it asks for the token, all namespaces and the one", 0, 3},
		{"then it remembers", time.Second, 0},
		{"a no is asked for again soon", noFor, 2},
		{"a yes later", yesFor, 3},
	} {
		at.now = at.now.Add(step.after)
		look()
		if n := through.take(); n != step.reviews {
			t.Errorf("%s: %d reviews, want %d", step.why, n, step.reviews)
		}
	}
	a.Forget(token)
	look()
	if n := through.take(); n != 1 {
		t.Errorf("after a logout: %d reviews, want that of the token", n)
	}
}

// An API server that does not answer allows nothing, and is not taken for a no.
func TestNoAnswerIsNotAllowed(t *testing.T) {
	namespaces(t, "team-e")
	token := account(t, "team-e", "emil")
	through := &counter{Writer: hub, broken: errors.New("connection refused")}
	a := New(through, time.Now)
	if _, err := a.Authenticate(t.Context(), token); !errors.Is(err, ErrUnavailable) {
		t.Errorf("token: %v", err)
	}
	through.broken = nil
	v, err := a.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatalf("once it answers: %v", err)
	}
	through.broken = errors.New("connection refused")
	if allowed, err := a.Allowed(t.Context(), v, []string{"team-e"}); allowed != nil || !errors.Is(err, ErrUnavailable) {
		t.Errorf("rights: %v", err)
	}
}

// yes answers every review.
type yes struct{ client.Writer }

func (yes) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	switch r := o.(type) {
	case *authenticationv1.TokenReview:
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: r.Spec.Token}}
	case *authorizationv1.SubjectAccessReview:
		r.Status.Allowed = r.Spec.ResourceAttributes.Namespace != ""
	}
	return nil
}

func TestMemoryIsBounded(t *testing.T) {
	a := New(yes{}, time.Now)
	for n := range maxAnswers + 500 {
		v, err := a.Authenticate(t.Context(), fmt.Sprint(n))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Allowed(t.Context(), v, []string{"a", "b", "c", "d", "e", "f", "g", "h"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.viewers) > maxAnswers || len(a.rights) > maxRights {
		t.Errorf("%d viewers, %d rights", len(a.viewers), len(a.rights))
	}
}
