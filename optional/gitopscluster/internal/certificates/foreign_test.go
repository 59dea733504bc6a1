// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
)

// edit changes data of a Secret. An empty text deletes the key.
func (a *argo) edit(name string, data map[string]string) {
	a.t.Helper()
	s := a.secret(name)
	for key, text := range data {
		if text == "" {
			delete(s.Data, key)
		} else {
			s.Data[key] = []byte(text)
		}
	}
	if err := hub.client.Update(context.Background(), s); err != nil {
		a.t.Fatal(err)
	}
}

// gitopscluster uses and checks the Secrets of other clients, and never writes them.
func TestEnsure_usesForeignSecretsUnchanged(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	const life = 5 * 365 * 24 * time.Hour
	theirs, err := pki.NewAuthority(now, life)
	if err != nil {
		t.Fatal(err)
	}
	expired, err := pki.NewAuthority(now.Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	soon, err := pki.NewAuthority(now, 6*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := pki.NewAuthority(now, life)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(a *pki.Authority) map[string][]byte {
		p, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key}
	}
	server := func(a *pki.Authority, names ...string) map[string][]byte {
		p, err := a.IssueServer("theirs", names, now)
		if err != nil {
			t.Fatal(err)
		}
		return map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key}
	}
	all := []string{"principal.example.com", "argocd-agent-principal.NS.svc", "argocd-agent-principal.NS.svc.cluster.local"}
	cases := map[string]struct {
		reason   string
		secrets  map[string]map[string][]byte
		opaque   string
		problems []string
		ready    bool
		made     []string
		bundle   *pki.Authority
	}{
		"CA": {reason: "it signs what is ours", secrets: map[string]map[string][]byte{caName: pair(theirs)}, ready: true, made: []string{tokenName, leafName, proxyName}, bundle: theirs},
		"CA without key": {reason: "it vouches, but cannot sign", secrets: map[string]map[string][]byte{caName: {"tls.crt": pair(theirs)["tls.crt"], "tls.key": {}}},
			problems: []string{pki.ReasonNoKey, pki.ReasonNoKey, pki.ReasonNoKey}, made: []string{tokenName}, bundle: theirs},
		"broken CA":     {reason: "nothing can be done", secrets: map[string]map[string][]byte{caName: {"tls.crt": []byte("x"), "tls.key": []byte("x")}}, problems: []string{pki.ReasonBroken}, made: []string{tokenName}},
		"other key":     {reason: "nothing may be signed", secrets: map[string]map[string][]byte{caName: {"tls.crt": pair(theirs)["tls.crt"], "tls.key": pair(stranger)["tls.key"]}}, problems: []string{pki.ReasonBroken}, made: []string{tokenName}},
		"expired CA":    {reason: "it vouches for nobody", secrets: map[string]map[string][]byte{caName: pair(expired)}, problems: []string{pki.ReasonExpired}, made: []string{tokenName}},
		"expiring CA":   {reason: "somebody has to renew it", secrets: map[string]map[string][]byte{caName: pair(soon)}, problems: []string{pki.ReasonExpiring}, ready: true, made: []string{tokenName, leafName, proxyName}, bundle: soon},
		"no CA":         {reason: "a server's certificate does not sign", secrets: map[string]map[string][]byte{caName: server(theirs, "x")}, problems: []string{pki.ReasonForeignCA}, made: []string{tokenName}},
		"type of CA":    {reason: "the principal wants another type", secrets: map[string]map[string][]byte{caName: pair(theirs)}, opaque: caName, problems: []string{ReasonWrongType}, ready: true, made: []string{tokenName, leafName, proxyName}, bundle: theirs},
		"server":        {reason: "everything is as it has to be", secrets: map[string]map[string][]byte{caName: pair(theirs), leafName: server(theirs, all...)}, ready: true, made: []string{tokenName, proxyName}, bundle: theirs},
		"names":         {reason: "agents dial another name", secrets: map[string]map[string][]byte{caName: pair(theirs), leafName: server(theirs, all[1:]...)}, problems: []string{pki.ReasonNames}, ready: true, made: []string{tokenName, proxyName}, bundle: theirs},
		"stranger":      {reason: "agents do not know who vouches", secrets: map[string]map[string][]byte{caName: pair(theirs), leafName: server(stranger, all...)}, problems: []string{pki.ReasonNotTrusted}, ready: true, made: []string{tokenName, proxyName}, bundle: theirs},
		"type":          {reason: "the principal refuses it", secrets: map[string]map[string][]byte{caName: pair(theirs), leafName: server(theirs, all...)}, opaque: leafName, problems: []string{ReasonWrongType}, ready: true, made: []string{tokenName, proxyName}, bundle: theirs},
		"broken server": {reason: "the principal would not start", secrets: map[string]map[string][]byte{caName: pair(theirs), leafName: {"tls.crt": []byte("x"), "tls.key": []byte("x")}}, problems: []string{pki.ReasonBroken}, ready: true, made: []string{tokenName, proxyName}, bundle: theirs},
		"token key":     {reason: "the principal reads PKCS #8 and RSA only", secrets: map[string]map[string][]byte{caName: pair(theirs), tokenName: {"jwt.key": pair(theirs)["tls.key"]}}, problems: []string{pki.ReasonBroken}, ready: true, made: []string{leafName, proxyName}, bundle: theirs},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArgo(t)
			a.now = now
			a.principal()
			versions := map[string]string{}
			for name, data := range c.secrets {
				kind := corev1.SecretTypeTLS
				if name == c.opaque || name == tokenName {
					kind = corev1.SecretTypeOpaque
				}
				if name == leafName {
					data = forNamespace(t, data, theirs, stranger, all, a.namespace, now)
				}
				s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}, Type: kind, Data: maps.Clone(data)}
				a.create(s)
				versions[name] = s.ResourceVersion
			}
			state := a.ensure()
			if got := reasons(state); !slices.Equal(got, append([]string{}, c.problems...)) || state.SigningReady != c.ready {
				t.Errorf("%s: ready %t, problems %v", c.reason, state.SigningReady, state.Problems)
			}
			var made []string
			for _, w := range state.Writes {
				if w.Kind == "Secret" {
					made = append(made, w.Name)
				}
			}
			if !slices.Equal(made, c.made) {
				t.Errorf("%s: wrote %v", c.reason, made)
			}
			for _, p := range state.Problems {
				if !strings.Contains(p.Message, a.namespace+"/argocd-agent-") || !strings.Contains(p.Message, "; ") || strings.Contains(p.Message, "PRIVATE") {
					t.Errorf("the message names no object, has no remedy or holds a key: %s", p.Message)
				}
			}
			if want := c.bundle; want == nil && len(state.CABundle) > 0 || want != nil && string(state.CABundle) != string(pki.EncodeCertificates(want.Certificate)) {
				t.Errorf("%s: agents are to trust %d bytes", c.reason, len(state.CABundle))
			}
			a.now = a.now.Add(80 * 24 * time.Hour) // a time at which renewals are due
			if c.bundle != soon {
				a.ensure()
			}
			for name, version := range versions {
				if s := a.secret(name); s.ResourceVersion != version {
					t.Errorf("Secret %s was written", name)
				}
			}
			if err := a.keeper.Remove(context.Background(), a.namespace); err != nil {
				t.Fatal(err)
			}
			var left corev1.SecretList
			if err := hub.client.List(context.Background(), &left, client.InNamespace(a.namespace)); err != nil || len(left.Items) != len(versions) {
				t.Errorf("%d Secrets are left, %d are not ours, %v", len(left.Items), len(versions), err)
			}
		})
	}
}

