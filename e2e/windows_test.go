// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// A sync window of the hub's project that names a ManagedCluster applies to that cluster and to no other. An
// operation waits for the window, and the hub reports that. The operation starts when the window permits it.
// Other changes of the Application wait for the operation.
func TestSyncWindows_applyToTheirCluster(t *testing.T) {
	alongside(t)
	onEachCluster(t, syncWindows)
}

func syncWindows(t *testing.T, cluster string) {
	t.Helper()
	name := "windowed-" + cluster
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}, Spec: windowed("elsewhere", false)}
	project.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.AppProjectKind))
	if err := fleet.Hub.Client.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	afterwards(t, "delete AppProject "+name, func(ctx context.Context) error {
		return client.IgnoreNotFound(fleet.Hub.Client.Delete(ctx, project))
	})
	setWindow := func(cluster string, manual bool) {
		t.Helper()
		body := fmt.Sprintf(`{"spec":%s}`, windowed(cluster, manual))
		if err := fleet.Hub.Client.Patch(t.Context(), project.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	a := create(t, name, cluster, false)
	patch(t, a, fmt.Sprintf(`{"spec":{"project":%q}}`, name))
	await(t, "the copy to be of the project", func() (bool, string) {
		c := &argocd.Application{}
		err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKeyFromObject(a), c)
		return err == nil && strings.Contains(string(c.Spec), name), fmt.Sprintf("%v %s", err, c.Spec)
	})
	const operation = `{"operation":{"initiatedBy":{"username":"e2e"},"sync":{"revision":"main"}}}`

	// The window of another cluster does not apply: the operation runs.
	patch(t, a, operation)
	awaitPhase(t, "hub", name, argocd.OperationSucceeded)
	awaitNoOperation(t, a)

	setWindow(cluster, false)
	awaitWindow(t, cluster, name, `"in-cluster","https://kubernetes.default.svc"]`)
	patch(t, a, operation)
	await(t, "the hub to say that a window is in the way", func() (bool, string) {
		a, _ := view.Application("hub", name)
		return a.Phase == argocd.OperationRunning && strings.Contains(a.PhaseMessage, "blocked by sync window"), a.String() + " " + a.PhaseMessage
	})
	patch(t, a, `{"spec":{"revisionHistoryLimit":7}}`)
	await(t, "the change to wait", func() (bool, string) {
		a, _ := view.Application("hub", name)
		for _, c := range a.Conditions {
			if strings.Contains(c.Message, "changes wait until cluster") {
				return true, ""
			}
		}
		return false, fmt.Sprint(a.Conditions)
	})

	// An administrator permits manual syncs. A change of the project never waits.
	setWindow(cluster, true)
	awaitPhase(t, "hub", name, argocd.OperationSucceeded)
	await(t, "the change to arrive", func() (bool, string) {
		c := managed(t, cluster, name)
		return strings.Contains(string(c.Spec), `"revisionHistoryLimit":7`), string(c.Spec)
	})
}

// windowed returns the spec of a project that always denies syncs on a cluster. If manual is true, it permits
// manual syncs.
func windowed(cluster string, manual bool) []byte {
	return fmt.Appendf(nil, `{"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"*"}],
		"syncWindows":[{"kind":"deny","schedule":"* * * * *","duration":"1h","clusters":[%q],"manualSync":%t}]}`, cluster, manual)
}

func awaitWindow(t *testing.T, cluster, project, want string) {
	t.Helper()
	await(t, "the window on "+cluster, func() (bool, string) {
		p := &argocd.AppProject{}
		err := fleet.Cluster(cluster).Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: project}, p)
		return err == nil && strings.Contains(string(p.Spec), want), fmt.Sprintf("%v %s", err, p.Spec)
	})
}

// awaitNoOperation waits until the hub Application has no operation any more.
func awaitNoOperation(t *testing.T, a *argocd.Application) {
	t.Helper()
	await(t, "the operation to be taken off the hub", func() (bool, string) {
		now := &argocd.Application{}
		err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(a), now)
		return err == nil && len(now.Operation) == 0, fmt.Sprintf("%v %s", err, now.Operation)
	})
}
