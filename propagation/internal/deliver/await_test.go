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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// works returns the ManifestWorks of an Application on any cluster.
func works(t *testing.T, app *argocd.Application) []workv1.ManifestWork {
	t.Helper()
	var all workv1.ManifestWorkList
	if err := hub.client.List(context.Background(), &all); err != nil {
		t.Fatalf("list ManifestWorks: %v", err)
	}
	var own []workv1.ManifestWork
	for _, w := range all.Items {
		if w.Annotations[contract.HubNamespaceAnnotation] == app.Namespace && w.Annotations[contract.HubNameAnnotation] == app.Name {
			own = append(own, w)
		}
	}
	return own
}

// delivered waits for the one work of app on cluster.
func delivered(t *testing.T, app *argocd.Application, cluster string) *workv1.ManifestWork {
	t.Helper()
	var work workv1.ManifestWork
	testkit.Eventually(t, "the ManifestWork of "+app.Name+" on "+cluster, func() error {
		own := works(t, app)
		if len(own) != 1 || own[0].Namespace != cluster {
			return fmt.Errorf("there are %d works, conditions %v", len(own), said(t, app))
		}
		work = own[0]
		return nil
	})
	return &work
}

// withdrawn waits until app has no work.
func withdrawn(t *testing.T, app *argocd.Application) {
	t.Helper()
	testkit.Eventually(t, "the withdrawal of "+app.Name, func() error {
		own := works(t, app)
		for i := range own {
			if own[i].DeletionTimestamp != nil { // its agent removes what is to go, and its finalizer
				own[i].Finalizers = nil
				_ = hub.client.Update(context.Background(), &own[i]) // again at the next look
			}
		}
		if len(own) > 0 {
			return fmt.Errorf("there are %d works", len(own))
		}
		return nil
	})
}

// said returns our conditions on the stored Application, type to message.
func said(t *testing.T, app *argocd.Application) map[string]string {
	t.Helper()
	stored := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		t.Fatalf("get Application: %v", err)
	}
	var status struct {
		Conditions []struct{ Type, Message string } `json:"conditions"`
	}
	if len(stored.Status) > 0 {
		if err := json.Unmarshal(stored.Status, &status); err != nil {
			t.Fatalf("decode status: %v", err)
		}
	}
	found := map[string]string{}
	for _, c := range status.Conditions {
		found[c.Type] = c.Message
	}
	return found
}

// says waits until app has a condition of the type with the text in its message;
// an empty text: until it has none.
func says(t *testing.T, app *argocd.Application, conditionType, text string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s %q on %s", conditionType, text, app.Name), func() error {
		message, there := said(t, app)[conditionType]
		if there != (text != "") || !strings.Contains(message, text) {
			return fmt.Errorf("conditions are %v", said(t, app))
		}
		return nil
	})
}

// nextSecond waits until an object that is created now is younger than one of then:
// creation timestamps have seconds.
func nextSecond(t *testing.T, then metav1.Time) {
	t.Helper()
	testkit.Eventually(t, "the next second", func() error {
		if time.Now().Unix() <= then.Unix() {
			return errors.New("not yet")
		}
		return nil
	})
}
