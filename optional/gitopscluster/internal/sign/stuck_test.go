// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// If a cluster has too many requests, the signer signs none of them.
func TestSign_ignoresTooManyRequests(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	flood := csrs{}
	for i := range pki.MaxRequests {
		flood[fmt.Sprint(i)] = a.ask(c, 2) // they are for a generation that the add-on does not have yet
	}
	a.pending(flood)
	flood["the last"] = a.ask(c, 2)
	testkit.Eventually(t, "the last request in the cache", func() error {
		requests, err := ownRequests(context.Background(), a.client, a.options.rules(), c)
		if err == nil && len(requests) != len(flood) {
			err = fmt.Errorf("there are %d", len(requests))
		}
		return err
	})
	a.generation(c, 2)
	a.event(c, "TooManyRequests", "find out why")
	a.pending(flood)
	if got := a.records(c); len(got) > 0 {
		t.Errorf("there is a record of a certificate: %+v", got)
	}
}

// A request that is too old is not signed, and RequestsOf reports the cluster as stuck.
func TestRequestsOf_reportsAStuckCluster(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.accept(c, false)
	a.addOn(c, 1)
	csr := a.ask(c, 1)
	a.pending(csrs{"a cluster that is not accepted": csr})
	stuck := func(generation int) bool {
		found, err := RequestsOf(context.Background(), a.client, a.options, c, generation)
		if err != nil || found.Full {
			t.Fatalf("full: %t, %v", found.Full, err)
		}
		return found.Stuck
	}
	if stuck(1) {
		t.Error("a young request")
	}
	a.late.Store(int64(pki.RequestAge + time.Minute))
	a.accept(c, true)
	a.event(c, "RequestTooOld", "is made to ask anew")
	if now := a.read(csr); len(now.Status.Certificate) > 0 {
		t.Error("it was signed")
	}
	if !stuck(1) || stuck(2) {
		t.Errorf("of generation 1 %t, of 2 %t", stuck(1), stuck(2))
	}
	a.late.Store(0)
	a.generation(c, 2)
	next := a.ask(c, 2)
	a.signed(next)
	testkit.Eventually(t, "a cluster that goes on", func() error {
		if stuck(2) {
			return errors.New("it is stuck still")
		}
		return nil
	})
}

// The signer deletes requests that are no longer needed. OCM's registration agent makes no request while
// the hub has ten of its add-on.
func TestUselessRequests_areDeleted(t *testing.T) {
	a := newArgo(t)
	c, other := a.cluster(), a.cluster()
	a.addOn(c, 1)
	a.addOn(other, 1)
	first, denied := a.ask(c, 1), a.ask(c, 1, func(r *request) { r.as = other })
	a.signed(first)
	a.denied(denied)
	a.generation(c, 2)
	second := a.ask(c, 2)
	a.signed(second)
	for _, young := range []*certificatesv1.CertificateSigningRequest{first, denied} {
		a.read(young)
	}
	full := func(want bool) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("full: %t", want), func() error {
			found, err := RequestsOf(context.Background(), a.client, a.options, c, 2)
			if err == nil && found.Full != want {
				err = fmt.Errorf("it is %t", found.Full)
			}
			return err
		})
	}
	var flood []*certificatesv1.CertificateSigningRequest
	for range pki.MaxRequests - 3 {
		flood = append(flood, a.ask(c, 1))
	}
	full(true)

	a.late.Store(int64(2 * settled))
	touch := func() {
		testkit.Edit(t, hub.client, a.stored(c), func(o *addonv1alpha1.ManagedClusterAddOn) { o.Labels = map[string]string{"touched": unique("x")} })
	}
	touch()
	a.gone(append(flood, first)...)
	full(false)
	a.read(second)
	a.gone(a.ask(c, 1, func(r *request) { r.as = other })) // the signer denies and then deletes it

	if err := hub.client.Delete(context.Background(), a.stored(c)); err != nil {
		t.Fatal(err)
	}
	a.gone(second)
}

func (a *argo) gone(requests ...*certificatesv1.CertificateSigningRequest) {
	a.t.Helper()
	for _, csr := range requests {
		testkit.Eventually(a.t, csr.Name+" to be deleted", func() error {
			err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(csr), &certificatesv1.CertificateSigningRequest{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it is there"), err)
		})
	}
}

// A request that a person has approved can no longer be denied. The signer does not sign it, and does not
// retry.
func TestSign_ignoresAnApprovedRequestOfAnotherCluster(t *testing.T) {
	a := newArgo(t)
	c, other := a.cluster(), a.cluster()
	a.addOn(c, 1)
	a.stop()
	csr := a.ask(c, 1, func(r *request) { r.as = other })
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "ByHand", LastUpdateTime: metav1.Now()}}
	if err := hub.client.SubResource("approval").Update(context.Background(), csr); err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int64
	a.wrap = func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
			if o.GetName() == csr.Name {
				tried.Add(1)
			}
			return c.SubResource(sub).Update(ctx, o, options...)
		}})
	}
	a.start()
	a.pending(nil)
	if now := a.read(csr); tried.Load() > 0 || len(now.Status.Certificate) > 0 {
		t.Errorf("%d writes, %d bytes of certificate", tried.Load(), len(now.Status.Certificate))
	}
}
