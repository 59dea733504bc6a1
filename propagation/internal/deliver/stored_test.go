// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// older stands for an API server whose CRD does not know ignoreFields: they are
// dropped from what is written.
func older(c client.Client) client.Client {
	unknown := regexp.MustCompile(`,"ignoreFields":\[\{[^{}]*\}\]`)
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if work, ok := o.(*workv1.ManifestWork); ok {
				for _, config := range work.Spec.ManifestConfigs {
					if config.UpdateStrategy.ServerSideApply != nil {
						config.UpdateStrategy.ServerSideApply.IgnoreFields = nil
					}
				}
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			raw, err := patch.Data(o)
			if err != nil {
				return err
			}
			return c.Patch(ctx, o, client.RawPatch(patch.Type(), unknown.ReplaceAll(raw, nil)), opts...)
		},
	})
}

// A work that the API server stores otherwise than written is not written again,
// be it by the next process; one that another writer edits is.
func TestStoredOtherwise(t *testing.T) {
	first := startWith(t, older)
	p := newPlace(t)
	created, updated := p.deploy("created"), p.deploy("updated")
	delivered(t, created, p.cluster)
	delivered(t, updated, p.cluster)
	edit(t, updated, func(a *argocd.Application) { a.Labels["new"] = "label" })
	testkit.Eventually(t, "the edit", func() error { return carries(t, updated, `"new":"label"`) })
	noted := func(app *argocd.Application) error {
		work := works(t, app)[0]
		if len(work.Spec.ManifestConfigs[1].UpdateStrategy.ServerSideApply.IgnoreFields) > 0 {
			t.Fatal("the API server knows the field")
		}
		hash, err := payload.SpecHash(&work.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if note := work.Annotations[contract.StoredSpecAnnotation]; !strings.HasSuffix(note, "/"+hash) {
			return fmt.Errorf("the note is %q, the stored spec %s", note, hash)
		}
		return nil
	}
	for _, app := range []*argocd.Application{created, updated} {
		testkit.Eventually(t, "the note on the work of "+app.Name, func() error { return noted(app) })
	}
	first.stop()
	second := startWith(t, older)
	delivered(t, p.deploy("last"), p.cluster)
	for _, request := range second.requests.in(p.namespace, p.cluster) {
		if strings.Contains(request, "created") || strings.Contains(request, "updated") {
			t.Errorf("the restart made the request %s", request)
		}
	}
	edit(t, &works(t, updated)[0], func(w *workv1.ManifestWork) {
		last := &w.Spec.Workload.Manifests[len(w.Spec.Workload.Manifests)-1]
		last.Raw = []byte(strings.Replace(string(last.Raw), `"path":"guestbook"`, `"path":"foreign"`, 1))
	})
	testkit.Eventually(t, "the repair", func() error {
		if err := carries(t, updated, `"path":"guestbook"`); err != nil {
			return err
		}
		return noted(updated)
	})
}
