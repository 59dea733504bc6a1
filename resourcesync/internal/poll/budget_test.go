// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// flood adds clusters, each with more resources than its share.
func (w *world) flood(clusters, resources int) {
	w.bent = func(asked []string, r *search.Result) error {
		for _, c := range asked {
			if len(c) > 2 { // all but c1 and c2
				for i := range resources {
					it := object(c, fmt.Sprintf("ConfigMap/%s-with-a-name-that-is-as-long-as-names-may-well-be-%05d", c, i))
					it.RelatedUIDs = []string{c + "/app"}
					r.Related = append(r.Related, it)
				}
			}
		}
		return nil
	}
	w.grow(clusters)
}

func TestBounds_protectOthersFromGreedyClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.poller.Options.BatchSize = 1
		w.flood(12, 100)
		p := w.poller
		p.state.limit = 100_000 // all resources need about 200,000
		w.polls(2)
		if p.state.bytes() > p.state.limit || p.reports.total > p.state.limit {
			t.Errorf("%d bytes are known, %d in files", p.state.bytes(), p.reports.total)
		}
		rows := w.rows()
		for _, key := range []string{"c1/app", "c2/app"} {
			if rows[key] != (row{ab, fresh}) {
				t.Errorf("%s: %v", key, rows[key])
			}
		}
		out := p.state.excluded()
		if len(out) == 0 || len(out) == 12 {
			t.Fatalf("%d of 12 large clusters are left out", len(out))
		}
		w.speaksForAllBut("what is left out", out...)
		gauge(t, "clusters that do not fit", clusterStates.WithLabelValues("left_out"), float64(len(out)))
		gauge(t, "resources that do not fit", leftOutNow.WithLabelValues("resources"), float64(101*len(out)))
		if !contains(w.problems, "leave out the rest") || !contains(w.problems, out[0]) || !contains(w.problems, "remedy") {
			t.Errorf("said %q", w.problems)
		}
		said := len(w.problems)
		w.polls(3)
		if len(w.problems) != said || !slices.Equal(p.state.excluded(), out) {
			t.Errorf("left out %v, then %v; said %q", out, p.state.excluded(), w.problems[said:])
		}
		for c := range 9 { // most of the large clusters are removed
			gone := fmt.Sprintf("n%03d", c)
			w.view.Clusters = slices.DeleteFunc(w.view.Clusters, func(c string) bool { return c == gone })
		}
		w.polls(10)
		gauge(t, "left out although there is room again", leftOutNow.WithLabelValues("resources"), 0)
		w.speaksForAllBut("all fit")
	})
}

// If a cluster exceeds its limit, its last Applications lose their resources. Their rows report how many
// are left out.
func TestBounds_limitEachClusterSeparately(t *testing.T) {
	s := newState(time.Second)
	s.clusters["c1"] = &clusterState{}
	s.replace("c1", s.clusters["c1"], crowd("c1", 20, 2000))
	st := s.clusters["c1"]
	if len(st.Applications) != 20 || st.bytes > maxCluster || st.leftOut.Applications != 0 {
		t.Fatalf("%d Applications, %d bytes, %+v left out", len(st.Applications), st.bytes, st.leftOut)
	}
	first, last := st.Applications[0], st.Applications[19]
	if len(first.Resources) != 2000 || first.LeftOut != 0 || len(last.Resources) != 0 || last.LeftOut != 2000 || st.leftOut.Resources%2000 != 0 {
		t.Errorf("the first has %d resources, the last %d; %+v left out", len(first.Resources), len(last.Resources), st.leftOut)
	}
}

// Applications with large conditions fill the limit of their cluster. The reports of the other Applications there do
// not cover the cluster until these fit again.
func TestBounds_reportWhichClusterLacksApplications(t *testing.T) {
	in(t, func(w *world) {
		w.bent = func(asked []string, r *search.Result) error {
			for i := 0; i < 600 && slices.Contains(asked, "c1"); i++ {
				it := search.Item{
					UID: fmt.Sprintf("c1/%d", i), Cluster: "c1", Kind: "Application", Namespace: "a-team", Name: fmt.Sprintf("app-%d", i),
					Hosting: "ApplicationSet/a-team/any",
				}
				for k := range 16 {
					it.Conditions = append(it.Conditions, search.Condition{Type: fmt.Sprintf("T%02dError", k), Message: strings.Repeat("x", 480)})
				}
				r.Items = append(r.Items, it)
			}
			return nil
		}
		w.polls(2)
		w.expect("the row has no room", map[string]row{"c2/app": {ab, fresh}})
		w.speaksForAllBut("its cluster is not covered", "c1")
		w.restart()
		w.poll()
		w.speaksForAllBut("after a restart", "c1")
		before := testutil.ToFloat64(writes)
		w.polls(3)
		gauge(t, "writes while nothing changes", writes, before)
		w.bent = nil
		w.polls(32)
		w.expect("all fit", both(ab, fresh))
		w.speaksForAllBut("all fit")
	})
}

