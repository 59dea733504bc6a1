// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/steps"
)

// few is the limit of removals in a lane. The test is shorter than the window.
const few = 3

// lanes is the number of separate limits: removals by users, lost permissions, unproven ManifestWorks, and
// removals that one of three clusters causes.
const lanes = 6

// Users change Applications at random while propagation is restarted or killed. Without an approval, the
// removals stay within the limit, and each desired Application is delivered. With an approval, the works
// match the model.
func TestRandomSteps_stayWithinTheLimit(t *testing.T) {
	r, n := steps.Random(t, 160)
	f := &fleet{t: t, r: r, place: newPlace(t), present: map[string]bool{}, bound: map[string]bool{}, apps: map[string]*argocd.Application{}, ended: map[types.UID]bool{}}
	f.clusters = []string{f.place.cluster, newCluster(t), newCluster(t)}
	for _, c := range f.clusters {
		f.present[c], f.bound[c] = true, true
	}
	f.bind()
	f.hubNamespace = newHubNamespace(t)
	f.limits = func(o *Options) {
		o.Withdrawals.Group.Percent, o.Withdrawals.Group.Least, o.Withdrawals.Window = 0, few, time.Hour
	}
	f.restart()
	approved, held, rounds := 0, 0, 0
	for i := range n {
		f.step()
		if r.IntN(3) == 0 {
			f.settle()
		}
		if i == n-1 {
			f.removeAll()
		}
		if lost := f.lost() - approved; lost > lanes*few {
			t.Fatalf("after step %d %d were withdrawn without an approval, and %d might be", i, lost, lanes*few)
		}
		if i%40 != 39 && i != n-1 {
			continue
		}
		f.openClusters()
		f.wanted()
		rounds++
		if f.surplus() > 0 {
			held++
		}
		before := f.lost()
		f.approve(true)
		f.rest()
		approved += f.lost() - before
		f.running.stop() // so that no removal continues after the approval
		f.approve(false)
		f.restart()
	}
	t.Logf("%d went under an approval, %d without; held at %d of %d approvals", approved, f.lost()-approved, held, rounds)
	if approved == 0 || held == 0 {
		t.Errorf("hardly anything was held: %d times, and %d went under an approval", held, approved)
	}
}

// openClusters makes all clusters present and bound. Otherwise most steps of a round may find no cluster.
func (f *fleet) openClusters() {
	f.t.Helper()
	for _, c := range f.clusters {
		if !f.present[c] {
			f.flipCluster(c)
		}
		f.bound[c] = true
	}
	f.bind()
}

// removeAll delivers as many Applications as possible and deletes them together. These are more than the
// limit, whatever the steps before did.
func (f *fleet) removeAll() {
	f.t.Helper()
	f.openClusters()
	for i := range names {
		f.createNamed(fmt.Sprintf("app-%d", i))
	}
	for _, name := range slices.Sorted(maps.Keys(f.apps)) {
		edit(f.t, f.apps[name], func(a *argocd.Application) {
			a.Labels[contract.PullLabel], a.Annotations[contract.ClusterAnnotation] = "true", f.clusters[0]
		})
	}
	f.wanted()
	for name, app := range f.apps {
		remove(f.t, app)
		delete(f.apps, name)
	}
	f.settle()
}

// settle waits until undesired works are removed or held. Otherwise the budget would hold all of them
// together, and the test would never reach the limit.
func (f *fleet) settle() {
	f.t.Helper()
	testkit.Eventually(f.t, "what is not wanted to be gone or held", func() error {
		f.agents()
		if n := f.surplus(); n > 0 && gauge(f.t, f.place.namespace) == 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// lost counts the works on the fleet's clusters that propagation deleted after their agents had begun with
// them. The budget does not count the others.
func (f *fleet) lost() int {
	for _, cluster := range f.clusters {
		var list workv1.ManifestWorkList
		if err := hub.client.List(context.Background(), &list, client.InNamespace(cluster)); err != nil {
			f.t.Fatal(err)
		}
		for i := range list.Items {
			f.see(&list.Items[i])
		}
	}
	return len(f.ended)
}

// see notes a terminating work.
func (f *fleet) see(work *workv1.ManifestWork) {
	if work.DeletionTimestamp != nil {
		f.ended[work.UID] = true
	}
}

// wanted waits until each desired delivery exists, whatever else exists.
func (f *fleet) wanted() {
	f.t.Helper()
	testkit.Eventually(f.t, "all that is wanted to be there", func() error {
		f.agents()
		have := f.all()
		for name, want := range f.model() {
			if !slices.Contains(have[name], want) {
				return fmt.Errorf("%s is %v, want %s: %v", name, have[name], want, storedConditions(f.t, f.apps[name]))
			}
		}
		return nil
	})
}

// all returns the deliveries on the hub in the form of the model, also several of one Application.
func (f *fleet) all() map[string][]string {
	have := map[string][]string{}
	for _, cluster := range f.clusters {
		var list workv1.ManifestWorkList
		if err := hub.client.List(context.Background(), &list, client.InNamespace(cluster)); err != nil {
			f.t.Fatal(err)
		}
		for i := range list.Items {
			app := content(f.t, &list.Items[i])
			have[app.Name] = append(have[app.Name], cluster+" "+marker(app))
		}
	}
	return have
}

// surplus counts the works that propagation should remove.
func (f *fleet) surplus() (n int) {
	want := f.model()
	for name, list := range f.all() {
		for _, each := range list {
			if want[name] != each && !f.stays(name, each) {
				n++
			}
		}
	}
	return n
}

// approve sets an approval of all removals, or removes it.
func (f *fleet) approve(yes bool) {
	f.t.Helper()
	value := any(nil)
	if yes {
		value = "approve until " + time.Now().Add(20*time.Hour).UTC().Format(time.RFC3339)
	}
	annotate(f.t, &corev1.Namespace{ObjectMeta: namespace(f.place.namespace).ObjectMeta}, value)
}
