// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// connected returns the report of a cluster with an agent that is running as delivered.
func connected(name, bundle string, generation int, issued ...Issued) Report {
	r := Report{Cluster: name, Reachable: true, Connected: true, Bundle: bundle, Generation: generation, Issued: issued, SecretCurrent: true}
	if newest, ok := r.newest(); ok {
		r.Holds, r.Started = newest.SHA256, true
	}
	return r
}

func issuedBy(ca string, generation int, at time.Time) Issued {
	return Issued{CA: ca, Generation: generation, At: at, Expires: at.Add(168 * time.Hour), SHA256: ca, Request: ca}
}

func TestAdvance(t *testing.T) {
	old := authority(t, day.Add(-24*time.Hour))
	next := authority(t, day.Add(-20*time.Minute))
	young := authority(t, day)
	trusting := Authorities{Signing: old, Next: next, Trusted: Bundle(old.Certificate, next.Certificate)}
	switched := Authorities{Signing: next, Trusted: trusting.Trusted}
	both := BundleDigest(trusting.Bundle())
	server := func(a *Authority) *x509.Certificate {
		pair, err := a.IssueServer("p", []string{"p"}, day)
		if err != nil {
			t.Fatal(err)
		}
		return parsed(t, pair.Certificate)
	}
	before, after := issuedBy(old.ID(), 1, day.Add(-time.Hour)), issuedBy(next.ID(), 2, day.Add(-time.Minute))
	change := func(r Report, f func(*Report)) Report { f(&r); return r }
	cases := map[string]struct {
		reason string
		is     Authorities
		facts  Facts
		want   Step
		waits  Waiting
	}{
		"rest":     {reason: "nothing is due", is: Authorities{Signing: old, Trusted: []*x509.Certificate{old.Certificate}}},
		"asked":    {reason: "somebody wants a new CA", is: Authorities{Signing: old, Trusted: []*x509.Certificate{old.Certificate}}, facts: Facts{Requested: true}, want: Trust},
		"due":      {reason: "a year is left of five", is: Authorities{Signing: old, Trusted: []*x509.Certificate{old.Certificate}}, facts: Facts{Now: day.Add(4 * 365 * 24 * time.Hour)}, want: Trust},
		"all know": {reason: "everybody trusts the new one", is: trusting, facts: Facts{PrincipalRuns: true, Reports: []Report{connected("c1", both, 1, before)}}, want: Switch},
		"principal": {reason: "the principal would refuse agents of the new CA", is: trusting, facts: Facts{Reports: []Report{connected("c1", both, 1, before)}},
			waits: Waiting{Step: Switch, Principal: true}},
		"one does not": {reason: "c2 would refuse the principal", is: trusting, facts: Facts{PrincipalRuns: true, Reports: []Report{connected("c1", both, 1, before), connected("c2", "old", 1, before)}},
			waits: Waiting{Step: Switch, Clusters: []string{"c2"}}},
		"away": {reason: "a cluster that is away does not hold up the fleet", is: trusting, want: Switch,
			facts: Facts{PrincipalRuns: true, Reports: []Report{{Cluster: "c1", Bundle: "old", Generation: 1, SecretCurrent: true, Issued: []Issued{before}}}}},
		"Secret": {reason: "the hub's Argo CD would refuse the resource proxy", is: trusting, waits: Waiting{Step: Switch, Clusters: []string{"c1"}},
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 1, before), func(r *Report) { r.SecretCurrent = false })}}},
		"broken": {reason: "nor does an agent that has been down for long", is: trusting, want: Switch,
			facts: Facts{PrincipalRuns: true, Reports: []Report{{Cluster: "c1", Reachable: true, Bundle: "old", Generation: 1, SecretCurrent: true, Issued: []Issued{before}}}}},
		"restarting": {reason: "but one that may only be restarting", is: Authorities{Signing: old, Next: young, Trusted: Bundle(old.Certificate, young.Certificate)},
			facts: Facts{PrincipalRuns: true, Reports: []Report{{Cluster: "c1", Reachable: true, Bundle: "old", Generation: 1, Issued: []Issued{before}}}},
			waits: Waiting{Step: Switch, Clusters: []string{"c1"}}},
		"no agent yet": {reason: "a cluster without an agent has nobody to refuse", is: trusting, facts: Facts{PrincipalRuns: true, Reports: []Report{{Cluster: "c1", Reachable: true}}}, want: Switch},

		"all renewed":       {reason: "nobody uses the old one", is: switched, facts: Facts{PrincipalRuns: true, Servers: []*x509.Certificate{server(next)}, Reports: []Report{connected("c1", both, 2, before, after)}}, want: Drop},
		"server of the old": {reason: "agents would refuse the principal", is: switched, facts: Facts{PrincipalRuns: true, Servers: []*x509.Certificate{server(next), server(old)}}, waits: Waiting{Step: Drop, Principal: true}},
		"not restarted":     {reason: "it still shows the old certificate", is: switched, facts: Facts{Servers: []*x509.Certificate{server(next)}}, waits: Waiting{Step: Drop, Principal: true}},
		"not renewed":       {reason: "c1 has none of the new CA", is: switched, facts: Facts{PrincipalRuns: true, Reports: []Report{connected("c1", both, 1, before)}}, waits: Waiting{Step: Drop, Clusters: []string{"c1"}}},
		"says nothing": {reason: "which one c1 holds is not known", is: switched, waits: Waiting{Step: Drop, Clusters: []string{"c1"}},
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 2, before, after), func(r *Report) { r.Holds = "" })}}},
		"says it has not": {reason: "c1 holds another one still", is: switched, waits: Waiting{Step: Drop, Clusters: []string{"c1"}},
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 2, before, after), func(r *Report) { r.Holds = before.SHA256 })}}},
		"says it has": {reason: "c1 runs with it, however new it is", is: switched, want: Drop,
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 2, before, issuedBy(next.ID(), 2, day)), func(r *Report) { r.Holds = next.ID() })}}},
		"holds it only": {reason: "c1 has it, and is connected with the one before", is: switched, waits: Waiting{Step: Drop, Clusters: []string{"c1"}},
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 2, before, after), func(r *Report) { r.Started = false })}}},
		"renewed and away": {reason: "whether it runs with it cannot be known", is: switched, waits: Waiting{Step: Drop, Clusters: []string{"c1"}},
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 2, before, after), func(r *Report) { r.Connected = false })}}},
		"expired": {reason: "a certificate that is over is refused anyway", is: switched, want: Drop,
			facts: Facts{PrincipalRuns: true, Reports: []Report{{Cluster: "c1", Generation: 1, SecretCurrent: true, Issued: []Issued{issuedBy(old.ID(), 1, day.Add(-169*time.Hour))}}}}},
		"live view": {reason: "Argo CD still shows the resource proxy the old one", is: switched, waits: Waiting{Step: Drop, Clusters: []string{"c1"}},
			facts: Facts{PrincipalRuns: true, Reports: []Report{change(connected("c1", both, 2, after), func(r *Report) { r.SecretCurrent = false })}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.facts.Now.IsZero() {
				c.facts.Now = day
			}
			c.facts.Life = years
			got, step, waits, err := Advance(c.is, c.facts)
			if err != nil || step != c.want {
				t.Fatalf("%s: step %q, waits %+v, %v", c.reason, step, waits, err)
			}
			if diff := cmp.Diff(c.waits, waits); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			switch step {
			case Trust:
				if got.Next == nil || got.Signing != c.is.Signing || len(got.Trusted) != 2 {
					t.Errorf("%+v", got)
				}
			case Switch:
				if got.Signing != c.is.Next || got.Next != nil || string(got.Bundle()) != string(c.is.Bundle()) {
					t.Errorf("%+v", got)
				}
			case Drop:
				if got.Signing != c.is.Signing || len(got.Trusted) != 1 || !got.Trusted[0].Equal(got.Signing.Certificate) {
					t.Errorf("%+v", got)
				}
			case NoStep:
			}
		})
	}
}