func TestBounds_limitEachReportSeparately(t *testing.T) {
	r := &intermediate.Report{Namespace: "argocd", Name: "guestbook"}
	for c := range 2000 {
		name := fmt.Sprintf("cluster-%04d", c)
		app := crowd(name, 1, 60)[0]
		if c == 0 {
			app.Resources = app.Resources[:2]
		}
		r.UnreadClusters = append(r.UnreadClusters, "unread-"+name)
		r.Applications = append(r.Applications, intermediate.Application{Cluster: name, Namespace: "argocd", Name: "app", Resources: app.Resources})
	}
	cut := shorten(r)
	data, err := intermediate.Encode(r)
	if err != nil || len(data) > intermediate.MaxReportBytes || len(data) < intermediate.MaxReportBytes/2 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	n := len(r.Applications)
	if n == 2000 || cut != (translate.Cut{Applications: 2000 - n, Resources: (2000 - n) * 60}) || len(r.UnreadClusters) != 2000+2000-n {
		t.Errorf("%d rows, %+v cut, %d clusters without a row", n, cut, len(r.UnreadClusters))
	}
	if len(r.Applications[0].Resources) != 2 || !slices.IsSorted(r.UnreadClusters) || !slices.Contains(r.UnreadClusters, "cluster-1999") {
		t.Error("the largest clusters are left out, of equals the last, and the report says so")
	}
}

func TestPoll_claimsOfOtherClustersDoNotFreezeAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.polls(360) // an hour
		fitted := time.Now().UTC().Truncate(time.Second)
		for e := range 4 {
			c := fmt.Sprintf("evil%d", e)
			w.view.Clusters = append(w.view.Clusters, c)
			w.apps[c] = map[string][]string{}
			for i := range 400 {
				w.apps[c][fmt.Sprintf("made-up-%d", i)] = []string{"ConfigMap/x"}
			}
		}
		w.bent = func(_ []string, r *search.Result) error {
			for i := range r.Items {
				for k := 0; k < 50 && strings.HasPrefix(r.Items[i].Cluster, "evil"); k++ {
					r.Items[i].Conditions = append(r.Items[i].Conditions, search.Condition{Type: fmt.Sprintf("T%dError", k), Message: strings.Repeat("<", 512)})
				}
			}
			return nil
		}
		w.polls(3)
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/new")
		w.poll()
		rows := w.rows()
		if got := rows["c1/app"]; got != (row{ab + "Secret/new ", fresh}) {
			t.Errorf("c1/app: %v", got)
		}
		if got := w.unread(); len(got) == 0 || !strings.HasPrefix(got[0], "evil") {
			t.Errorf("the report does not say what it leaves out: %v", got)
		}
		date := func() *time.Time {
			r, err := w.store.Read(setKey.Namespace, setKey.Name)
			if err != nil {
				t.Fatal(err)
			}
			return r.UnreadSince
		}
		since := date()
		if since == nil || since.Before(fitted) || since.After(fitted.Add(10*time.Second)) {
			t.Fatalf("what the report leaves out is dated %v, and the file had it until %v", since, fitted)
		}
		gauge(t, "reports refused", leftOutNow.WithLabelValues("reports"), 0)
		out := testutil.ToFloat64(leftOutNow.WithLabelValues("applications"))
		if out == 0 {
			t.Error("the test does not fill the report")
		}
		w.restart()
		written := testutil.ToFloat64(writes)
		w.polls(2)
		gauge(t, "left out after a restart", leftOutNow.WithLabelValues("applications"), out)
		if got := testutil.ToFloat64(writes); got != written {
			t.Errorf("%v reports were written that had not changed", got-written)
		}
		w.apps["c1"]["app"] = append(w.apps["c1"]["app"], "Secret/newer")
		w.poll()
		if at := date(); at == nil || !at.Equal(*since) {
			t.Errorf("another change dates what is left out %v, want %v", at, since)
		}
		full := w.view.Clusters
		w.view.Clusters = []string{"c1", "c2"}
		w.poll()
		if at := date(); at != nil {
			t.Errorf("everything fits again, and is dated %v", at)
		}
		w.view.Clusters = full
		w.polls(2)
		if at := date(); at == nil || !at.After(*since) {
			t.Errorf("what no longer fits again is dated %v, as the first time", at)
		}
	})
}
