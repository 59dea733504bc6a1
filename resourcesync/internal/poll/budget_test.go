// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// flood makes clusters each of which has more than its share.
func (w *world) flood(clusters, resources int) {
	w.bent = func(asked []string, r *search.Result) error {
		for _, c := range asked {
			if len(c) > 2 { // not c1 and c2
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

func TestGreedyClustersCannotCrowdOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.poller.Options.BatchSize = 1
		w.flood(12, 100)
		p := w.poller
		p.state.limit = 100_000 // they want some 200,000
		w.poll()
		if p.state.bytes > p.state.limit || p.reports.total > p.state.limit {
			t.Errorf("%d bytes are known, %d in files", p.state.bytes, p.reports.total)
		}
		if p.state.level >= maxCluster {
			t.Error("the test does not fill what there is")
		}
		rows := w.rows()
		for _, key := range []string{"c1/app", "c2/app"} {
			if rows[key] != (row{ab, fresh}) {
				t.Errorf("%s: %v", key, rows[key])
			}
		}
		gauge(t, "clusters that do not fit", clusterStates.WithLabelValues("left_out"), 12)
		if testutil.ToFloat64(leftOutNow.WithLabelValues("resources")) == 0 || !contains(w.problems, "leave out the rest") || !contains(w.problems, "n000") || !contains(w.problems, "remedy") {
			t.Errorf("said %q", w.problems)
		}
		said := len(w.problems)
		before := p.state.level
		w.polls(2)
		if len(w.problems) != said || p.state.level != before {
			t.Errorf("the level went from %d to %d, said %q", before, p.state.level, w.problems[said:])
		}
		for range 9 { // most of them go
			w.view.Clusters = w.view.Clusters[:len(w.view.Clusters)-1]
		}
		w.polls(10)
		gauge(t, "left out although there is room again", leftOutNow.WithLabelValues("resources"), 0)
	})
}

func TestAReportHasABoundOfItsOwn(t *testing.T) {
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
	data, err := json.Marshal(r)
	if err != nil || len(data) > intermediate.MaxReportBytes || len(data) < intermediate.MaxReportBytes/2 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	left := 0
	for _, a := range r.Applications {
		left += len(a.Resources)
	}
	if len(r.Applications) != 2000 || len(r.Applications[0].Resources) != 2 || left+cut.Resources != 1999*60+2 {
		t.Errorf("%d rows, %d resources, %+v cut", len(r.Applications), left, cut)
	}
}

// Clusters that claim to have Applications of an ApplicationSet take room from themselves.
func TestPoll_claimsOfOtherClustersDoNotFreezeAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.polls(2)
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
		for e := range 4 {
			if _, ok := rows[fmt.Sprintf("evil%d/made-up-1", e)]; !ok {
				t.Errorf("cluster evil%d has no row at all", e)
			}
		}
		gauge(t, "reports refused", leftOutNow.WithLabelValues("reports"), 0)
		if testutil.ToFloat64(leftOutNow.WithLabelValues("applications")) == 0 {
			t.Error("the test does not fill the report")
		}
	})
}
