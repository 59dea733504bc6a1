// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const deadlineMetric = "gitopscluster_certificate_renewal_deadline_timestamp_seconds"

// deadlines returns the renewal deadlines of an Argo CD's certificates, by kind.
func deadlines(t *testing.T, namespace string) map[string]time.Time {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]time.Time{}
	for _, family := range families {
		if family.GetName() != deadlineMetric {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range m.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if len(labels) != 2 {
				t.Errorf("a series has labels %v", labels)
			}
			if labels["namespace"] == namespace {
				found[labels["kind"]] = time.Unix(int64(m.GetGauge().GetValue()), 0)
			}
		}
	}
	return found
}

// The metric for the clients' certificates has the earliest deadline of all available clusters that keep
// their agent. Only these clusters renew their certificates, so only their deadlines show a failure.
func TestRenewal_measuresTheEarliestDeadline(t *testing.T) {
	f := newFixture(t)
	clusters := []string{f.cluster(), f.cluster()}
	a := f.spec("a", 0, clusters...)
	f.Set(a)
	var want []time.Time
	for _, c := range clusters {
		f.delivered(c, holds("192.0.2.1"))
		is := f.signed(c)
		want = append(want, pki.RenewalDeadline(is.At, is.Expires).Truncate(time.Second))
	}
	says := func(what string, of ...string) {
		t.Helper()
		testkit.Eventually(t, what, func() error {
			f.Set(a) // triggers a reconciliation
			if got := slices.Sorted(maps.Keys(deadlines(t, f.namespace))); !slices.Equal(got, of) {
				return fmt.Errorf("there are those of %v", got)
			}
			return nil
		})
	}
	hubs := []string{"argocd-agent-principal-tls", "argocd-agent-resource-proxy-tls", "ca"}
	all := append([]string{"agents"}, hubs...)
	says("all", all...)
	testkit.Eventually(t, "the first of both", func() error {
		f.Set(a)
		if got, first := deadlines(t, f.namespace)["agents"], slices.MinFunc(want, time.Time.Compare); !got.Equal(first) {
			return fmt.Errorf("it is %s, want %s", got, first)
		}
		return nil
	})
	rulesAreFedWith(t, all)

	heard := func(status metav1.ConditionStatus) {
		for _, c := range clusters {
			testkit.EditStatus(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c}}, func(c *clusterv1.ManagedCluster) { c.Status.Conditions[0].Status = status })
		}
	}
	heard(metav1.ConditionUnknown)
	says("none of clusters that are away", hubs...)
	heard(metav1.ConditionTrue)
	says("those of clusters that are back", all...)
	held := func(finalizers ...string) {
		for _, c := range clusters {
			testkit.Edit(t, hub.client, &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: c, Name: agent.WorkName}}, func(w *workv1.ManifestWork) { w.Finalizers = finalizers })
		}
	}
	held(workv1.ManifestWorkFinalizer) // the work agents have not finished, so the add-ons stay
	a.Clusters = nil
	says("none of clusters that leave", hubs...)
	held()
	for _, c := range clusters {
		keyGone(t, f, c)
	}
	f.Delete(a.Owner)
	testkit.Eventually(t, "nothing of an Argo CD without agents", func() error {
		if left := deadlines(t, f.namespace); len(left) > 0 {
			return fmt.Errorf("there is %v", left)
		}
		return nil
	})
}

var fed = regexp.MustCompile(deadlineMetric + `\{([^}]*)\}`)

// rulesAreFedWith compares the series in the test of the certificate alert with the emitted series. The
// tests of the other alerts run without agents, so they do not have this metric.
func rulesAreFedWith(t *testing.T, kinds []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "deploy", "monitoring", "base", "rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	series := fed.FindAllStringSubmatch(string(text), -1)
	if len(series) == 0 {
		t.Error("the alert is fed with nothing: the test proves nothing")
	}
	for _, s := range series {
		var names []string
		for label := range strings.SplitSeq(s[1], ",") {
			name, value, _ := strings.Cut(label, "=")
			names = append(names, name)
			if kind := strings.Trim(value, `"`); name == "kind" && !slices.Contains(kinds, kind) {
				t.Errorf("the alert is fed with kind %s, which is never emitted", kind)
			}
		}
		if slices.Sort(names); !slices.Equal(names, []string{"kind", "namespace"}) {
			t.Errorf("the alert is fed with labels %v", names)
		}
	}
}

// A cluster that leaves and returns does not keep the start time of its former generation.
func TestReporter_resetsTheStartTimeOfAReturnedCluster(t *testing.T) {
	const name = "cluster1"
	r, before := &reporter{}, time.Now().Add(-time.Hour)
	r.generations.Store(name, wantedSince{generation: 1, since: before})
	if got := r.since(name, 1); !got.Equal(before) {
		t.Errorf("while it stays: since %s, want %s", got, before)
	}
	leaving := &view{existing: map[string]presence{name: {}}}
	if reports, _, err := r.of(t.Context(), leaving); err != nil || len(reports) > 0 {
		t.Errorf("a cluster that leaves is reported: %v, %v", reports, err)
	}
	if got := r.since(name, 1); got.Equal(before) {
		t.Errorf("once it is back: since %s, want now", got)
	}
}
