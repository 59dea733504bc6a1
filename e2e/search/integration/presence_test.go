// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

// TestStart_waitsForTheService starts resourcesync without a search service. resourcesync keeps running, logs that once,
// and starts to read when the service exists.
func TestStart_waitsForTheService(t *testing.T) {
	w := prepare(t, fleet)
	w.faults(search.Faults{Refuse: true})
	w.run("--zap-log-level=debug")
	// Every attempt logs a debug line, and the first one also logs a line at the default level.
	w.eventually("it was looked for again", func(state) bool { return len(w.said("refused", true)) >= 3 })
	if said := w.said("refused", false); len(said) != 1 {
		t.Errorf("it was said %d times that there is no search, want once: %q", len(said), said)
	}
	w.faults(search.Faults{})
	w.complete()
}

// said returns resourcesync's log lines that contain word, with or without debug lines.
func (w *world) said(word string, debug bool) []string {
	var lines []string
	for line := range strings.Lines(w.process.output.String()) {
		if strings.Contains(line, word) && (debug || !strings.Contains(line, `"level":"debug"`)) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestPoll_writesNothingWithoutAChange polls unchanged data repeatedly, and resourcesync must write no file.
func TestPoll_writesNothingWithoutAChange(t *testing.T) {
	w := prepare(t, fleet)
	w.holdClusters()
	w.run()
	w.complete()
	w.awaitPolls(1)
	before := w.files()
	w.awaitPolls(3)
	if after := w.files(); !maps.Equal(before, after) {
		t.Errorf("files were written without a change: %v, then %v", before, after)
	}
}

// files returns the names of the reports' files, with the time of their last change.
func (w *world) files() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(w.reports, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err // hidden files are no reports, such as the time of the last good poll
		}
		info, err := os.Stat(path)
		if err == nil {
			found[entry.Name()] = info.ModTime().String()
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// TestAdvice_namesTheMissingAccess starts with each silent loss of access. The first log lines must name the missing access and the
// permission to grant.
func TestAdvice_namesTheMissingAccess(t *testing.T) {
	for _, test := range []struct {
		reason string
		faults search.Faults
		says   []string
	}{
		{"an expected cluster is missing", search.Faults{Lost: names(2)}, []string{"searches/allManagedData", memory.ClusterName(2)}},
		{"the hub is taken for a managed cluster", search.Faults{PseudoNodeFirst: true}, []string{"mistaken", "managedclusterviews", "local-cluster"}},
		{"fine-grained access control", search.Faults{FineGrained: true}, []string{"fine-grained", "UserPermission"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			w := prepare(t, withHubRows{})
			w.faults(test.faults)
			w.run()
			w.eventually("the advice is given", func(state) bool {
				said := w.process.output.String()
				return !slices.ContainsFunc(test.says, func(word string) bool { return !strings.Contains(said, word) })
			})
		})
	}
}

// withHubRows is the fleet with rows of the hub, which are first.
type withHubRows struct{}

func (withHubRows) Run(ctx context.Context, into *table.Table) error {
	into.Put(table.Row{UID: "local-cluster/1", Cluster: "local-cluster", Data: map[string]any{
		"name": "guestbook", "kind": "ApplicationSet", "kind_plural": "applicationsets", "_hubClusterResource": "true",
	}})
	// The node of a managed cluster comes before the hub's own node, so the service treats it as the hub.
	into.Put(memory.Cluster(memory.ClusterName(0)), memory.Cluster("local-cluster"))
	return fleet.Run(ctx, into)
}

// TestDeletion_removesTheApplicationsOfACluster deletes a managed cluster. The reports lose its Applications, although search still has
// rows of it.
func TestDeletion_removesTheApplicationsOfACluster(t *testing.T) {
	const leaving = "leaving"
	w := prepare(t, withMore{leaving})
	w.holdClusters()
	if err := createCluster(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.eventually("the cluster shows", func(s state) bool { return s.of(leaving).apps() == 1 && s.apps() == 9 })
	w.witness.always(func(s state) error { return whole(s.but(leaving)) })
	clusters := dynamic.NewForConfigOrDie(hub).Resource(clusterResource)
	if err := clusters.Delete(t.Context(), leaving, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the cluster has gone", func(s state) bool { return s.apps() == 8 && s.stale() == 0 })
}

// withMore is the fleet with an Application on one more cluster.
type withMore struct{ cluster string }

func (m withMore) Run(ctx context.Context, into *table.Table) error {
	into.Put(memory.Cluster(m.cluster), memory.Application(m.cluster, memory.SetName(0)), memory.Resource(m.cluster, memory.SetName(0), 0))
	into.Relate(table.Edge{
		From: memory.ApplicationUID(m.cluster, memory.SetName(0)), To: memory.Resource(m.cluster, memory.SetName(0), 0).UID,
	})
	return fleet.Run(ctx, into)
}

// TestDeletion_removesTheReportOfAnApplicationSet deletes an ApplicationSet, and its report must be deleted.
func TestDeletion_removesTheReportOfAnApplicationSet(t *testing.T) {
	const leaving = "leaving"
	w := prepare(t, withSet{leaving})
	if err := createSet(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.complete()
	w.eventually("its report is there", func(state) bool { return w.reported(leaving) })
	sets := dynamic.NewForConfigOrDie(hub).Resource(setResource).Namespace(memory.Namespace)
	if err := sets.Delete(t.Context(), leaving, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.witness.always(all(whole, fresh))
	w.eventually("its report has gone", func(state) bool { return !w.reported(leaving) })
}

// reported reports whether an ApplicationSet has a readable report.
func (w *world) reported(set string) bool {
	_, err := w.witness.store.Read(memory.Namespace, set)
	return err == nil
}

// withSet is the fleet with an Application of one more ApplicationSet.
type withSet struct{ set string }

func (m withSet) Run(ctx context.Context, into *table.Table) error {
	cluster := memory.ClusterName(0)
	into.Put(memory.Application(cluster, m.set), memory.Resource(cluster, m.set, 0))
	into.Relate(table.Edge{From: memory.ApplicationUID(cluster, m.set), To: memory.Resource(cluster, m.set, 0).UID})
	return fleet.Run(ctx, into)
}
