// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestDelivers(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	if want := contract.WorkName("guestbook", string(app.UID)); work.Name != want {
		t.Errorf("the work is called %s, want %s", work.Name, want)
	}
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"other"},"destination":{"namespace":"guestbook"}}`)
	})
	testkit.Eventually(t, "the edit in the work", func() error { return carries(t, app, `"path":"other"`) })
	remove(t, app)
	withdrawn(t, app)
}

func TestKeepsFinalizerUntilGone(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = []string{"example.com/agent"} })
	remove(t, app)
	says(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = nil })
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

func gone(o client.Object) error {
	err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it is still there: %w", errors.Join(errors.New("found"), err))
}

func carries(t *testing.T, app *argocd.Application, text string) error {
	for _, w := range works(t, app) {
		manifests := w.Spec.Workload.Manifests
		if strings.Contains(string(manifests[len(manifests)-1].Raw), text) {
			return nil
		}
	}
	return fmt.Errorf("no work has %s", text)
}
