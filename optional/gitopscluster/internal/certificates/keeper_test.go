// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/standin"
)

// gitopscluster makes the Secrets that a principal needs to start, and makes them once.
func TestEnsure_createsTheSecretsOnce(t *testing.T) {
	a := newArgo(t)
	a.principal()
	state := a.ensure()
	if !state.SigningReady || len(state.Problems) > 0 || len(state.Writes) != 6 {
		t.Fatalf("ready %t, problems %v, writes %v", state.SigningReady, state.Problems, state.Writes)
	}
	for name, kind := range map[string]corev1.SecretType{caName: corev1.SecretTypeTLS, leafName: corev1.SecretTypeTLS, proxyName: corev1.SecretTypeTLS, tokenName: corev1.SecretTypeOpaque} {
		if s := a.secret(name); s.Type != kind || s.Annotations[contract.RegisteredByAnnotation] != contract.RegisteredBy {
			t.Errorf("Secret %s is of type %s, annotations %v", name, s.Type, s.Annotations)
		}
	}
	server, err := standin.Start(a.secret(caName).Data, a.secret(leafName).Data, standin.Auth, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	c := a.agent("c1", 1, state)
	if name, err := c.Dial(server.Address(), "principal.example.com", nil); err != nil || name != "c1" {
		t.Errorf("c1 is known as %q, %v", name, err)
	}
	if _, err := c.Dial(server.Address(), "elsewhere.example.com", nil); err == nil {
		t.Error("an agent takes the principal for another")
	}

	first := a.deployment().Spec.Template.Annotations[agent.CertificatesAnnotation]
	if first == "" {
		t.Fatal("the principal was not restarted")
	}
	a.restart(nil)
	for range 3 {
		a.now = a.now.Add(time.Minute)
		if again := a.ensure(); len(again.Writes) > 0 || again.BundleDigest != state.BundleDigest {
			t.Errorf("writes %v", again.Writes)
		}
	}
	if n := a.writes.Load(); n > 0 {
		t.Errorf("%d requests change something though nothing has changed", n)
	}
}

// agent returns an agent with a certificate that the CA has just signed.
func (a *argo) agent(cluster string, generation int, state State) standin.Agent {
	a.t.Helper()
	authorities, err := Load(context.Background(), hub.client, a.namespace, "")
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, key, _ := a.clientOf(authorities, cluster, generation)
	return standin.Agent{Roots: state.CABundle, Certificate: certificate, Key: key}
}

// gitopscluster re-creates each deleted Secret, adds missing names to a certificate, and renews
// certificates in time.
func TestEnsure_restoresAndRenewsSecrets(t *testing.T) {
	a := newArgo(t)
	a.principal()
	a.ensure()
	cases := []struct {
		reason string
		change func()
		writes []string
	}{
		{"a deleted certificate is made again, and the principal restarted", func() { a.delete(proxyName) }, []string{proxyName, "argocd-agent-principal"}},
		{"so is the key of tokens", func() { a.delete(tokenName) }, []string{tokenName, "argocd-agent-principal"}},
		{"a broken one is made anew", func() { a.edit(leafName, map[string]string{"tls.crt": "x"}) }, []string{leafName, "argocd-agent-principal"}},
		{"also the key of tokens", func() { a.edit(tokenName, map[string]string{"jwt.key": "x"}) }, []string{tokenName, "argocd-agent-principal"}},
		{"a name more", func() { a.names = append(a.names, "lb.example.com", "10.1.2.3") }, []string{leafName, "argocd-agent-principal"}},
		{"a name less waits for the renewal", func() { a.names = a.names[:2] }, nil},
		{"nothing before 70 % of the life", func() { a.now = a.now.Add(62 * 24 * time.Hour) }, nil},
		{"both after", func() { a.now = a.now.Add(2 * 24 * time.Hour) }, []string{leafName, proxyName, "argocd-agent-principal"}},
	}
	for _, c := range cases {
		before := a.deployment().Spec.Template.Annotations[agent.CertificatesAnnotation]
		c.change()
		state := a.ensure()
		var written []string
		for _, w := range state.Writes {
			written = append(written, w.Name)
		}
		if !slices.Equal(written, c.writes) || len(state.Problems) > 0 {
			t.Errorf("%s: wrote %v, problems %v", c.reason, state.Writes, state.Problems)
		}
		if after := a.deployment().Spec.Template.Annotations[agent.CertificatesAnnotation]; (after != before) != (len(c.writes) > 0) {
			t.Errorf("%s: digest %s, before %s", c.reason, after, before)
		}
		if a.ensure().Writes != nil {
			t.Errorf("%s: it does not come to rest", c.reason)
		}
	}
}

func (a *argo) delete(name string) {
	a.t.Helper()
	if err := hub.client.Delete(context.Background(), a.secret(name)); err != nil {
		a.t.Fatal(err)
	}
}

// A dry run lists exactly the writes of a real run.
func TestDryRun_listsTheWritesOfARealRun(t *testing.T) {
	a := newArgo(t)
	a.principal()
	planned := a.ensure(func(w *Facts) { w.DryRun = true })
	if n := a.writes.Load(); n > 0 {
		t.Errorf("%d requests changed something", n)
	}
	if n := expiry.DeletePartialMatch(prometheus.Labels{"namespace": a.namespace}); n > 0 {
		t.Errorf("metrics show %d certificates that are not there", n)
	}
	if done := a.ensure(); !slices.Equal(planned.Writes, done.Writes) {
		t.Errorf("planned %v\ndid %v", planned.Writes, done.Writes)
	}
	if s := fmt.Sprint(planned.Writes); strings.Contains(s, "BEGIN") {
		t.Error("a key or certificate is in the plan")
	}
}

// Any write may fail. The next pass completes the work.
func TestEnsure_completesAfterAFailedWrite(t *testing.T) {
	failure := errors.New("injected")
	for failing := range 6 {
		a := newArgo(t)
		a.principal()
		count := 0
		fail := func() error {
			count++
			if count-1 == failing {
				return failure
			}
			return nil
		}
		a.restart(func(c client.WithWatch) client.Client {
			return interceptor.NewClient(c, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					return errors.Join(fail(), c.Create(ctx, o, opts...)) // the create succeeds, and only its response is lost
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if err := fail(); err != nil {
						return err
					}
					return c.Patch(ctx, o, p, opts...)
				},
			})
		})
		if _, err := a.keeper.Ensure(context.Background(), a.wanted()); !errors.Is(err, failure) {
			t.Fatalf("write %d: %v", failing, err)
		}
		if state := a.ensure(); !state.SigningReady || len(state.Problems) > 0 {
			t.Errorf("write %d: %v", failing, state.Problems)
		}
		if state := a.ensure(); len(state.Writes) > 0 {
			t.Errorf("write %d: it does not come to rest: %v", failing, state.Writes)
		}
	}
}

