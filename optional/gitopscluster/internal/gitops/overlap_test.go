// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// gitopscluster does not change a foreign cluster Secret for the same name. It registers the cluster when
// that Secret is deleted.
func TestSecret_isNotChangedIfForeign(t *testing.T) {
	for name, secret := range map[string]*corev1.Secret{
		"otherName": {ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}}},
		"sameName":  {ObjectMeta: metav1.ObjectMeta{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			clusters := f.clusters(2)
			secret.Namespace = f.argocd
			if secret.Name == "" {
				secret.Name = clusters[0] + "-cluster-secret"
			}
			secret.StringData = map[string]string{"name": clusters[0], "server": "https://theirs", "config": `{"bearerToken":"t0ken"}`}
			f.create(secret)
			f.placement("all", clusters...)
			f.start()
			o := f.gitops("fleet", "all")
			at := f.says(o, v1beta1.ConditionClustersRegistered, metav1.ConditionFalse, intent.ReasonSecretTaken)
			for at.Status.Clusters.Registered != 1 {
				at = f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonSecretTaken)
			}
			if at.Status.Clusters.Taken != 1 || !strings.Contains(at.Status.Message, secret.Name) || !strings.Contains(at.Status.Message, "delete that Secret") {
				t.Errorf("status is %+v, %s", at.Status.Clusters, at.Status.Message)
			}
			f.registered(clusters[1])
			after := &corev1.Secret{}
			if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(secret), after); err != nil || after.ResourceVersion != secret.ResourceVersion {
				t.Errorf("the Secret was changed: %v", err)
			}
			if name == "sameName" {
				return // it has no label, so the controller detects its deletion only at the next check in a minute
			}
			if err := hub.client.Delete(context.Background(), secret); err != nil {
				t.Fatal(err)
			}
			f.ready(o, 2)
		})
	}
}

// Two GitOpsClusters that select the same cluster share its Secret. The deletion of one does not affect the
// other.
func TestOverlap_sharesTheSecret(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(3)
	f.placement("first", clusters[0], clusters[1])
	f.placement("second", clusters[1], clusters[2])
	f.start()
	older := f.gitops("older", "first")
	f.ready(older, 2)
	younger := f.gitops("younger", "second")
	f.ready(younger, 2)
	f.registered(clusters...)
	shared := f.secrets(f.argocd)[clusters[1]]
	if want := nameOf(older) + "," + nameOf(younger); shared.Annotations[contract.GitOpsClustersAnnotation] != want {
		t.Errorf("it is held by %s, want %s", shared.Annotations[contract.GitOpsClustersAnnotation], want)
	}
	if err := hub.client.Delete(context.Background(), older); err != nil {
		t.Fatal(err)
	}
	f.gone(older)
	f.registered(clusters[1], clusters[2])
	after := f.secrets(f.argocd)[clusters[1]]
	if after.UID != shared.UID || after.Annotations[contract.GitOpsClustersAnnotation] != nameOf(younger) {
		t.Errorf("the Secret is %s (was %s), held by %s", after.UID, shared.UID, after.Annotations[contract.GitOpsClustersAnnotation])
	}
	f.ready(younger, 2)
}

// If every cluster is registered anyway, a GitOpsCluster is only added as a holder, and its deletion
// deletes no Secret. Another Argo CD gets only the selected clusters.
func TestRegistration_addsAHolderToThatOfAllClusters(t *testing.T) {
	f := newFleet(t)
	other := unique("argocd")
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other, Labels: map[string]string{intent.AdmitLabel: "true"}}})
	f.grantSecrets(other)
	f.options.Every, f.options.Namespaces = true, append(f.options.Namespaces, other)
	clusters := f.clusters(3)
	f.placement("one", clusters[0])
	f.start()
	f.registered(clusters...)
	own := f.gitops("here", "one")
	foreign := f.gitops("there", "one", func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoServer.ArgoNamespace = other })
	f.ready(own, 1)
	f.ready(foreign, 1)
	if got := f.secrets(other); len(got) != 1 || got[clusters[0]] == nil {
		t.Errorf("the other Argo CD knows %d clusters", len(got))
	}
	for _, o := range []*v1beta1.GitOpsCluster{own, foreign} {
		if err := hub.client.Delete(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		f.gone(o)
	}
	f.registered(clusters...)
	if got := f.secrets(other); len(got) != 0 {
		t.Errorf("the other Argo CD still knows %d clusters", len(got))
	}
	if s := f.secrets(f.argocd)[clusters[0]]; len(clustersecret.Holders(s)) != 0 {
		t.Errorf("still held by %v", clustersecret.Holders(s))
	}
}
