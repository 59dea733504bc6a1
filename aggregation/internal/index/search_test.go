// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// deploys returns an Application of an intermediate report. It deploys ConfigMaps and has a condition that
// only search reports.
func deploys(cluster string, names ...string) intermediate.Application {
	a := intermediate.Application{
		Cluster: cluster, Namespace: "argocd", Name: "app",
		Conditions: []intermediate.Condition{{Type: "NewKindOfError", Message: "on " + cluster}},
	}
	for _, name := range names {
		a.Resources = append(a.Resources, intermediate.Resource{Kind: "ConfigMap", Name: name})
	}
	return a
}

func found(unread []string, applications ...intermediate.Application) *intermediate.Report {
	return &intermediate.Report{Namespace: guestbook.Namespace, Name: guestbook.Name, Applications: applications, UnreadClusters: unread}
}

// resourceNames returns the names of the resources in an ApplicationSet's report, in one line.
func resourceNames(x *Index) string {
	var names []string
	for _, r := range x.View(guestbook).Resources.Refs() {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

// On a managed cluster, anybody who can create an Application can claim any ApplicationSet as its owner. So
// the index accepts search's findings only for the cluster, namespace and name in a ManifestWork of the
// ApplicationSet.
func TestSetSearch_acceptsOnlyIdentitiesOfWorks(t *testing.T) {
	x, published := spied()
	x.SetCluster(available("a"))
	work := manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))
	x.SetWork(compact(t, work))
	elsewhere := deploys("a", "made-up")
	elsewhere.Namespace = "tenant"
	other := deploys("a", "made-up")
	other.Name = "other"
	x.SetSearch(found(nil, deploys("a", "mine"), elsewhere, other, deploys("hostile", "made-up")))
	expect(t, "a cluster, a namespace, a name of no work of this ApplicationSet say nothing", resourceNames(x), "mine")
	published()

	x.SetWork(compact(t, manifestWork(guestbook, "hostile", "app", nil)))
	expect(t, "nor does a cluster whose agent has not said where the Application is", resourceNames(x), "mine")
	published()
	x.SetWork(compact(t, manifestWork(guestbook, "hostile", "app", shows("Healthy", "Synced"))))
	expect(t, "a new place brings what is known of it", resourceNames(x), "made-up mine")
	expect(t, "and is published", published(), map[types.NamespacedName]int{guestbook: 1})

	x.SetWork(compact(t, manifestWork(guestbook, "hostile", "app", shows("Degraded", "Synced"))))
	x.DeleteWork(types.NamespacedName{Namespace: "hostile", Name: "app-abcde"})
	expect(t, "and takes it away when its work goes, also while search still has it", resourceNames(x), "mine")

	moved := manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))
	moved.Status.ResourceStatus.Manifests[0].ResourceMeta.Namespace = "tenant"
	x.SetWork(compact(t, moved))
	expect(t, "an Application that is in another namespace now is another place", resourceNames(x), "made-up")
	foreign := manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))
	foreign.Status.ResourceStatus.Manifests[0].ResourceMeta.Name = "other"
	x.SetWork(compact(t, foreign))
	expect(t, "what an agent says of another Application is not about this one", resourceNames(x), "")
}

// degradedFleet returns an index with an Application on each of two clusters.
func degradedFleet(t *testing.T) *Index {
	t.Helper()
	x, _ := spied()
	for _, c := range []string{"a", "b"} {
		x.SetCluster(available(c))
		x.SetWork(compact(t, manifestWork(guestbook, c, "app", shows("Degraded", "OutOfSync"))))
	}
	return x
}

