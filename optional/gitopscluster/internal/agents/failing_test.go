// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errInjected = errors.New("injected")

type noRequests struct{ client.Client }

func (c noRequests) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*certificatesv1.CertificateSigningRequestList); ok {
		return errInjected
	}
	return c.Client.List(ctx, list, options...)
}

// A pass that cannot read the CertificateSigningRequests ends with the error and changes nothing.
func TestReconcile_changesNothingIfRequestsAreUnread(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	c := f.cluster()
	a := f.spec("a", 0, c)
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
	f.signed(c)
	f.stop()
	f.reports.client = noRequests{f.client}
	plan, err := f.MakePlan(ctx, []Spec{a})
	if !errors.Is(err, errInjected) {
		t.Errorf("the pass ended with %v", err)
	}
	if _, _, err := plan.Shape(f.namespace, c); plan.tasks[c] != nil || !plan.Has(a.Owner, f.namespace, c) || plan.Left(a.Owner, f.namespace) || !errors.Is(err, ErrNotKnown) {
		t.Errorf("it went on with a guess: %+v, %v", plan, err)
	}
}
