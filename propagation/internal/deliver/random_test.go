// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/steps"
)

// names is the number of Application names. The test uses a name again after a deletion.
const names = 25

// fleet has the changes of the user, which are the model.
type fleet struct {
	t        *testing.T
	r        *rand.Rand
	place    *place
	clusters []string
	// present are the existing clusters, and bound those that the namespace may use.
	present, bound map[string]bool
	// apps are the Applications that the user has not deleted, with the spec that the API server stored.
	apps map[string]*argocd.Application
	next int

	running      *propagation
	hubNamespace string
	// earlier has the requests of earlier processes. limits changes the deletion budget.
	earlier []*requests
	limits  func(*Options)
	// ended are the works that were deleted after their agent had begun with them.
	ended map[types.UID]bool
	// dying makes every write fail, as in a killed process.
	dying atomic.Bool
}

// model returns the desired deliveries: the cluster and the path of each Application.
func (f *fleet) model() map[string]string {
	want := map[string]string{}
	for name, app := range f.apps {
		cluster := app.Annotations[contract.ClusterAnnotation]
		if app.Labels[contract.PullLabel] == "true" && f.present[cluster] && f.bound[cluster] {
			want[name] = cluster + " " + marker(app)
		}
	}
	return want
}

// stays reports whether an undesired delivery stays, because its Application is refused and the present
// cluster and namespace are permitted.
func (f *fleet) stays(name, have string) bool {
	name, _, _ = strings.Cut(name, " ")
	app := f.apps[name]
	existing, _, _ := strings.Cut(have, " ")
	if app == nil || !f.bound[existing] {
		return false
	}
	cluster := app.Annotations[contract.ClusterAnnotation]
	switch app.Labels[contract.PullLabel] {
	case "nonsense":
		return true
	case "true":
		return cluster != "" && (!f.present[cluster] || !f.bound[cluster])
	}
	return false
}

// marker is the part of a spec that the steps change.
func marker(app *argocd.Application) string {
	var spec struct {
		Source struct{ Path string } `json:"source"`
	}
	_ = json.Unmarshal(app.Spec, &spec)
	return spec.Source.Path
}

func TestRandomSteps_endWithTheDesiredWorks(t *testing.T) {
	r, n := steps.Random(t, 300)
	f := &fleet{t: t, r: r, place: newPlace(t), present: map[string]bool{}, bound: map[string]bool{}, apps: map[string]*argocd.Application{}, limits: func(*Options) {}, ended: map[types.UID]bool{}}
	f.clusters = []string{f.place.cluster, newCluster(t), newCluster(t)}
	for _, c := range f.clusters {
		f.present[c], f.bound[c] = true, true
	}
	f.bind()
	// The budget checks each removal. An approval allows all of them.
	f.hubNamespace = newHubNamespace(t)
	annotate(t, namespace(f.place.namespace), "approve until "+time.Now().Add(20*time.Hour).UTC().Format(time.RFC3339))
	f.restart()
	for i := range n {
		f.step()
		if i%50 == 49 {
			f.rest()
			f.restore()
		}
		if i%3 == 0 {
			sameFacts(t, f.running, f.anyKey())
		}
	}
	f.rest()
	for i := range names {
		sameFacts(t, f.running, types.NamespacedName{Namespace: f.place.namespace, Name: fmt.Sprintf("app-%d", i)})
	}
}

// anyKey returns the key of an Application that may not exist.
func (f *fleet) anyKey() types.NamespacedName {
	return types.NamespacedName{Namespace: f.place.namespace, Name: fmt.Sprintf("app-%d", f.r.IntN(names))}
}

func (f *fleet) step() {
	switch n := f.r.IntN(100); {
	case n < 22:
		f.create()
	case n < 25:
		if app := f.some(); app != nil {
			f.remake(app)
		}
	case n < 40:
		f.edit(func(a *argocd.Application) {
			a.Spec = json.RawMessage(strings.Replace(string(a.Spec), marker(a), fmt.Sprintf("path-%d", f.r.IntN(1000)), 1))
		})
	case n < 52:
		f.edit(func(a *argocd.Application) {
			a.Labels[contract.PullLabel] = []string{"true", "false", "true", "nonsense"}[f.r.IntN(4)]
		})
	case n < 57:
		f.edit(func(a *argocd.Application) { delete(a.Annotations, contract.ClusterAnnotation) })
	case n < 72:
		f.edit(func(a *argocd.Application) {
			a.Annotations[contract.ClusterAnnotation] = f.clusters[f.r.IntN(len(f.clusters))]
		})
	case n < 84:
		f.delete()
	case n < 90:
		c := f.clusters[f.r.IntN(len(f.clusters))]
		f.bound[c] = !f.bound[c]
		f.bind()
	case n < 94:
		f.flipCluster(f.clusters[f.r.IntN(len(f.clusters))])
	case n < 97:
		f.restart()
	default:
		f.kill()
	}
	if f.r.IntN(3) == 0 {
		f.agents()
	}
}