// Only a new value requests a new CA. If a value is removed, for example with its GitOpsCluster, the
// remaining values request none.
func TestRotateCA_requestsANewCAOnlyForANewValue(t *testing.T) {
	a := newArgo(t)
	a.principal()
	wants := func(values ...string) func(*Facts) { return func(w *Facts) { w.RotateCA = values } }
	a.ensure(wants("first", "second"))
	a.rollOut()
	for _, values := range [][]string{{"second"}, nil, {"first"}} {
		a.ensure(wants(values...))
		if len(a.key().Data[nextCertificate]) > 0 {
			t.Fatalf("%v requested a new CA", values)
		}
	}
	a.ensure(wants("first", "third"))
	if len(a.key().Data[nextCertificate]) == 0 {
		t.Error("a new value did not")
	}
}

// gitopscluster does not restart a principal that it must not restart. The problem's message asks the
// administrator to restart it.
func TestRestart_leavesAPrincipalOfAnotherNameToItsOwner(t *testing.T) {
	a := newArgo(t)
	a.principal()
	other := func(w *Facts) {
		w.Principal.Deployment, w.Principal.Restartable = "release-argocd-agent-principal", false
	}
	for _, w := range a.ensure(other).Writes {
		if w.Kind != "Secret" {
			t.Errorf("%+v", w)
		}
	}
	state := a.ensure(other, func(w *Facts) { w.RotateCA = []string{"now"} })
	if !slices.ContainsFunc(state.Problems, func(p principal.Problem) bool {
		return p.Reason == ReasonWaiting && strings.Contains(p.Message, "restart Deployment release-argocd-agent-principal")
	}) {
		t.Errorf("problems %+v", state.Problems)
	}
}
