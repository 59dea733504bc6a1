// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// keyless reports an error unless the Secret in the principal's namespace has the CA without its key.
func (a *argo) keyless() {
	a.t.Helper()
	shown, kept := a.secret(caName), a.key()
	if len(shown.Data[corev1.TLSPrivateKeyKey]) > 0 || bytes.Contains(slices.Concat(shown.Data["tls.crt"], shown.Data["ca.crt"]), []byte("KEY")) || len(shown.Data) != 3 {
		a.t.Errorf("the Secret beside the principal holds more than certificates, or a key")
	}
	if len(kept.Data[corev1.TLSPrivateKeyKey]) == 0 || !bytes.Equal(kept.Data["tls.crt"], shown.Data["tls.crt"]) {
		a.t.Errorf("Secret %s does not hold the CA that is shown with its key", kept.Name)
	}
}

// The principal and Argo CD can read no signing key, also while the CA changes.
func TestKey_isNotInThePrincipalsNamespace(t *testing.T) {
	a := newArgo(t)
	a.principal()
	a.ensure()
	a.rollOut()
	a.keyless()
	a.ensure(func(w *Facts) { w.RotateCA = []string{"now"} })
	a.keyless()
	if n := strings.Count(string(a.secret(caName).Data["ca.crt"]), "BEGIN"); n != 2 {
		t.Errorf("the principal is shown %d CAs during the change", n)
	}
}

// Another client, such as cert-manager, may keep the CA's Secret in the key namespace. gitopscluster signs
// with that CA, never writes the Secret, and copies the certificate into the principal's namespace.
func TestKey_isUsedFromAnotherClient(t *testing.T) {
	theirs, err := pki.NewAuthority(time.Now(), DefaultCALife)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := pki.NewAuthority(time.Now(), DefaultCALife)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := theirs.Encode()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason   string
		shown    *pki.Authority
		problems []string
	}{
		"alone":    {reason: "the certificates are shown by us"},
		"shown":    {reason: "or by them", shown: theirs},
		"stranger": {reason: "agents would trust another", shown: stranger, problems: []string{pki.ReasonNotTrusted}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newArgo(t)
			a.principal()
			kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultKeyNamespace, Name: KeyName(a.namespace)}, Type: corev1.SecretTypeTLS,
				Data: map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": pair.Certificate}}
			a.create(kept)
			if c.shown != nil {
				a.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: caName}, Type: corev1.SecretTypeTLS,
					Data: map[string][]byte{"tls.crt": pki.EncodeCertificates(c.shown.Certificate), "tls.key": {}}})
			}
			state := a.ensure()
			if !slices.Equal(reasons(state), append([]string{}, c.problems...)) || state.SigningCA != theirs.ID() {
				t.Errorf("%s: CA %s, problems %v", c.reason, state.SigningCA, state.Problems)
			}
			if s := a.secret(caName); c.shown == nil && (s.Annotations[contract.RegisteredByAnnotation] == "" || len(s.Data["tls.key"]) > 0) {
				t.Errorf("%s: annotations %v", c.reason, s.Annotations)
			}
			if err := a.keeper.Remove(context.Background(), a.namespace); err != nil {
				t.Fatal(err)
			}
			if a.key().ResourceVersion != kept.ResourceVersion {
				t.Error("their Secret was written")
			}
		})
	}
}

// gitopscluster does not replace a lost key unasked, because a new CA would disconnect every agent.
func TestKey_isReportedIfLost(t *testing.T) {
	a := newArgo(t)
	a.principal()
	a.ensure()
	if err := hub.client.Delete(t.Context(), a.key()); err != nil {
		t.Fatal(err)
	}
	state := a.ensure()
	if len(state.Writes) > 0 || state.SigningReady || !slices.Equal(reasons(state), []string{pki.ReasonNoKey}) || !strings.Contains(state.Problems[0].Message, "restore that Secret") {
		t.Fatalf("wrote %v, problems %v", state.Writes, state.Problems)
	}
	a.delete(caName)
	if state := a.ensure(); !state.SigningReady || len(state.Problems) > 0 {
		t.Errorf("asked to, it makes none: %v", state.Problems)
	}
}

// The message about a broken own CA names everything that has to be deleted before gitopscluster makes one.
func TestKey_hasARemedyIfBroken(t *testing.T) {
	a := newArgo(t)
	a.principal()
	a.ensure()
	kept := a.key()
	kept.Data[corev1.TLSPrivateKeyKey] = []byte("x")
	if err := hub.client.Update(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	state := a.ensure()
	if !slices.Equal(reasons(state), []string{pki.ReasonBroken}) || !strings.Contains(state.Problems[0].Message, "delete it and Secret "+caName) {
		t.Fatalf("problems %v", state.Problems)
	}
	if err := hub.client.Delete(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	a.delete(caName)
	if state := a.ensure(); !state.SigningReady || len(state.Problems) > 0 {
		t.Errorf("asked to, it makes none: %v", state.Problems)
	}
}

// gitopscluster uses a CA even if another client keeps its key in the principal's namespace. A warning
// reports where the key belongs.
func TestKey_isReportedInThePrincipalsNamespace(t *testing.T) {
	theirs, err := pki.NewAuthority(time.Now(), DefaultCALife)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := theirs.Encode()
	if err != nil {
		t.Fatal(err)
	}
	a := newArgo(t)
	a.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: caName}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key}})
	state := a.ensure()
	if len(state.Problems) != 1 || !state.Problems[0].Warning || state.Problems[0].Reason != ReasonKeyExposed || !strings.Contains(state.Problems[0].Message, DefaultKeyNamespace+"/"+KeyName(a.namespace)) {
		t.Errorf("problems %v", state.Problems)
	}
}

// An Argo CD without agents has no key, so gitopscluster needs no right to read one. An Argo CD that has had
// agents keeps its Secrets until their key can be read, and deleted with them.
func TestRemove_needsNoKeyWithoutAgents(t *testing.T) {
	a, ctx := newArgo(t), t.Context()
	a.principal()
	forbids := interceptor.NewClient(hub.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, object client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if object.Namespace == DefaultKeyNamespace {
				return apierrors.NewForbidden(corev1.Resource("secrets"), object.Name, nil)
			}
			return c.Get(ctx, object, o, opts...)
		},
	})
	a.keeper.live = forbids
	if err := a.keeper.Remove(ctx, a.namespace); err != nil {
		t.Errorf("without agents: %v", err)
	}
	if writes, err := a.keeper.PlanRemove(ctx, a.namespace); err != nil || len(writes) > 0 {
		t.Errorf("without agents it plans %v: %v", writes, err)
	}
	a.keeper.live = hub.client
	a.ensure()
	a.keeper.live = forbids
	if err := a.keeper.Remove(ctx, a.namespace); !apierrors.IsForbidden(err) {
		t.Errorf("with a key that may not be read: %v", err)
	}
	for _, name := range names {
		a.secret(name)
	}
	a.keeper.live = hub.client
	if err := a.keeper.Remove(ctx, a.namespace); err != nil {
		t.Error(err)
	}
}
