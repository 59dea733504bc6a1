// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"testing"
	"time"

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

// An error that lasts is reported. Its time begins again after a pass without error.
func TestPlan_reportsAFailureThatLasts(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	c := f.cluster()
	a := f.spec("a", 0, c)
	f.Set(a)
	f.delivered(c, holds("192.0.2.1"))
	f.signed(c)
	f.stop()
	at, unread := time.Now(), noRequests{f.client}
	f.now = func() time.Time { return at }
	for _, step := range []struct {
		why   string
		after time.Duration
		fails bool
		want  error
	}{
		{why: "it has just begun", fails: true},
		{why: "it may be over soon", after: Patience - time.Second, fails: true},
		{why: "it lasts", after: time.Second, fails: true, want: errInjected},
		{why: "it is over", after: time.Hour},
		{why: "it begins again", after: time.Hour, fails: true},
	} {
		at = at.Add(step.after)
		f.reports.client = f.client
		if step.fails {
			f.reports.client = unread
		}
		plan, err := f.MakePlan(ctx, []Spec{a})
		if errors.Is(err, errInjected) != step.fails || !errors.Is(plan.Failure(f.namespace), step.want) {
			t.Errorf("%s: the pass ended with %v, the plan reports %v", step.why, err, plan.Failure(f.namespace))
		}
	}
}
