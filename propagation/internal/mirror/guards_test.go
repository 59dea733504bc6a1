// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// patchChecker calls check with every patch and the resource version in it.
func patchChecker(check func(patch map[string]json.RawMessage, version string)) func(client.WithWatch) client.Client {
	return func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				var patch map[string]json.RawMessage
				var metadata struct{ ResourceVersion string }
				if data, err := p.Data(o); err == nil && json.Unmarshal(data, &patch) == nil && patch["metadata"] != nil {
					if err := json.Unmarshal(patch["metadata"], &metadata); err != nil {
						return err
					}
				}
				check(patch, metadata.ResourceVersion)
				return c.Patch(ctx, o, p, opts...)
			},
		})
	}
}

// Every patch names the version of the Application that was read, and changes only the status.
func TestWrite_isConditional(t *testing.T) {
	f := newFleet(t)
	var blind, wide, patches atomic.Int64
	start(t, Options{}, patchChecker(func(patch map[string]json.RawMessage, version string) {
		patches.Add(1)
		if version == "" {
			blind.Add(1)
		}
		if len(patch) != 2 || patch["status"] == nil {
			wide.Add(1)
		}
	}))
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	awaitStatus(t, app, "Unknown/Unknown@")
	work := f.work(app, cluster.Name)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	available(t, cluster, "False")
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
	testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
		delete(a.Labels, contract.PullLabel)
		delete(a.Annotations, argocd.SkipReconcileAnnotation)
	})
	awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded")
	if blind.Load() > 0 || wide.Load() > 0 || patches.Load() < 4 {
		t.Errorf("of %d patches %d are unconditional and %d not of the status alone", patches.Load(), blind.Load(), wide.Load())
	}
}

// A stale cache loses nothing that another client wrote meanwhile.
func TestStaleCache_losesNoWriteOfOthers(t *testing.T) {
	const others = `{"type":"PullDeliveryWarning","message":"of another controller","lastTransitionTime":"2026-11-20T08:00:00Z"}`
	cases := map[string]struct {
		reason    string
		meanwhile func(t *testing.T, app *argocd.Application) *argocd.Application
		want      string
	}{
		"changed": {
			reason: "a condition of another controller stays",
			meanwhile: func(t *testing.T, app *argocd.Application) *argocd.Application {
				testkit.Edit(t, hub.client, app, func(a *argocd.Application) {
					a.Status = []byte(`{"health":{"status":"Healthy"},"conditions":[` + others + `]}`)
				})
				return app
			},
			want: "Healthy/Synced@53e28ff2 Succeeded PullDeliveryWarning SyncError",
		},
		"recreated": {
			reason: "an Application of the same name is another one",
			meanwhile: func(t *testing.T, app *argocd.Application) *argocd.Application {
				del(t, app)
				again := &argocd.Application{Spec: app.Spec, Status: []byte(`{"conditions":[` + others + `]}`)}
				again.Namespace, again.Name, again.Labels = app.Namespace, app.Name, app.Labels
				again.Annotations = map[string]string{contract.ClusterAnnotation: "nowhere"} // without skip-reconcile, so the hub's own Argo CD may write the status
				if err := hub.client.Create(context.Background(), again); err != nil {
					t.Fatal(err)
				}
				return again
			},
			want: "/@ PullDeliveryWarning",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			cluster := f.cluster().Name
			app := f.app("guestbook", cluster)
			work := f.work(app, cluster)
			report(t, work, append([]string{"conditionSyncError", "m"}, healthy...)...)
			old := stored(t, app)
			now := c.meanwhile(t, app)

			var reads, conflicts atomic.Int64
			reads.Store(3)
			start(t, Options{}, func(c client.WithWatch) client.Client {
				return interceptor.NewClient(c, interceptor.Funcs{
					Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
						if into, is := o.(*argocd.Application); is && key == client.ObjectKeyFromObject(old) && reads.Add(-1) >= 0 {
							old.DeepCopyInto(into)
							return nil
						}
						return c.Get(ctx, key, o, opts...)
					},
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
						err := c.Patch(ctx, o, p, opts...)
						if apierrors.IsConflict(err) {
							conflicts.Add(1)
						}
						return err
					},
				})
			})
			testkit.Eventually(t, "the end of the stale reads", func() error {
				if n := reads.Load(); n >= 0 {
					return fmt.Errorf("%d are left", n)
				}
				return nil
			})
			if s := awaitStatus(t, now, c.want); s.Conditions[0].Message != "of another controller" {
				t.Errorf("%s: conditions are %+v", c.reason, s.Conditions)
			}
			if conflicts.Load() == 0 {
				t.Errorf("%s: no stale patch was refused", c.reason)
			}
		})
	}
}

// After an outage of any length, the mirror retries every status within the longest wait.
func TestRetry_followsAnOutageOfAnyLength(t *testing.T) {
	const failures = 30 // controller-runtime's own waits for this many failures take a day
	f := newFleet(t)
	var left atomic.Int64
	left.Store(failures)
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, 20*time.Millisecond)
	start(t, Options{Backoff: backoff}, func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if left.Add(-1) >= 0 {
					return apierrors.NewInternalError(errors.New("etcd is away"))
				}
				return c.Patch(ctx, o, p, opts...)
			},
		})
	})
	cluster := f.cluster().Name
	app := f.app("guestbook", cluster)
	report(t, f.work(app, cluster), healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	if n := left.Load(); n >= 0 {
		t.Errorf("written with %d failures to come", n)
	}
}

// The default backoff waits at most the documented half minute.
func TestRetry_waitsAtMostHalfAMinute(t *testing.T) {
	o := Options{}.withDefaults()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	var longest time.Duration
	for range 50 {
		longest = max(longest, o.Backoff.When(request))
	}
	if longest != 30*time.Second {
		t.Errorf("the longest wait is %s", longest)
	}
}
