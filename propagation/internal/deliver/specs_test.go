// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A tenant's large specs that the cache has no room for are delivered all the same, and so is each
// change of them.
func TestDeliver_specsThatTheCacheLeavesOut(t *testing.T) {
	const applications, size = 36, 480 << 10 // 17 MiB
	p := newPlace(t)
	running := start(t)
	values := func(text string) func(*argocd.Application) {
		return func(a *argocd.Application) {
			a.Spec = fmt.Appendf(nil, `{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook","helm":{"values":%q}},"destination":{"namespace":"guestbook"}}`,
				text+strings.Repeat("x", size))
		}
	}
	apps := make([]*argocd.Application, 0, applications)
	for i := range applications {
		apps = append(apps, p.deploy(fmt.Sprint("large-", i), values(fmt.Sprint("first-", i))))
	}
	has := func(app *argocd.Application, text string) {
		t.Helper()
		testkit.Eventually(t, app.Name+" to be delivered", func() error {
			work := &workv1.ManifestWork{}
			if err := hub.client.Get(t.Context(), client.ObjectKey{Namespace: p.cluster, Name: payload.WorkNames(app)[0]}, work); err != nil {
				return err
			}
			var spec struct {
				Source struct{ Helm struct{ Values string } }
			}
			if err := json.Unmarshal(content(t, work).Spec, &spec); err != nil || !strings.HasPrefix(spec.Source.Helm.Values, text+"x") || len(spec.Source.Helm.Values) != size+len(text) {
				return fmt.Errorf("it has %d bytes of values, which begin with %.20q: %w", len(spec.Source.Helm.Values), spec.Source.Helm.Values, err)
			}
			return nil
		})
	}
	var left []int
	for i, app := range apps {
		has(app, fmt.Sprint("first-", i))
		cached := &argocd.Application{}
		if err := running.cached.cache.Get(t.Context(), client.ObjectKeyFromObject(app), cached); err != nil {
			t.Fatal(err)
		}
		if manifestcache.OmittedSpec(cached.Spec) > 0 {
			left = append(left, i)
		}
	}
	if counted := sum(t, "propagation_specs_omitted"); len(left) == 0 || int(counted) < len(left) {
		t.Fatalf("the specs of %d Applications are left out, %v are counted", len(left), counted)
	}
	for _, i := range left {
		edit(t, apps[i], values(fmt.Sprint("other-", i)))
		has(apps[i], fmt.Sprint("other-", i))
	}
	for _, app := range apps {
		remove(t, app)
	}
	testkit.Eventually(t, "what is gone to be counted no more", func() error {
		if n := sum(t, "propagation_specs_omitted"); n > 0 {
			return fmt.Errorf("%v are", n)
		}
		return nil
	})
}
