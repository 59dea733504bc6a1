// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The signer issues no certificate that it cannot record.
func TestRecord_precedesTheCertificate(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	a.stop()
	var refused atomic.Int64
	a.wrap = func(w client.WithWatch) client.Client {
		return interceptor.NewClient(w, interceptor.Funcs{Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if o.GetNamespace() == c {
				refused.Add(1)
				return errors.New("injected")
			}
			return w.Patch(ctx, o, p, opts...)
		}})
	}
	a.start()
	csr := a.ask(c, 1)
	testkit.Eventually(t, "attempts", func() error {
		if refused.Load() < 3 {
			return errors.New("too few")
		}
		return nil
	})
	a.pending(csrs{"no record": csr})
	a.stop()
	a.wrap = nil
	a.start()
	a.signed(csr)
}

// The response to the last write may be lost, or a stale cache may cause a second signature. In the end the
// record has the issued certificate, even if the next generation is already requested.
func TestRecord_hasTheIssuedCertificate(t *testing.T) {
	for name, generation := range map[string]int{"the same generation": 1, "the next one is asked for": 2} {
		t.Run(name, func(t *testing.T) {
			a := newArgo(t)
			c := a.cluster()
			a.addOn(c, 1)
			csr := a.ask(c, 1)
			is := a.signed(csr)
			before := a.read(csr).Status.Certificate
			a.stop()
			testkit.Edit(t, hub.client, a.stored(c), func(o *addonv1alpha1.ManagedClusterAddOn) {
				wrong := a.records(c)[0]
				wrong.SHA256 = strings.Repeat("0", 64)
				later := wrong
				wrong.Expires, later.At, later.Request = wrong.Expires.Add(time.Second), wrong.At.Add(time.Minute), "later"
				text, err := pki.AddIssued("", wrong)
				if err == nil {
					text, err = pki.AddIssued(text, later)
				}
				if err != nil {
					t.Fatal(err)
				}
				o.Annotations[agent.IssuedAnnotation] = text
			})
			a.generation(c, generation)
			a.start()
			testkit.Eventually(t, "the record of what was issued", func() error {
				if records := a.records(c); len(records) != 2 || records[0].SHA256 != pki.Fingerprint(is) {
					return fmt.Errorf("records are %+v", records)
				}
				return nil
			})
			if now := a.read(csr).Status.Certificate; len(before) == 0 || !slices.Equal(now, before) {
				t.Error("it was issued again")
			}
		})
	}
}

// If another client approves a request that the signer would not sign, the signer does not sign it.
func TestSign_ignoresAForeignApproval(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	csr := a.ask(c, 1, func(r *request) { r.template.DNSNames = []string{"hub.example.com"} })
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Hand"}}
	if err := hub.client.SubResource("approval").Update(context.Background(), csr); err != nil {
		t.Fatal(err)
	}
	a.pending(nil)
	if now := a.read(csr); len(now.Status.Certificate) > 0 {
		t.Error("it was signed")
	}
}
