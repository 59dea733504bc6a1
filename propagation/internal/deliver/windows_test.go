// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func windowsSpec(windows string) json.RawMessage {
	return json.RawMessage(`{"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}],"syncWindows":` + windows + `}`)
}

// The windows of the default project stay on the hub. An Application that one of them is
// about says so, in the Argo CD namespace and outside it, and not when it is about others.
func TestWindowsOfTheDefaultProject(t *testing.T) {
	argo, team := newPlace(t), newPlace(t)
	start(t, func(o *Options) { o.ArgoCDNamespace = argo.namespace })
	here, there := argo.deploy("here"), team.deploy("there")
	for app, cluster := range map[*argocd.Application]string{here: argo.cluster, there: team.cluster} {
		delivered(t, app, cluster)
	}
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: argocd.DefaultProject}, Spec: windowsSpec(`[{"kind":"deny","clusters":["` + argo.cluster + `","` + team.cluster + `"]}]`)}
	argo.create(project)
	says(t, here, policy.WarningCondition, "sync windows")
	says(t, there, policy.WarningCondition, "choose another project")
	edit(t, project, func(p *argocd.AppProject) {
		p.Spec = windowsSpec(`[{"kind":"deny","clusters":["` + team.cluster + `"]}]`)
	})
	says(t, here, policy.WarningCondition, "")
	says(t, there, policy.WarningCondition, "sync windows")
	edit(t, project, func(p *argocd.AppProject) { p.Spec = windowsSpec(`[]`) })
	says(t, there, policy.WarningCondition, "")
}

// In a delivered project the windows of its cluster name it as its own Argo CD does, too,
// and the project follows the hub's.
func TestWindowsAreDelivered(t *testing.T) {
	argo := newPlace(t)
	start(t, func(o *Options) { o.ArgoCDNamespace = argo.namespace })
	project := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "windowed"}, Spec: windowsSpec(`[{"kind":"deny","clusters":["` + argo.cluster + `"]}]`)}
	argo.create(project)
	app := argo.deploy("windowed", projectIs("windowed"))
	has := func(want string) {
		t.Helper()
		testkit.Eventually(t, "the windows "+want, func() error {
			for _, w := range works(t, app) {
				for _, m := range w.Spec.Workload.Manifests {
					if strings.Contains(string(m.Raw), `"syncWindows":`+want) {
						return nil
					}
				}
			}
			return fmt.Errorf("the works are %d", len(works(t, app)))
		})
	}
	has(`[{"clusters":["` + argo.cluster + `","in-cluster","https://kubernetes.default.svc"],"kind":"deny"}]`)
	edit(t, project, func(p *argocd.AppProject) {
		p.Spec = windowsSpec(`[{"kind":"deny","clusters":["elsewhere"]},{"applications":["*"],"kind":"allow"}]`)
	})
	has(`[{"clusters":["elsewhere"],"kind":"deny"},{"applications":["*"],"kind":"allow"}]`)
	if m := said(t, app); len(m) > 0 {
		t.Errorf("its windows are delivered, and it says %v", m)
	}
}