// forNamespace issues a server's certificate again, with the Services of this test's namespace.
func forNamespace(t *testing.T, data map[string][]byte, theirs, stranger *pki.Authority, all []string, namespace string, now time.Time) map[string][]byte {
	t.Helper()
	is, err := pki.ParseCertificates(data["tls.crt"])
	if err != nil {
		return data
	}
	by := theirs
	if is[0].CheckSignatureFrom(theirs.Certificate) != nil {
		by = stranger
	}
	var hosts []string
	for _, name := range all {
		if slices.Contains(is[0].DNSNames, name) {
			hosts = append(hosts, strings.Replace(name, "NS", namespace, 1))
		}
	}
	p, err := by.IssueServer("theirs", hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key}
}

// If other clients made all Secrets, they also restart the principal. Otherwise gitopscluster restarts it
// after a change, unless KeepPrincipalRunning is set.
func TestRestart_isLeftToTheOwnerOfAllSecrets(t *testing.T) {
	ours := newArgo(t)
	ours.ensure()
	a := newArgo(t)
	a.principal()
	for _, name := range names {
		s := ours.secret(name)
		a.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}, Type: s.Type, Data: s.Data})
	}
	key := ours.key()
	a.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultKeyNamespace, Name: KeyName(a.namespace)}, Type: key.Type, Data: key.Data})
	if state := a.ensure(); len(state.Writes) > 0 || a.deployment().Spec.Template.Annotations[agent.CertificatesAnnotation] != "" {
		t.Errorf("wrote %v", state.Writes)
	}
	a.delete(proxyName)
	if state := a.ensure(); len(state.Writes) != 2 {
		t.Errorf("wrote %v", state.Writes)
	}
	if a.ensure(func(w *Facts) { w.KeepPrincipalRunning = true }).Writes != nil {
		t.Error("wrote at rest")
	}
	a.delete(proxyName)
	if state := a.ensure(func(w *Facts) { w.KeepPrincipalRunning = true }); len(state.Writes) != 1 {
		t.Errorf("restarted though it was told not to: %v", state.Writes)
	}
}
