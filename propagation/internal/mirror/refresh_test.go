// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/refreshes"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const refreshID = "refresh-0123456789"

// refreshing is an Application that asks for a refresh, and its work, which carries it.
func refreshing(f *fleet) (*argocd.Application, *workv1.ManifestWork) {
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster, func(a *argocd.Application) {
		a.Annotations[argocd.RefreshAnnotation], a.Annotations[argocd.HydrateAnnotation] = "normal", "normal"
		a.Annotations["example.com/other"] = "kept"
	})
	work := f.work(app, cluster)
	work.Annotations[contract.RequestAnnotation] = refreshID
	if err := hub.client.Update(context.Background(), work); err != nil {
		f.t.Fatal(err)
	}
	return app, work
}

// comparing is healthy before the managed cluster has compared for the refresh; compared
// is after.
func comparing() []string { return append(compared(), contract.FeedbackRefresh, "normal") }
func compared() []string {
	return append(slices.Clone(healthy), contract.FeedbackRequest, refreshID)
}

// annotations are what the stored Application has beside what the test's has always.
func annotations(t *testing.T, app *argocd.Application) string {
	var list []string
	for name := range stored(t, app).Annotations {
		if name != contract.ClusterAnnotation && name != argocd.SkipReconcileAnnotation {
			list = append(list, name[strings.Index(name, "/")+1:])
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// A refresh leaves with the status that it has led to, in one write, and not before the
// managed cluster has compared.
func TestRefreshLeavesWithItsStatus(t *testing.T) {
	f := newFleet(t)
	sent := &refreshes.Memory{}
	writes, _ := start(t, Options{Refreshes: sent}, nil)
	app, work := refreshing(f)
	says(t, app, "Unknown/Unknown@")
	sent.Send(client.ObjectKeyFromObject(app), refreshID)
	report(t, work, comparing()...)
	says(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	if got := annotations(t, app); got != "hydrate other refresh" {
		t.Errorf("before it has compared: %s", got)
	}
	before := writes.Load()
	next := compared()
	next[slices.Index(next, "53e28ff2")] = "a01b2c3d"
	report(t, work, next...)
	says(t, app, "Healthy/Synced@a01b2c3d Succeeded")
	if got := annotations(t, app); got != "other" {
		t.Errorf("after it has compared: %s", got)
	}
	if n := writes.Load() - before; n != 1 {
		t.Errorf("%d writes", n)
	}
	if id, ended, err := sent.Of(app); id != "" || !ended || err != nil {
		t.Errorf("of the version before: got %q, %t, %v, want one that has been", id, ended, err)
	}
}

// A refresh that this process has not sent may be a later one than the cluster speaks of.
func TestRefreshOfAnotherProcessStays(t *testing.T) {
	f := newFleet(t)
	start(t, Options{Refreshes: &refreshes.Memory{}}, nil)
	app, work := refreshing(f)
	report(t, work, compared()...)
	says(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	if got := annotations(t, app); got != "hydrate other refresh" {
		t.Errorf("it has %s", got)
	}
}

// One that delivery takes off at that moment is left to it, and one whose patch failed is
// under way again, or no longer known.
func TestRefreshAcrossFailures(t *testing.T) {
	for name, c := range map[string]struct {
		taken   bool
		refused error
		left    string
	}{
		"delivery takes it off": {taken: true, left: "hydrate other refresh"},
		"conflict":              {refused: apierrors.NewConflict(workv1.Resource("applications"), "guestbook", errInjected), left: "other"},
		"error":                 {refused: errInjected, left: "hydrate other refresh"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			app, work := refreshing(f)
			sent, key := &refreshes.Memory{}, client.ObjectKeyFromObject(app)
			sent.Send(key, refreshID)
			if c.taken && sent.End(key, refreshID, app.ResourceVersion) != nil {
				t.Fatal("it was taken off before")
			}
			report(t, work, compared()...)
			var once sync.Once
			start(t, Options{Refreshes: sent}, func(to client.WithWatch) client.Client {
				return interceptor.NewClient(to, interceptor.Funcs{
					Patch: func(ctx context.Context, to client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) (err error) {
						once.Do(func() { err = c.refused })
						if err != nil {
							return err
						}
						return to.Patch(ctx, o, p, opts...)
					},
				})
			})
			says(t, app, "Healthy/Synced@53e28ff2 Succeeded")
			if got := annotations(t, app); got != c.left {
				t.Errorf("it has %s, want %s", got, c.left)
			}
			if id, _, err := sent.Of(stored(t, app)); id != "" || apierrors.IsConflict(err) != c.taken {
				t.Errorf("%s is still known, %v", id, err)
			}
		})
	}
}
