// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func (f *fleet) create() {
	f.next++
	name := fmt.Sprintf("app-%d", f.r.IntN(names))
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
		return // the one before waits for its agent
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

// remake gives an Application another UID: its finalizers are taken off, it is
// deleted, and made again at once.
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

// restore gives a good part of the Applications another UID while propagation is
// down, as a restore from a backup does, and looks whether all keep their works.
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

// restart stops propagation, when it runs, and starts it anew.
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
	}, guarded(f.hubNamespace), f.limits)
}

// kill ends propagation in the middle of whatever it does and leaves it dead for
// a few steps of the user.
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

// agents do what work agents do: finalize new works, apply what comes and release deleted
// works. One is slow now and then, and one refuses what it will apply later.
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
					_ = tryAnswer(client.ObjectKeyFromObject(work), applied, metav1.ConditionTrue, "", nil) // one that is gone is gone
				}
				continue
			}
			if err := hub.client.Update(context.Background(), work); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				f.t.Fatal(err)
			}
		}
	}
}
