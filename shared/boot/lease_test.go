// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// electing returns the options of a binary that elects with the flags as they are shipped,
// but for those that args change.
func electing(t *testing.T, args ...string) Options {
	t.Helper()
	var o Options
	fs := Flags(Program{Name: "fake", LeaseName: "lease-test"}, &fake{}, &o)
	if err := fs.Parse(append([]string{"--size=1", "--leader-elect", "--leader-election-namespace=default"}, args...)); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return o
}

// refusing is a transport that answers writes with an error while it is told to.
type refusing struct {
	http.RoundTripper
	refuse *bool
}

func (r refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	if *r.refuse && request.Method != http.MethodGet {
		return nil, errors.New("refused")
	}
	return r.RoundTripper.RoundTrip(request)
}

// What the API server has is what tells whether a record was written.
func TestRenewals(t *testing.T) {
	type step struct {
		reason  string
		after   time.Duration // since the step before
		change  func(*resourcelock.LeaderElectionRecord)
		refuse  bool
		written bool
	}
	lost := func(r *resourcelock.LeaderElectionRecord) { r.HolderIdentity = "" }
	for name, tc := range map[string]struct {
		args  []string
		steps []step
	}{
		"as shipped": {steps: []step{
			{reason: "nothing is new but a later time", after: 400 * time.Millisecond},
			{reason: "a tick after the other", after: 400 * time.Millisecond},
			{reason: "a tick after the other", after: 400 * time.Millisecond},
			{reason: "a tick after the other", after: 400 * time.Millisecond},
			{reason: "a tick that is a little early is no reason to wait for the next", after: 350 * time.Millisecond, written: true},
			{reason: "the time counts from the last write", after: 400 * time.Millisecond},
			{reason: "two seconds are over", after: 1600 * time.Millisecond, written: true},
		}},
		"handed over": {steps: []step{
			{reason: "the leader stops right after a renewal", after: 10 * time.Millisecond, change: lost, written: true},
		}},
		"taken": {steps: []step{
			{reason: "another holder is always written", after: 10 * time.Millisecond, change: func(r *resourcelock.LeaderElectionRecord) { r.HolderIdentity = "other" }, written: true},
			{reason: "so is another transition", after: 10 * time.Millisecond, change: func(r *resourcelock.LeaderElectionRecord) { r.LeaderTransitions++ }, written: true},
		}},
		"a write that failed": {steps: []step{
			{reason: "the API server refuses", after: 2 * time.Second, refuse: true},
			{reason: "the next tick tries again", after: 400 * time.Millisecond, written: true},
		}},
		"a clock that goes back": {steps: []step{
			{reason: "a time from before says nothing about how long it was", after: -time.Hour, written: true},
		}},
		"a longer period": {args: []string{"--leader-elect-retry-period=4s"}, steps: []step{
			{reason: "each tick renews", after: 4 * time.Second, written: true},
			{reason: "each tick renews", after: 4 * time.Second, written: true},
		}},
		"a short deadline": {args: []string{"--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=200ms"}, steps: []step{
			{reason: "a fifth of the deadline", after: 400 * time.Millisecond},
			{reason: "a fifth of the deadline", after: 200 * time.Millisecond, written: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			refuse := false
			through := rest.CopyConfig(config)
			through.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusing{next, &refuse} })
			l, err := newLease(&Env{
				Program: Program{LeaseName: "renewals-" + strings.ReplaceAll(name, " ", "-")},
				Options: electing(t, tc.args...), Config: through, Log: logr.Discard(),
			})
			if err != nil {
				t.Fatal(err)
			}
			// As on the wire, where times end with microseconds.
			record := resourcelock.LeaderElectionRecord{HolderIdentity: l.Identity(), LeaseDurationSeconds: 15, RenewTime: metav1.NewTime(time.Unix(1e9, 0))}
			record.AcquireTime = record.RenewTime
			if err := l.Create(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			version := func() string {
				stored, err := l.Client.Leases("default").Get(t.Context(), l.LeaseMeta.Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return stored.ResourceVersion
			}
			for _, s := range tc.steps {
				record.RenewTime = metav1.NewTime(record.RenewTime.Add(s.after))
				if s.change != nil {
					s.change(&record)
				}
				before := version()
				refuse = s.refuse
				err := l.Update(t.Context(), record)
				refuse = false
				if (err != nil) != s.refuse {
					t.Errorf("%s: error %v", s.reason, err)
				}
				if written := version() != before; written != s.written {
					t.Errorf("%s: written %v, want %v", s.reason, written, s.written)
				}
			}
		})
	}
}

// A leader keeps its Lease for longer than it lasts, and says in an Event that it leads.
func TestLeaderRenews(t *testing.T) {
	env := &Env{
		Program: Program{Name: "fake", LeaseName: "leader-renews"}, Config: config, Log: logr.Discard(),
		Options: electing(t, "--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=100ms",
			"--metrics-bind-address=0", "--health-probe-bind-address=0"),
	}
	mgr, err := NewManager(t.Context(), env, Kinds{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	client := coordinationv1.NewForConfigOrDie(config).Leases("default")
	holds := func() (holder string, renewed time.Time, err error) {
		l, err := client.Get(t.Context(), "leader-renews", metav1.GetOptions{})
		if err != nil {
			return "", time.Time{}, err
		}
		return *l.Spec.HolderIdentity, l.Spec.RenewTime.Time, nil
	}
	var first time.Time
	var leader string
	testkit.Eventually(t, "a leader", func() (err error) {
		if leader, first, err = holds(); err == nil && leader == "" {
			err = errors.New("nobody leads")
		}
		return err
	})
	testkit.Eventually(t, "renewals for longer than the Lease lasts", func() error {
		holder, renewed, err := holds()
		switch {
		case err != nil:
			return err
		case holder != leader:
			t.Fatalf("%q leads in place of %q", holder, leader)
		case renewed.Sub(first) < 7*time.Second:
			return errors.New("not yet")
		}
		return nil
	})
	testkit.Eventually(t, "an Event of the Lease that names the leader", func() error {
		events, err := corev1client.NewForConfigOrDie(config).Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=leader-renews"})
		if err == nil && !slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Message == leader+" became leader" }) {
			err = fmt.Errorf("there are %d others", len(events.Items))
		}
		return err
	})
	select {
	case err := <-ended:
		t.Fatalf("the manager has ended: %v", err)
	default:
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if holder, _, err := holds(); err != nil || holder != "" {
		t.Errorf("after a stop %q leads, %v", holder, err)
	}
}

func TestLeaseNeedsANamespace(t *testing.T) {
	env := &Env{Program: Program{LeaseName: "nowhere"}, Options: Options{LeaderElect: true}, Config: config, Log: logr.Discard()}
	if _, err := NewManager(t.Context(), env, Kinds{Scheme: scheme.Scheme}); err == nil || !strings.Contains(err.Error(), "--leader-election-namespace") {
		t.Errorf("%v, want an error that names the flag", err)
	}
}
