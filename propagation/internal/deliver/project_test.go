// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// propagation adds the restrictions of the hub's global projects to the delivered AppProject. It updates them
// after a change of the setting or of a global project, and after a restart with a refused Application.
func TestGlobalProjects_areDelivered(t *testing.T) {
	argo := newPlace(t)
	options := func(o *Options) { o.ArgoCDNamespace = argo.namespace }
	first := start(t, options)
	global := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "base"}, Spec: []byte(`{"namespaceResourceBlacklist":[{"group":"","kind":"Secret"}]}`)}
	argo.create(global)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: argocd.ConfigMapName}, Data: map[string]string{
		"url": "https://argocd.example.com", argocd.GlobalProjectsKey: "- projectName: base\n  labelSelector: {matchLabels: {tier: shop}}\n",
	}}
	argo.create(settings)
	argo.create(&argocd.AppProject{
		ObjectMeta: metav1.ObjectMeta{Namespace: argo.namespace, Name: "shop", Labels: map[string]string{"tier": "shop"}},
		Spec:       []byte(`{"sourceNamespaces":["*"],"destinations":[{"server":"*","namespace":"*"}]}`),
	})
	app := argo.deploy("inherits", projectIs("shop"))
	forbids := func(want ...string) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("the delivered AppProject to forbid %v", want), func() error {
			for _, w := range works(t, app) {
				for _, m := range w.Spec.Workload.Manifests {
					if !strings.Contains(string(m.Raw), `"kind":"AppProject"`) {
						continue
					}
					for _, kind := range []string{"Secret", "ConfigMap"} {
						if found := strings.Contains(string(m.Raw), `"kind":"`+kind+`"`); found != strings.Contains(strings.Join(want, " "), kind) {
							return fmt.Errorf("it is %s", m.Raw)
						}
					}
					return nil
				}
			}
			return errors.New("there is none")
		})
	}
	forbids("Secret")
	edit(t, global, func(p *argocd.AppProject) {
		p.Spec = []byte(`{"namespaceResourceBlacklist":[{"group":"","kind":"Secret"},{"group":"","kind":"ConfigMap"}]}`)
	})
	forbids("Secret", "ConfigMap")
	edit(t, settings, func(c *corev1.ConfigMap) { delete(c.Data, argocd.GlobalProjectsKey) })
	forbids()

	// If the setting is invalid, propagation does not update the ManifestWork, and the delivered AppProject
	// stays.
	edit(t, settings, func(c *corev1.ConfigMap) { c.Data[argocd.GlobalProjectsKey] = "{" })
	awaitCondition(t, app, policy.ErrorCondition, "globalProjects of ConfigMap argocd-cm")
	forbids()
	first.stop()
	edit(t, settings, func(c *corev1.ConfigMap) {
		c.Data[argocd.GlobalProjectsKey] = "- projectName: base\n  labelSelector: {matchLabels: {tier: shop}}\n"
	})
	edit(t, app, func(a *argocd.Application) {
		a.Annotations["apps.open-cluster-management.io/management-policy"] = "nonsense"
	})
	start(t, options)
	forbids("Secret", "ConfigMap")
	awaitCondition(t, app, policy.ErrorCondition, "nonsense")
}