// Search may not have read some clusters since its pod started. For a limited time, the report keeps their
// old content.
func TestRemember_endsWhenSearchCoversAllClusters(t *testing.T) {
	before := degradedFleet(t)
	before.SetSearch(found(nil, deploys("a", "one"), deploys("b", "two")))
	old := statuses(before.View(guestbook))
	both := []string{"a: Degraded OutOfSync NewKindOfError", "b: Degraded OutOfSync NewKindOfError"}

	for name, first := range map[string]func(*Index){
		"report, then file": func(x *Index) {
			x.Remember(guestbook, &old)
			x.SetSearch(found([]string{"b"}, deploys("a", "three")))
		},
		"file, then report": func(x *Index) {
			x.SetSearch(found([]string{"b"}, deploys("a", "three")))
			x.Remember(guestbook, &old)
		},
		"resourcesync began anew": func(x *Index) {
			x.SetSearch(found(nil, deploys("a", "one"), deploys("b", "two")))
			x.SetSearch(found([]string{"a", "b"}))
			x.SetSearch(found([]string{"b"}, deploys("a", "three")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := degradedFleet(t)
				first(x)
				expect(t, "rows keep what the report had", rows(x, guestbook), both)
				expect(t, "so do resources, and what search says is beside it", resourceNames(x), "one three two")
				<-time.After(remembers - time.Second)
				x.SetSearch(found([]string{"b"}, deploys("a", "three"), intermediate.Application{Cluster: "c"}))
				expect(t, "also just before the time is over", resourceNames(x), "one three two")
				<-time.After(2 * time.Second)
				expect(t, "a cluster that is never read keeps nothing for longer", resourceNames(x), "three")
				expect(t, "nor its rows", rows(x, guestbook), []string{"a: Degraded OutOfSync NewKindOfError", "b: Degraded OutOfSync"})
				x.SetSearch(found([]string{"b"}, deploys("a", "four")))
				expect(t, "and what is deleted then leaves at once", resourceNames(x), "four")
			})
		})
		t.Run(name+", then all", func(t *testing.T) {
			x := degradedFleet(t)
			first(x)
			x.SetSearch(found([]string{"other"}, deploys("b", "five")))
			expect(t, "once the clusters of its works are read, nothing is remembered", resourceNames(x), "five")
			expect(t, "nor in rows", rows(x, guestbook), []string{"a: Degraded OutOfSync", "b: Degraded OutOfSync NewKindOfError"})
		})
	}
}

// A cluster also counts as unread if resourcesync had no room for some of its Applications. An Application with a
// row keeps no deleted resource.
func TestSetSearch_readsRowsOfUnreadClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := degradedFleet(t)
		x.SetSearch(found(nil, deploys("a", "one", "two"), deploys("b", "three")))
		x.SetSearch(found([]string{"a", "b"}, deploys("a", "one"), deploys("b", "three")))
		expect(t, "what is deleted leaves", resourceNames(x), "one three")
		x.SetSearch(found([]string{"a", "b"}, deploys("a", "one")))
		expect(t, "an Application without a row keeps its resources", resourceNames(x), "one three")
		<-time.After(remembers + time.Second)
		expect(t, "not for longer, because search has reported on another", resourceNames(x), "one")
	})
}

// If search is unavailable for longer than that, only the old report has its findings, so the index keeps
// them, with their age. Without a search service the old report has no findings, and the index drops it.
func TestRemember_keepsAndDatesFindingsWithoutAnyFile(t *testing.T) {
	failed := shows("Degraded", "OutOfSync")
	failed[contract.FeedbackOperationPhase], failed[contract.FeedbackOperationMessage] = "Failed", "no such namespace"
	for name, test := range map[string]struct {
		feedback map[string]string
		search   *intermediate.Report
		kept     bool
	}{
		"search is away":                 {shows("Degraded", "OutOfSync"), found(nil, deploys("a", "one")), true},
		"no search":                      {shows("Degraded", "OutOfSync"), found(nil), false},
		"no search, an operation failed": {failed, found(nil), false},
	} {
		work := compact(t, manifestWork(guestbook, "a", "app", test.feedback))
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				was, _ := spied()
				was.SetCluster(available("a"))
				was.SetWork(work)
				was.SetSearch(test.search)
				old := statuses(was.View(guestbook))
				x, published := spied()
				x.SetCluster(available("a"))
				x.SetWork(work)
				x.Remember(guestbook, &old)
				began := time.Now().UTC().Format(time.RFC3339)
				published()
				<-time.After(staleAfter - time.Second)
				expect(t, "the report stays as it is", statuses(x.View(guestbook)), old)
				expect(t, "nothing has changed", published(), map[types.NamespacedName]int{})

				want, changes := old, map[types.NamespacedName]int{}
				if test.kept {
					want.ClusterConditions = slices.Clone(old.ClusterConditions)
					want.ClusterConditions[0].StaleSince = began
					changes[guestbook] = 1
				}
				<-time.After(3 * remembers)
				expect(t, "the report dates what search had found", statuses(x.View(guestbook)), want)
				expect(t, "once", published(), changes)
				expect(t, "held", x.sets[guestbook].remembered != nil, test.kept)

				x.SetSearch(found([]string{"a"}))
				expect(t, "no answer about the cluster yet", statuses(x.View(guestbook)), want)
				<-time.After(2 * remembers)
				expect(t, "nor later", statuses(x.View(guestbook)), want)
				x.SetSearch(test.search)
				expect(t, "search answers again", statuses(x.View(guestbook)), old)
				x.Forget(guestbook)
				<-time.After(remembers)
			})
		})
	}
}

