// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
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

// With too many requests of a cluster, the signer counts them once for all of them. Counting for each
// request would cost the square of their number.
func TestSign_countsTooManyRequestsOnce(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	a.stop()
	var mu sync.Mutex
	lists, gets := 0, map[string]int{}
	a.wrap = func(w client.WithWatch) client.Client {
		return interceptor.NewClient(w, interceptor.Funcs{
			List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				all := client.ListOptions{}
				if all.ApplyOptions(opts); all.FieldSelector != nil && all.FieldSelector.String() == byCluster+"="+c {
					mu.Lock()
					lists++
					mu.Unlock()
				}
				return w.List(ctx, list, opts...)
			},
			Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, is := o.(*certificatesv1.CertificateSigningRequest); is {
					mu.Lock()
					gets[key.Name]++
					mu.Unlock()
				}
				return w.Get(ctx, key, o, opts...)
			},
		})
	}
	flood := csrs{}
	for i := range 4 * pki.MaxRequests {
		flood[fmt.Sprint(i)] = a.ask(c, 1)
	}
	a.start() // with all of them in the cache
	reconciled := func(times int) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("each request to be read %d times", times), func() error {
			mu.Lock()
			defer mu.Unlock()
			for name, csr := range flood {
				if gets[csr.Name] < times {
					return fmt.Errorf("request %s was read %d times", name, gets[csr.Name])
				}
			}
			return nil
		})
	}
	reconciled(1)
	a.event(c, "TooManyRequests", fmt.Sprintf("made %d requests", len(flood)))
	testkit.Edit(t, hub.client, a.stored(c), func(o *addonv1alpha1.ManagedClusterAddOn) { o.Labels = map[string]string{"touched": "true"} })
	reconciled(2)
	a.pending(flood)
	mu.Lock()
	defer mu.Unlock()
	// The four workers may count at the same time at first. Each event of an add-on lists the requests of
	// its cluster.
	if lists > 20 {
		t.Errorf("%d requests were listed %d times", len(flood), lists)
	}
}

// A request that is too large is not signed. The cache keeps its size from growing with what a managed
// cluster adds to it.
func TestSign_ignoresALargeRequest(t *testing.T) {
	a := newArgo(t)
	c, other := a.cluster(), a.cluster()
	a.addOn(c, 1)
	a.addOn(other, 1)
	long := func(r *request) {
		r.csr.Annotations = map[string]string{"example.com/note": strings.Repeat("x", 200<<10)}
	}
	large := a.ask(c, 1, long)
	many := a.ask(c, 1, func(r *request) {
		r.csr.Annotations = map[string]string{}
		for i := range 100 {
			r.csr.Annotations[fmt.Sprint(i)] = ""
		}
	})
	a.event(c, "RequestNotAccepted", "8192 bytes")
	a.pending(csrs{"large": large, "many annotations": many})
	for _, csr := range []*certificatesv1.CertificateSigningRequest{large, many} {
		cached := &certificatesv1.CertificateSigningRequest{}
		if err := a.client.Get(context.Background(), client.ObjectKeyFromObject(csr), cached); err != nil || cached.UID != csr.UID || cached.Size() > 1<<10 {
			t.Errorf("the cache keeps %d bytes of %s, %v", cached.Size(), csr.Name, err)
		}
	}
	a.denied(a.ask(c, 1, long, func(r *request) { r.as = other }))
	small := a.ask(c, 1, func(r *request) { r.csr.Annotations = map[string]string{"example.com/note": "kept"} })
	a.signed(small)
	if now := a.read(small); now.Annotations["example.com/note"] != "kept" || now.Labels[agent.CSRAddOnLabel] != agent.AddOnName {
		t.Errorf("the signed request has annotations %v, labels %v", now.Annotations, now.Labels)
	}
}

// A cluster may make any number of requests. The cache keeps little of each, whatever the cluster adds to it,
// and still knows which generation the request is for.
func TestCaches_keepLittleOfARequest(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	note := strings.Repeat("x", 7<<10)
	csr := a.ask(c, 1, func(r *request) {
		r.csr.Annotations = map[string]string{"example.com/note": note}
		r.csr.Labels["example.com/more"] = "x"
	})
	a.signed(csr)
	if now := a.read(csr); now.Annotations["example.com/note"] != note || now.Labels["example.com/more"] != "x" || len(now.Spec.Request) == 0 {
		t.Errorf("the signed request has labels %v, %d bytes", now.Labels, now.Size())
	}
	testkit.Eventually(t, "the certificate in the cache", func() error {
		cached := &certificatesv1.CertificateSigningRequest{}
		if err := a.client.Get(context.Background(), client.ObjectKeyFromObject(csr), cached); err != nil || len(cached.Status.Certificate) == 0 {
			return errors.Join(errors.New("no certificate"), err)
		}
		if size := cached.Size() - len(cached.Status.Certificate); size > 1<<10 || requestedGeneration(cached) != 1 {
			t.Errorf("the cache keeps %d bytes of it, generation %d", size, requestedGeneration(cached))
		}
		return nil
	})
	again, err := trim(a.read(csr))
	if err == nil {
		again, err = trim(again)
	}
	if trimmed, ok := again.(*certificatesv1.CertificateSigningRequest); !ok || err != nil || requestedGeneration(trimmed) != 1 {
		t.Errorf("trimmed twice: %+v, %v", again, err)
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