func TestGenerations(t *testing.T) {
	old, now := "old", "new"
	done := func(name string) Report {
		return connected(name, "", 2, issuedBy(old, 1, day.Add(-time.Hour)), issuedBy(now, 2, day.Add(-time.Minute)))
	}
	due := func(name string) Report { return connected(name, "", 1, issuedBy(old, 1, day.Add(-time.Hour))) }
	raised := func(name string) Report { return connected(name, "", 2, issuedBy(old, 1, day.Add(-time.Hour))) }
	change := func(r Report, f func(*Report)) Report { f(&r); return r }
	away := func(r *Report) { r.Reachable, r.Connected = false, false }
	cases := map[string]struct {
		reason  string
		reports []Report
		trusted []string // both by default
		atLeast int
		limit   int
		want    map[string]int
	}{
		"not trusted":  {reason: "the principal refuses it in any case", reports: []Report{change(due("c1"), away), due("c2"), raised("c3")}, trusted: []string{now}, limit: 1, want: map[string]int{"c1": 2, "c2": 2, "c3": 2}},
		"rest":         {reason: "nothing to do", reports: []Report{done("c1")}, limit: 1, want: map[string]int{"c1": 2}},
		"new":          {reason: "a cluster begins with the first", reports: []Report{{Cluster: "c1"}}, limit: 1, want: map[string]int{"c1": 1}},
		"new later":    {reason: "or with what is asked for", reports: []Report{{Cluster: "c1"}}, atLeast: 4, limit: 1, want: map[string]int{"c1": 4}},
		"first":        {reason: "a cluster that has none yet gets one of the new CA anyway", reports: []Report{{Cluster: "c1", Generation: 1, Reachable: true}}, limit: 1, want: map[string]int{"c1": 1}},
		"limit":        {reason: "one at a time", reports: []Report{due("c1"), due("c2"), due("c3")}, limit: 1, want: map[string]int{"c1": 2, "c2": 1, "c3": 1}},
		"at least one": {reason: "a limit of none is one", reports: []Report{due("c1"), due("c2")}, want: map[string]int{"c1": 2, "c2": 1}},
		"awaited":      {reason: "the next only when the one before is back", reports: []Report{raised("c1"), due("c2")}, limit: 1, want: map[string]int{"c1": 2, "c2": 1}},
		"two":          {reason: "or as many as may be away", reports: []Report{raised("c1"), due("c2"), due("c3")}, limit: 2, want: map[string]int{"c1": 2, "c2": 2, "c3": 1}},
		"issued, not back": {reason: "it has its certificate but is not connected", limit: 1, want: map[string]int{"c1": 2, "c2": 1},
			reports: []Report{change(done("c1"), func(r *Report) { r.Connected = false }), due("c2")}},
		"back":      {reason: "then the next one goes", reports: []Report{done("c1"), due("c2")}, limit: 1, want: map[string]int{"c1": 2, "c2": 2}},
		"away":      {reason: "who is away is not sent anywhere", reports: []Report{change(due("c1"), away), due("c2")}, limit: 1, want: map[string]int{"c1": 1, "c2": 2}},
		"went away": {reason: "who left on the way does not hold up the others", reports: []Report{change(raised("c1"), away), due("c2")}, limit: 1, want: map[string]int{"c1": 2, "c2": 2}},
		"for long":  {reason: "who does not come back holds up the others for a while only", reports: []Report{change(raised("c1"), func(r *Report) { r.Since = day.Add(-11 * time.Minute) }), due("c2")}, limit: 1, want: map[string]int{"c1": 2, "c2": 2}},
		"just now":  {reason: "and until then it does", reports: []Report{change(raised("c1"), func(r *Report) { r.Since = day.Add(-9 * time.Minute) }), due("c2")}, limit: 1, want: map[string]int{"c1": 2, "c2": 1}},
		"full":      {reason: "a cluster that may not ask keeps the key that it has", reports: []Report{change(due("c1"), func(r *Report) { r.Full = true }), {Cluster: "c2", Generation: 3, Stuck: true, Full: true}, due("c3")}, limit: 1, want: map[string]int{"c1": 1, "c2": 3, "c3": 2}},
		"stuck":     {reason: "a request that cannot be signed needs another", reports: []Report{{Cluster: "c1", Generation: 3, Stuck: true}}, limit: 1, want: map[string]int{"c1": 4}},
		"requested": {reason: "an annotation wants all renewed", reports: []Report{done("c1")}, atLeast: 5, limit: 1, want: map[string]int{"c1": 5}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.trusted == nil {
				c.trusted = []string{old, now}
			}
			if diff := cmp.Diff(c.want, Generations(c.reports, now, c.trusted, c.atLeast, c.limit, day)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// In whatever order clusters respond, all of them get the next generation. At no time are more of them
// disconnected than the limit.
func TestGenerations_reachEveryClusterWithinTheLimit(t *testing.T) {
	const clusters, limit = 50, 7
	reports := make([]Report, clusters)
	for i := range reports {
		reports[i] = connected(string(rune('a'+i)), "", 1, issuedBy("old", 1, day))
	}
	now := day
	for round := 0; ; round++ {
		now = now.Add(time.Minute)
		desired := Generations(reports, "new", []string{"old", "new"}, 0, limit, now)
		open := 0
		for i := range reports {
			r := &reports[i]
			if desired[r.Cluster] > r.Generation {
				r.Generation, r.Connected = desired[r.Cluster], false
			}
			if !r.Connected {
				open++
			}
			if !r.Connected && (i+round)%3 == 0 {
				r.Issued = []Issued{r.Issued[0], issuedBy("new", r.Generation, now)}
				r.Holds, r.Connected = "new", true
			}
		}
		if open > limit {
			t.Fatalf("%d are on their way at once", open)
		}
		if !slices.ContainsFunc(reports, func(r Report) bool { return r.Generation == 1 || !r.Connected }) {
			return
		}
		if round > 60 {
			t.Fatal("it does not come to an end")
		}
	}
}
