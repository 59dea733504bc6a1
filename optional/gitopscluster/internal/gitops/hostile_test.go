// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// fate returns the versions of all objects of a cluster and its GitOpsCluster, and of the Secrets that all
// agents share.
func (f *fleet) fate(cluster string, o *v1beta1.GitOpsCluster) map[string]string {
	f.t.Helper()
	fate := map[string]string{}
	for _, at := range []client.Object{
		&v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}},
		&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.WorkName}},
		&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.AddOnName}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: cluster + "-cluster-secret"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: agent.CASecretName}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: certificates.DefaultKeyNamespace, Name: certificates.KeyName(f.argocd)}},
	} {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(at), at); err != nil {
			f.t.Fatal(err)
		}
		fate[fmt.Sprintf("%T %s", at, at.GetName())] = string(at.GetUID()) + " " + at.GetResourceVersion()
	}
	return fate
}

// forge edits everything that the agents of a managed cluster may write, so that it names another cluster
// and another GitOpsCluster.
func (f *fleet) forge(cluster, other string, o *v1beta1.GitOpsCluster, works ...string) {
	f.t.Helper()
	forged := map[string]string{agent.OwnerAnnotation: nameOf(o), agent.ArgoNamespaceAnnotation: "elsewhere", contract.RegisteredByAnnotation: contract.RegisteredBy}
	yes := metav1.Condition{Status: metav1.ConditionTrue, Reason: "Forged", LastTransitionTime: metav1.Now()}
	for _, name := range works {
		w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name}}
		testkit.EditStatus(f.t, hub.client, w, func(w *workv1.ManifestWork) {
			yes.Type, yes.ObservedGeneration = workv1.WorkApplied, w.Generation
			w.Status.Conditions = []metav1.Condition{yes}
			w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{ResourceMeta: workv1.ManifestResourceMeta{Namespace: other, Name: agent.ClientSecretName, Resource: "secrets"}, Conditions: []metav1.Condition{yes}}}
		})
		testkit.Edit(f.t, hub.client, w, func(w *workv1.ManifestWork) { w.Annotations, w.Spec.Workload.Manifests = forged, nil })
	}
	testkit.Edit(f.t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, func(c *clusterv1.ManagedCluster) {
		c.Annotations = forged
		c.Labels = map[string]string{contract.RegisteredNameLabel: other, "argocd.argoproj.io/secret-type": "repository", agent.OwnedLabel: "true"}
	})
	addOn := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.AddOnName}}
	if hub.client.Get(context.Background(), client.ObjectKeyFromObject(addOn), addOn) != nil {
		return // the add-on is deleted
	}
	testkit.EditStatus(f.t, hub.client, addOn, func(a *addonv1alpha1.ManagedClusterAddOn) {
		yes.Type = addonv1alpha1.ManagedClusterAddOnConditionAvailable
		a.Status.Conditions = []metav1.Condition{yes}
		a.Status.Registrations = []addonv1alpha1.RegistrationConfig{{SignerName: agent.SignerName, Subject: addonv1alpha1.Subject{User: other, Groups: []string{agent.Group(900)}}}}
	})
}

// The agents of a hostile cluster edit everything that they may write: ManifestWorks, the statuses of
// ManifestWorks and add-on, and the ManagedCluster's labels and annotations. Another cluster, another
// GitOpsCluster and the shared Secrets do not change. This holds while the agent exists, while it leaves,
// and after a restart.
func TestHostileAgent_changesNoOtherFate(t *testing.T) {
	f := newFleet(t)
	f.withPrincipal()
	clusters := f.clusters(2)
	hostile, other := clusters[0], clusters[1]
	for _, cluster := range clusters {
		f.available(cluster)
	}
	f.placement("hostile", hostile)
	f.placement("other", other)
	record, stop := f.start()
	own, o := f.gitops("hostile", "hostile", withAgent), f.gitops("other", "other", withAgent)
	f.allServed(2)
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, agent.ReasonWorkNotApplied)
	record.settled(t)
	before := f.fate(other, o)
	unchanged := func(when string) {
		t.Helper()
		record.settled(t)
		if diff := cmp.Diff(before, f.fate(other, o)); diff != "" {
			t.Errorf("%s (-before +after):\n%s", when, diff)
		}
	}

	f.forge(hostile, other, o, agent.WorkName)
	f.carry("192.0.2.1", hostile) // the controller repairs the ManifestWork
	unchanged("while it has an agent")
	stop()
	f.forge(hostile, other, o, agent.WorkName)
	record, stop = f.start()
	f.carry("192.0.2.1", hostile)
	unchanged("after a restart")

	if err := hub.client.Delete(context.Background(), own); err != nil {
		t.Fatal(err)
	}
	leaving := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: hostile, Name: agent.LeavingWorkName}}
	testkit.Eventually(t, "the look for the key", func() error {
		return hub.client.Get(context.Background(), client.ObjectKeyFromObject(leaving), leaving)
	})
	f.gone(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: hostile, Name: agent.AddOnName}})
	f.forge(hostile, other, o, agent.LeavingWorkName)
	unchanged("while its agent leaves")
	stop()
	record, _ = f.start()
	unchanged("while its agent leaves, after a restart")
	at := f.says(own, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDeleting)
	if len(at.Finalizers) == 0 {
		t.Error("its own GitOpsCluster was released before the key is gone")
	}
	f.registered(hostile, other)
}

// A GitOpsCluster with an invalid interval is refused by its status. Other GitOpsClusters are still
// processed, also after a restart.
func TestBadField_stopsNoOtherGitOpsCluster(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(2)
	decision := f.placement("all", clusters[0])
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 1)
	bad := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`{apiVersion: apps.open-cluster-management.io/v1beta1, kind: GitOpsCluster, spec: {placementRef: {name: p}, argoServer: {}, gitopsAddon: {enabled: true, argoCDAgent: {enabled: true}}, agent: {keepAlive: "60"}}}`), &bad.Object); err != nil {
		t.Fatal(err)
	}
	bad.SetNamespace(f.argocd)
	bad.SetName("bad")
	f.create(bad)
	t.Cleanup(func() { _ = hub.client.Delete(context.Background(), bad) })
	at := f.says(&v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "bad"}}, v1beta1.ConditionSpecAccepted, metav1.ConditionFalse, intent.ReasonBadField)
	if !strings.Contains(at.Status.Message, "spec.agent.keepAlive") || !strings.Contains(at.Status.Message, "30s") {
		t.Errorf("the message is %q", at.Status.Message)
	}
	stop()
	f.start()
	f.decide(decision, clusters...)
	f.ready(o, 2)
}

// A team's Placement has a number that the API server admits and Go's type cannot hold. The Placements of others
// count, in a running process and in a new one.
func TestPlacement_hidesNoOther(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(2)
	_, stop := f.start()
	bad := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: bad}, spec: {decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 3000000000}}}}`), &bad.Object); err != nil {
		t.Fatal(err)
	}
	bad.SetNamespace(f.team)
	f.create(bad)
	t.Cleanup(func() { _ = hub.client.Delete(context.Background(), bad) })
	f.placement("first", clusters[0])
	f.ready(f.gitops("running", "first"), 1)
	stop()
	f.start()
	f.placement("second", clusters[1])
	f.ready(f.gitops("new", "second"), 1)
}
