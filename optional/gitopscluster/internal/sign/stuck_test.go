// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A cluster that asks again and again is not served at all until it stops.
func TestFlood(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	a.addOn(c, 1)
	flood := csrs{}
	for i := range pki.MaxRequests {
		flood[fmt.Sprint(i)] = a.ask(c, 2) // they wait for another generation
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

// A request that got too old is the one that an agent waits for in vain.
func TestStuck(t *testing.T) {
	a := newArgo(t)
	c := a.cluster()
	csr := a.ask(c, 1)
	a.pending(csrs{"no add-on": csr})
	stuck := func(generation int) bool {
		yes, err := Stuck(context.Background(), a.client, a.options, c, generation)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if stuck(1) {
		t.Error("a young request")
	}
	a.late.Store(int64(pki.RequestAge + time.Minute))
	a.addOn(c, 1)
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
