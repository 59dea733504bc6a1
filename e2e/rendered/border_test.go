// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// TestDestination_rejectsAForeignCluster checks that Argo CD rejects a cluster that the project does not list, and writes
// nothing for it.
func TestDestination_rejectsAForeignCluster(t *testing.T) {
	t.Parallel()
	const foreign = "cluster3"
	must(t, fleet.Hub.Apply(t.Context(), object("v1", "Namespace", "", foreign)))
	a := deploy(t, "foreign", foreign, plugin("guestbook", "namespace", "guestbook"))
	awaitCondition(t, a, "do not match any of the allowed destinations in project 'guestbook-rendered'")
	works := &workv1.ManifestWorkList{}
	must(t, fleet.Hub.Client.List(t.Context(), works, client.InNamespace(foreign)))
	if len(works.Items) > 0 {
		t.Errorf("%d ManifestWorks are written for a foreign cluster", len(works.Items))
	}
}

// TestPolicy_rejectsRawManifestWorks commits ManifestWorks without the plugin. The admission policy rejects each of them: a work
// that takes over another controller's work, a work with the labels of a pulled Application, and a work
// without the executor.
func TestPolicy_rejectsRawManifestWorks(t *testing.T) {
	t.Parallel()
	cluster := fleet.Managed[0].Name
	addon := work(cluster, "addon")
	addon.Object["spec"] = map[string]any{"workload": map[string]any{}}
	must(t, fleet.Hub.Apply(t.Context(), addon))
	t.Cleanup(func() { must(t, fleet.Hub.Client.Delete(context.WithoutCancel(t.Context()), addon)) })
	const rendered = contract.RenderedLabel + `: "true"`
	const executor = "executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: rendered-applications, name: deployer}}}"
	raw := func(name, labels, executor string) string {
		return "{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: " + name + ", labels: {" + labels + "}}, spec: {workload: {manifests: []}, " + executor + "}}"
	}
	cases := map[string]struct{ work, refusal string }{
		"addon":    {raw("addon", rendered, executor), "belongs to another controller"},
		"disguise": {raw("disguise", rendered+", "+contract.PullLabel+`: "true"`, executor), "pulled Applications"},
		"mighty":   {raw("mighty", rendered, ""), "want the executor rendered-applications/deployer"},
	}
	for name, c := range cases {
		commitFiles(t, map[string]string{"raw-" + name + "/work.yaml": c.work})
		a := deploy(t, "raw-"+name, cluster, "path: raw-"+name)
		awaitObject(t, fleet.Hub, a, func(o *unstructured.Unstructured) (bool, string) {
			operation, _, _ := unstructured.NestedMap(o.Object, "status", "operationState")
			saw := fmt.Sprint(operation)
			return strings.Contains(saw, c.refusal), saw
		})
	}
	if err := fleet.Hub.Client.Get(t.Context(), client.ObjectKeyFromObject(addon), addon); err != nil || len(addon.GetLabels()) > 0 {
		t.Errorf("the add-on's work: %v, labels %v", err, addon.GetLabels())
	}
	missing(t, work(cluster, "disguise"))
	missing(t, work(cluster, "mighty"))
}
