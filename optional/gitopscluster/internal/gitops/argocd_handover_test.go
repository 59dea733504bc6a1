// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd/delivery"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// An Argo CD that its GitOpsCluster gives up becomes that of another one that wants such an
// Argo CD there, in one write. It stays as it is; a restart changes nothing.
func TestArgoCD_isHandedOver(t *testing.T) {
	f, clusters := argoCDFleet(t, 1)
	cluster := clusters[0]
	first := f.placement("first", cluster)
	record, stop := f.start()
	wants := func(change func(*v1beta1.ArgoCDSpec)) func(*v1beta1.GitOpsCluster) {
		return func(o *v1beta1.GitOpsCluster) { withArgoCD(o); change(o.Spec.ArgoCD) }
	}
	same := wants(func(*v1beta1.ArgoCDSpec) {})
	a := f.gitops("a", "first", same)
	f.finds(cluster, false)
	before := f.workOn(cluster, "it delivers", delivers)
	f.runs(before)
	f.ready(a, 1)
	b := f.gitops("b", "all", same)
	f.says(b, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonClustersConflict)
	f.says(f.gitops("elsewhere", "all", wants(func(s *v1beta1.ArgoCDSpec) { s.Namespace = "elsewhere" })), v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonClustersConflict)

	to := func(o *v1beta1.GitOpsCluster, record *recorder, settled int) {
		t.Helper()
		f.ready(o, 1)
		w := f.workOn(cluster, "that of "+o.Name, func(w *workv1.ManifestWork) bool {
			return w.Annotations[argocd.OwnerAnnotation] == nameOf(o)
		})
		if w.UID != before.UID || w.Generation != before.Generation || !w.DeletionTimestamp.IsZero() {
			t.Errorf("the work is not as it was: %+v", w.ObjectMeta)
		}
		if wrote := writesOf(record, "manifestworks")[settled:]; len(wrote) != 1 || !strings.HasPrefix(wrote[0], "patch ") {
			t.Errorf("writes to give it to %s: %q", o.Name, wrote)
		}
	}
	settled := len(writesOf(record, "manifestworks"))
	f.decide(first) // a loses the cluster
	to(b, record, settled)
	f.ready(a, 0)

	stop()
	f.decide(first, cluster)
	testkit.Edit(t, hub.client, b, func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD = nil })
	record, _ = f.start()
	to(a, record, 0)
	f.ready(b, 1)

	testkit.Edit(t, hub.client, b, same)
	f.says(b, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonClustersConflict)
	settled = len(writesOf(record, "manifestworks"))
	if err := hub.client.Delete(context.Background(), a); err != nil {
		t.Fatal(err)
	}
	f.gone(a)
	to(b, record, settled)

	// The one that wants another one gets it when this one is gone.
	if err := hub.client.Delete(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	f.agentReleases(cluster)
	f.gone(b)
	f.workOn(cluster, "it looks anew", func(w *workv1.ManifestWork) bool { return looks(w) && w.UID != before.UID })
}

// One whose GitOpsCluster was removed by force gets another owner, which withdraws it in the end.
func TestArgoCD_withoutOwnerIsAdopted(t *testing.T) {
	f, clusters := argoCDFleet(t, 1)
	_, stop := f.start()
	a := f.gitops("a", "all", withArgoCD)
	f.finds(clusters[0], false)
	f.runs(f.workOn(clusters[0], "it delivers", delivers))
	f.ready(a, 1)
	stop()
	f.release(a)
	f.start()
	b := f.gitops("b", "all", withArgoCD)
	f.ready(b, 1)
	if err := hub.client.Delete(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	f.agentReleases(clusters[0])
	f.gone(b)
}

// A restart leaves the status of a delivery as it was, whatever it is, and that of a cluster
// whose Secret's name another writer has.
func TestRestart_leavesTheStatusOfArgoCD(t *testing.T) {
	f, clusters := argoCDFleet(t, 3)
	f.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: clustersecret.Name(clusters[2])}})
	record, stop := f.start()
	o := f.gitops("fleet", "all", withArgoCD)
	f.finds(clusters[0], false)
	f.runs(f.workOn(clusters[0], "it delivers", delivers))
	f.finds(clusters[1], true)
	conflict := f.gitops("second", "all", withArgoCD)
	f.says(conflict, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonClustersConflict)
	f.says(o, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonAlreadyThere)
	f.says(o, v1beta1.ConditionClustersRegistered, metav1.ConditionFalse, intent.ReasonSecretTaken)
	record.settled(t)
	stop()
	before := f.versions(o, conflict)
	record, _ = f.start()
	record.settled(t)
	if wrote := record.written(); len(wrote) > 0 || f.versions(o, conflict) != before {
		t.Errorf("a restart wrote %q", wrote)
	}
}

// versions are the resource versions of objects.
func (f *fleet) versions(list ...client.Object) (versions string) {
	f.t.Helper()
	for _, o := range list {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			f.t.Fatal(err)
		}
		versions += fmt.Sprintln(o.GetName(), o.GetResourceVersion())
	}
	return versions
}

// writesOf are the writes of one resource.
func writesOf(record *recorder, resource string) (list []string) {
	for _, w := range record.written() {
		if strings.Contains(w, " "+resource+" ") {
			list = append(list, w)
		}
	}
	return list
}