// rest waits until the works match the model, and then checks the Applications.
func (f *fleet) rest() {
	f.t.Helper()
	testkit.Eventually(f.t, "the works to be what the model says", func() error {
		f.agents()
		have, want := f.have(), f.model()
		maps.DeleteFunc(have, func(name, each string) bool { return want[name] != each && f.stays(name, each) })
		if diff := cmp.Diff(want, have); diff != "" {
			return fmt.Errorf("(-want +have)\n%s", diff)
		}
		return nil
	})
	testkit.Eventually(f.t, "deleted Applications to be gone", func() error {
		f.agents()
		var list argocd.ApplicationList
		if err := hub.client.List(context.Background(), &list, client.InNamespace(f.place.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			stored := &list.Items[i]
			mine := f.apps[stored.Name]
			switch {
			case mine == nil && stored.Labels[contract.PullLabel] != "true":
				stored.Finalizers = nil // no longer pulled, so the user removes the finalizers
				if err := hub.client.Update(context.Background(), stored); client.IgnoreNotFound(err) != nil {
					return err
				}
				return errors.New("an unlabelled one was there")
			case mine == nil:
				return fmt.Errorf("%s is still there: %v", stored.Name, storedConditions(f.t, stored))
			case string(stored.Spec) != string(mine.Spec):
				f.t.Fatalf("the spec of %s is %s, the user wrote %s", stored.Name, stored.Spec, mine.Spec)
			}
		}
		return nil
	})
}

// have returns the deliveries on the hub in the form of the model.
func (f *fleet) have() map[string]string {
	have := map[string]string{}
	for _, cluster := range f.clusters {
		var list workv1.ManifestWorkList
		if err := hub.client.List(context.Background(), &list, client.InNamespace(cluster)); err != nil {
			f.t.Fatal(err)
		}
		for i := range list.Items {
			app := content(f.t, &list.Items[i])
			name := app.Name
			if _, twice := have[name]; twice {
				name += " once more"
			}
			have[name] = cluster + " " + marker(app)
		}
	}
	return have
}

// content returns the Application that a work delivers.
func content(t *testing.T, work *workv1.ManifestWork) *argocd.Application {
	t.Helper()
	manifests := work.Spec.Workload.Manifests
	app := &argocd.Application{}
	if err := json.Unmarshal(manifests[len(manifests)-1].Raw, app); err != nil {
		t.Fatal(err)
	}
	return app
}

func (f *fleet) create() {
	f.next++
	f.createNamed(fmt.Sprintf("app-%d", f.r.IntN(names)))
}

// createNamed creates an Application, unless it exists.
func (f *fleet) createNamed(name string) {
	if f.apps[name] != nil {
		return
	}
	app := f.place.app(name, func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"path":"guestbook"`, fmt.Sprintf(`"path":"new-%d"`, f.next), 1))
		a.Annotations[contract.ClusterAnnotation] = f.clusters[f.r.IntN(len(f.clusters))]
		if f.r.IntN(2) == 0 {
			a.Finalizers = []string{argocd.ResourcesFinalizer}
		}
	})
	err := hub.client.Create(context.Background(), app)
	if apierrors.IsAlreadyExists(err) {
		return // the earlier Application waits for its agent
	}
	if err != nil {
		f.t.Fatalf("create %s: %v", name, err)
	}
	f.apps[name] = app
}

func (f *fleet) some() *argocd.Application {
	if len(f.apps) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(f.apps))
	return f.apps[names[f.r.IntN(len(names))]]
}

func (f *fleet) edit(change func(*argocd.Application)) {
	if app := f.some(); app != nil {
		edit(f.t, app, change)
	}
}

func (f *fleet) delete() {
	if app := f.some(); app != nil {
		remove(f.t, app)
		delete(f.apps, app.Name)
	}
}

// remake gives an Application another UID: it removes its finalizers, deletes it and re-creates it
// at once.
func (f *fleet) remake(app *argocd.Application) {
	edit(f.t, app, func(a *argocd.Application) { a.Finalizers = nil })
	remove(f.t, app)
	next := f.place.app(app.Name)
	next.Labels, next.Annotations, next.Spec = app.Labels, app.Annotations, app.Spec
	if err := hub.client.Create(context.Background(), next); err != nil {
		f.t.Fatalf("create %s again: %v", app.Name, err)
	}
	f.apps[app.Name] = next
}

// restore gives many Applications another UID while propagation is down, as a restore from a backup
// does, and checks that all keep their works.
func (f *fleet) restore() {
	f.t.Helper()
	before := f.uids()
	f.running.stop()
	for _, name := range slices.Sorted(maps.Keys(f.apps)) {
		if f.r.IntN(2) == 0 {
			f.remake(f.apps[name])
		}
	}
	f.restart()
	f.rest()
	testkit.Eventually(f.t, "the restored Applications to have bound their works", func() error {
		for name := range f.model() {
			own := works(f.t, f.apps[name])
			if len(own) != 1 {
				return fmt.Errorf("%s has %d works", name, len(own))
			}
			app := f.apps[name]
			if !slices.Contains(payload.WorkNames(app), own[0].Name) && own[0].Annotations[contract.HubUIDAnnotation] != string(app.UID) {
				return fmt.Errorf("%s has not bound %s", name, own[0].Name)
			}
		}
		return nil
	})
	if diff := cmp.Diff(before, f.uids()); diff != "" {
		f.t.Fatalf("works were replaced when their Applications got other UIDs (-before +after)\n%s", diff)
	}
}

// uids returns the UIDs of the works, by Application.
func (f *fleet) uids() map[string]string {
	uids := map[string]string{}
	for name := range f.model() {
		for _, work := range works(f.t, f.apps[name]) {
			uids[name] += string(work.UID)
		}
	}
	return uids
}

func (f *fleet) bind() {
	var clusters []string
	for _, c := range f.clusters {
		if f.bound[c] {
			clusters = append(clusters, c)
		}
	}
	f.place.bind(clusters...)
}

func (f *fleet) flipCluster(name string) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	if f.present[name] = !f.present[name]; f.present[name] {
		f.place.create(cluster)
	} else {
		remove(f.t, cluster)
	}
}

// restart stops propagation, if it is running, and starts it again.
func (f *fleet) restart() {
	if f.running != nil {
		f.running.stop()
		f.earlier = append(f.earlier, f.running.requests)
	}
	f.dying.Store(false)
	die := func() error {
		if f.dying.Load() {
			return errors.New("killed")
		}
		return nil
	}
	f.running = startWith(f.t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := die(); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if err := die(); err != nil {
					return err
				}
				return c.Patch(ctx, o, patch, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := die(); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		})
	}, withBudget(f.hubNamespace), f.limits)
}

// kill makes all writes of propagation fail, and restarts propagation after a few steps of the user.
func (f *fleet) kill() {
	f.dying.Store(true)
	for range f.r.IntN(5) {
		f.create()
		f.edit(func(a *argocd.Application) {
			a.Annotations[contract.ClusterAnnotation] = f.clusters[f.r.IntN(len(f.clusters))]
		})
		f.delete()
	}
	f.restart()
}

// agents do the work of the clusters' agents: they finalize new works, apply works, and release deleted
// works. An agent sometimes does nothing, and sometimes cannot apply a work at first.
func (f *fleet) agents() {
	for _, cluster := range f.clusters {
		var list workv1.ManifestWorkList
		if err := hub.client.List(context.Background(), &list, client.InNamespace(cluster)); err != nil {
			f.t.Fatal(err)
		}
		for i := range list.Items {
			work := &list.Items[i]
			f.see(work)
			switch {
			case work.DeletionTimestamp != nil:
				work.Finalizers = nil
			case len(work.Finalizers) == 0:
				work.Finalizers = []string{workv1.ManifestWorkFinalizer}
			default:
				if appliedAt(work) != metav1.ConditionTrue && f.r.IntN(4) > 0 {
					applied := []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionTrue}[f.r.IntN(3)]
					_ = tryAnswer(client.ObjectKeyFromObject(work), applied, metav1.ConditionTrue, "", nil) // the work may be gone
				}
				continue
			}
			if err := hub.client.Update(context.Background(), work); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				f.t.Fatal(err)
			}
		}
	}
}