// The first file may come before an answer about each cluster. A cluster that has answered has no age and no
// old findings, and the age of the others stays.
func TestRemember_datesOnlyClustersWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := degradedFleet(t)
		before.SetSearch(found(nil, deploys("a", "one"), deploys("b", "two")))
		old := statuses(before.View(guestbook))
		x := degradedFleet(t)
		x.Remember(guestbook, &old)
		began := time.Now().UTC().Format(time.RFC3339)
		<-time.After(staleAfter + time.Second)
		ages := func() (ages []string) {
			for _, r := range x.View(guestbook).Rows {
				ages = append(ages, r.StaleSince)
			}
			return ages
		}
		expect(t, "both are dated", ages(), []string{began, began})
		x.SetSearch(found([]string{"b"})) // search has no row about the Application on a
		expect(t, "only b is dated", ages(), []string{"", began})
		expect(t, "rows", rows(x, guestbook), []string{"a: Degraded OutOfSync", "b: Degraded OutOfSync NewKindOfError"})
	})
}

func TestRemember_ignoresTheOldReportAfterSearch(t *testing.T) {
	x, _ := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))))
	x.SetSearch(found(nil, deploys("a", "fresh")))
	old := &v1alpha1.AppSetStatuses{Resources: []v1alpha1.ResourceRef{{Kind: "ConfigMap", Name: "old"}}}
	x.Remember(guestbook, old)
	expect(t, "what search said is newer than the report", resourceNames(x), "fresh")
	if x.sets[guestbook].remembered != nil {
		t.Error("a report is remembered that nothing is taken from")
	}
	x.SetSearch(found(nil))
	expect(t, "and nothing of the report comes back later", resourceNames(x), "")
}

func TestSetSearch_datesStaleRows(t *testing.T) {
	x, published := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))))
	fresh, stale := deploys("a", "one"), deploys("a", "one")
	fresh.Conditions = append(fresh.Conditions, intermediate.Condition{Type: "ComparisonError", Message: "three days ago"})
	stale.Conditions = fresh.Conditions
	since := time.Date(2026, 11, 20, 11, 0, 0, 0, time.FixedZone("", 3600))
	stale.StaleSince = &since
	x.SetSearch(found(nil, fresh))
	published()
	x.SetSearch(found(nil, stale))
	expect(t, "a cluster that falls silent is published", published(), map[types.NamespacedName]int{guestbook: 1})
	row := x.View(guestbook).Rows[0]
	expect(t, "since when, in UTC", row.StaleSince, "2026-11-20T10:00:00Z")
	expect(t, "what only search knows is kept; what feedback has no more is over", rows(x, guestbook), []string{"a: Degraded OutOfSync NewKindOfError"})

	old := statuses(x.View(guestbook))
	y, _ := spied()
	y.SetCluster(available("a"))
	y.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Degraded", "OutOfSync"))))
	y.Remember(guestbook, &old)
	expect(t, "a restart during the outage changes nothing", statuses(y.View(guestbook)), old)
	y.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Healthy", "OutOfSync"))))
	expect(t, "new feedback does not make search answer", y.View(guestbook).Rows[0].StaleSince, "2026-11-20T10:00:00Z")
	x.SetSearch(found(nil, fresh))
	expect(t, "an answer ends it", x.View(guestbook).Rows[0].StaleSince, "")
}

// A change of one row does not merge the resources of all Applications again.
func TestSetWork_doesNotUniteResourcesAgain(t *testing.T) {
	x, _ := spied()
	var applications []intermediate.Application
	for i := range 100 {
		c := fmt.Sprintf("c%02d", i)
		x.SetCluster(available(c))
		x.SetWork(compact(t, manifestWork(guestbook, c, "app", shows("Healthy", "Synced"))))
		applications = append(applications, deploys(c, "shared", "of-"+c))
	}
	x.SetSearch(found(nil, applications...))
	before := x.View(guestbook).Resources.Refs()
	x.SetWork(compact(t, manifestWork(guestbook, "c50", "app", shows("Degraded", "Synced"))))
	x.SetCluster(available("c51"))
	if after := x.View(guestbook).Resources.Refs(); &before[0] != &after[0] {
		t.Error("the resources were united anew for a change of one row")
	}
	x.DeleteWork(types.NamespacedName{Namespace: "c50", Name: "app-abcde"})
	if after := x.View(guestbook).Resources.Refs(); len(after) != len(before)-1 {
		t.Errorf("%d resources after a work went, want one less than %d", len(after), len(before))
	}
}

// BenchmarkDeleteWork_all deletes the ManifestWorks of the n Applications of one ApplicationSet.
func BenchmarkDeleteWork_all(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			existing, leaving := make([]*manifestcache.Work, n), make([]*manifestcache.Work, n)
			for i := range n {
				w := manifestWork(guestbook, fmt.Sprintf("c%05d", i), fmt.Sprintf("app%05d", i), shows("Healthy", "Synced"))
				existing[i] = compact(b, w)
				w.DeletionTimestamp = &metav1.Time{Time: w.CreationTimestamp.Add(time.Hour)}
				leaving[i] = compact(b, w)
			}
			for b.Loop() {
				b.StopTimer()
				x := New(func(types.NamespacedName) {})
				for _, w := range existing {
					x.SetWork(w)
				}
				b.StartTimer()
				for _, w := range leaving {
					x.SetWork(w)
				}
				for _, w := range leaving {
					x.DeleteWork(keyOf(w))
				}
			}
		})
	}
}

