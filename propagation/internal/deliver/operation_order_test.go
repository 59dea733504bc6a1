// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func setPath(t *testing.T, app *argocd.Application, from, to string) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) {
		a.Spec = []byte(strings.Replace(string(a.Spec), `"path":"`+from+`"`, `"path":"`+to+`"`, 1))
	})
}

// An operation or refresh that replaces a running one runs after it.
func TestOperation_runsAfterTheOneItReplaces(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart-%t", restart), func(t *testing.T) {
			first := start(t)
			p := newPlace(t)
			app := p.deploy("guestbook")
			m := deliveredTo(t, app, p.cluster)
			edit(t, app, func(a *argocd.Application) {
				a.Operation, a.Annotations[argocd.RefreshAnnotation] = []byte(`{"sync":{"revision":"one"}}`), "normal"
			})
			sent(t, app, m)
			m.begin()
			m.report()
			edit(t, app, func(a *argocd.Application) {
				a.Operation, a.Annotations[argocd.RefreshAnnotation] = []byte(`{"initiatedBy":{"username":"admin"},"sync":{"revision":"two"}}`), "hard"
			})
			awaitCondition(t, app, policy.WarningCondition, "the new operation or refresh waits until cluster")
			if err := carries(t, app, `"revision":"one"`); err != nil {
				t.Errorf("the running operation was taken out of the work: %v", err)
			}
			if restart {
				first.stop()
				start(t)
				awaitCondition(t, app, policy.WarningCondition, "the new operation or refresh waits until cluster")
			}
			m.apply()
			m.end()
			m.report()
			testkit.Eventually(t, "the second operation", func() error {
				return errors.Join(carries(t, app, `"revision":"two"`), carries(t, app, `"`+argocd.RefreshAnnotation+`":"hard"`))
			})
			m.apply()
			m.begin()
			m.report()
			m.end()
			m.report()
			settledAgain(t, app, m)
			m.begin()
			if m.ran != 2 || m.refreshed != 2 {
				t.Errorf("the managed cluster ran %d operations and refreshed %d times", m.ran, m.refreshed)
			}
		})
	}
}

// If an unavailable cluster has not received an operation, a corrected spec does not wait for it. The
// operation runs once with the corrected spec when the cluster returns. Neither a restart nor a second
// operation changes that.
func TestOperation_delaysNoSpecOnAnUnavailableCluster(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	ask(t, app)
	testkit.Eventually(t, "the operation in the work", func() error { return carries(t, app, `"operation":`) })
	setPath(t, app, "guestbook", "mended")
	awaitCondition(t, app, policy.WarningCondition, "changes wait until cluster")
	available(t, p.cluster, metav1.ConditionUnknown, time.Now())
	testkit.Eventually(t, "the mended spec", func() error {
		return errors.Join(carries(t, app, `"path":"mended"`), carries(t, app, `"operation":`))
	})
	if storedConditions(t, app)[request.ClaimCondition] == "" {
		t.Error("the claim is gone")
	}
	edit(t, app, func(a *argocd.Application) {
		a.Operation = []byte(`{"initiatedBy":{"username":"admin"},"sync":{"revision":"two"}}`)
	})
	setPath(t, app, "mended", "again")
	testkit.Eventually(t, "the spec mended again", func() error {
		return errors.Join(carries(t, app, `"path":"again"`), carries(t, app, `"revision":"main"`))
	})
	first.stop()
	second := start(t)
	setPath(t, app, "again", "last")
	testkit.Eventually(t, "the spec after a restart", func() error {
		return errors.Join(carries(t, app, `"path":"last"`), carries(t, app, `"revision":"main"`))
	})
	m.apply()
	m.report()
	available(t, p.cluster, metav1.ConditionTrue, time.Now())
	m.begin()
	m.report()
	setPath(t, app, "last", "held")
	awaitCondition(t, app, policy.WarningCondition, "changes wait until cluster")
	available(t, p.cluster, metav1.ConditionUnknown, time.Now())
	m.end()
	m.report()
	testkit.Eventually(t, "the second operation", func() error { return carries(t, app, `"revision":"two"`) })
	m.apply()
	m.begin()
	m.report()
	m.end()
	m.report()
	settledAgain(t, app, m)
	m.begin()
	if m.ran != 2 {
		t.Errorf("the managed cluster ran %d operations", m.ran)
	}
	second.stop()
}

// A changed AppProject reaches a cluster during an operation, and the operation continues.
func TestOperation_delaysNoAppProject(t *testing.T) {
	p := newPlace(t)
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "tenant"}, Spec: sourceSpec("before")}
	p.create(project)
	start(t, func(o *Options) { o.ArgoCDNamespace = p.namespace })
	app := p.deploy("guestbook", projectIs("tenant"))
	m := deliveredTo(t, app, p.cluster)
	ask(t, app)
	sent(t, app, m)
	m.begin()
	m.report()
	edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("after") })
	inProject := func(text string) error {
		if raw := string(works(t, app)[0].Spec.Workload.Manifests[1].Raw); !strings.Contains(raw, text) {
			return fmt.Errorf("the project is %s", raw)
		}
		return nil
	}
	testkit.Eventually(t, "the project", func() error { return inProject("after") })
	awaitCondition(t, app, policy.WarningCondition, "")
	setPath(t, app, "guestbook", "edited")
	awaitCondition(t, app, policy.WarningCondition, "changes wait until cluster")
	edit(t, project, func(a *argocd.AppProject) { a.Spec = sourceSpec("last") })
	testkit.Eventually(t, "the project while the Application waits", func() error { return inProject("last") })
	if err := carries(t, app, `"path":"guestbook"`); err != nil {
		t.Errorf("the Application changed while it waits: %v", err)
	}
	m.apply()
	m.begin()
	m.end()
	m.report()
	testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"path":"edited"`) })
	settledAgain(t, app, m)
	m.begin()
	if m.ran != 1 {
		t.Errorf("the managed cluster ran %d operations", m.ran)
	}
	stored := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil || len(stored.Operation) > 0 {
		t.Errorf("the operation is still there: %v", err)
	}
}