// BenchmarkMemory_search reports the memory of search's findings about one Application. The Application has
// 21 resources, and 20 of them are the same on all clusters.
func BenchmarkMemory_search(b *testing.B) {
	const n = 2000
	for b.Loop() {
		b.StopTimer()
		x := New(func(types.NamespacedName) {})
		r := found(nil)
		for i := range n {
			c := fmt.Sprintf("cluster-%05d", i)
			a := deploys(c, "of-"+c)
			for j := range 20 {
				a.Resources = append(a.Resources, intermediate.Resource{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprintf("resource-%d", j)})
			}
			r.Applications = append(r.Applications, a)
			x.SetWork(compact(b, manifestWork(guestbook, c, "app", map[string]string{contract.FeedbackHealthStatus: "Healthy"})))
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		x.SetSearch(r)
		x.View(guestbook)
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/Application")
		runtime.KeepAlive(r)
		runtime.KeepAlive(x)
		b.StartTimer()
	}
}

// The report counts the resources that did not fit into the intermediate report. It counts only the
// resources of its ManifestWorks. The index publishes the report even if only this number changes.
func TestView_countsWhatIsLeftOut(t *testing.T) {
	x, published := spied()
	x.SetCluster(available("a"))
	x.SetWork(compact(t, manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))))
	mine, other := deploys("a", "mine"), deploys("b")
	mine.LeftOut, other.LeftOut = 7, 100
	x.SetSearch(found(nil, mine, other))
	if got := x.View(guestbook).LeftOut; got != 7 {
		t.Errorf("%d resources are left out, want 7", got)
	}
	changed := map[types.NamespacedName]int{guestbook: 1}
	published()
	mine.LeftOut = 8
	x.SetSearch(found(nil, mine, other))
	expect(t, "another number is published", published(), changed)
	x.SetSearch(found(nil, mine, other))
	expect(t, "the same one is not", published(), map[types.NamespacedName]int{})

	mine.Resources = nil
	elsewhere := mine
	elsewhere.Namespace, elsewhere.LeftOut = "tenant", 9
	x.SetSearch(found(nil, mine, elsewhere))
	published()
	moved := manifestWork(guestbook, "a", "app", shows("Healthy", "Synced"))
	moved.Status.ResourceStatus.Manifests[0].ResourceMeta.Namespace = "tenant"
	x.SetWork(compact(t, moved))
	expect(t, "another place is published, also when none fits", published(), changed)
	if got := x.View(guestbook).LeftOut; got != 9 {
		t.Errorf("%d resources are left out, want 9", got)
	}
}

// If search has not read a cluster, the rows of that cluster have a date. They keep it when the old
// report's findings expire.
func TestSetSearch_datesRowsOfUnreadClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := func() *Index {
			x, _ := spied()
			for _, c := range []string{"a", "b"} {
				x.SetCluster(available(c))
				x.SetWork(compact(t, manifestWork(guestbook, c, "app", shows("Healthy", "Synced"))))
			}
			return x
		}
		ages := func(x *Index) (out []string) {
			for _, r := range x.View(guestbook).Rows {
				out = append(out, r.Cluster+" "+r.StaleSince)
			}
			return out
		}
		was := fleet()
		was.SetSearch(found(nil, deploys("a", "one"), deploys("b", "two")))
		old := statuses(was.View(guestbook))
		x := fleet()
		x.Remember(guestbook, &old)
		x.SetSearch(found([]string{"b"}, deploys("a", "one")))
		expect(t, "a new pod's first polls date nothing", ages(x), []string{"a ", "b "})
		since := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
		unread := found([]string{"b"}, deploys("a", "one"))
		unread.UnreadSince = &since
		x.SetSearch(unread)
		dated := []string{"a ", "b 2026-11-20T10:00:00Z"}
		expect(t, "what an old report said is dated", ages(x), dated)
		expect(t, "and stays", resourceNames(x), "one two")
		<-time.After(remembers + time.Second)
		expect(t, "the row does not look fresh once that is over", ages(x), dated)
		expect(t, "although nothing is kept", resourceNames(x), "one")
		x.SetSearch(found(nil, deploys("a", "one"), deploys("b", "two")))
		expect(t, "read", ages(x), []string{"a ", "b "})
	})
}
