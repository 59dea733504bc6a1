// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
)

// byPropagation writes the Secrets of clusters as propagation does when it registers every cluster. It
// returns the number of writes.
func (f *fleet) byPropagation(clusters ...string) (writes int) {
	f.t.Helper()
	secrets := f.secrets(f.argocd)
	for _, name := range clusters {
		cluster := &clusterv1.ManagedCluster{}
		if err := hub.client.Get(context.Background(), client.ObjectKey{Name: name}, cluster); err != nil {
			f.t.Fatal(err)
		}
		step, err := clustersecret.Plan(secrets[name], cluster, f.argocd, "", clustersecret.Every)
		if err == nil {
			err = step.Apply(context.Background(), hub.client)
		}
		if err != nil {
			f.t.Fatal(err)
		}
		if step.Verb != "" {
			writes++
		}
	}
	return writes
}

// unwritten reports an error if one of the Secrets was written or deleted.
func (f *fleet) unwritten(before map[string]*corev1.Secret) {
	f.t.Helper()
	after := f.secrets(f.argocd)
	for name, s := range before {
		if after[name] == nil || after[name].UID != s.UID || after[name].ResourceVersion != s.ResourceVersion {
			f.t.Errorf("the Secret of %s was written or deleted", name)
		}
	}
}

// An administrator can move registration from propagation to gitopscluster, back, and again. No Secret is
// written or deleted, with or without a GitOpsCluster.
func TestHandOver_writesNoSecretInEitherDirection(t *testing.T) {
	for name, every := range map[string]bool{"all": true, "gitopsclusters": false} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			f.options.Every = every
			clusters := f.clusters(5)
			if n := f.byPropagation(clusters...); n != len(clusters) {
				t.Fatalf("%d Secrets made", n)
			}
			fresh := f.secrets(f.argocd)
			record, stop := f.start()
			f.says(f.gitops(unique("refused"), "none", func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoServer.ArgoNamespace = "elsewhere" }), v1beta1.ConditionSpecAccepted, metav1.ConditionFalse, intent.ReasonNamespaceNotAllowed)
			record.settled(t)
			f.unwritten(fresh)

			f.placement("all", clusters...)
			o := f.gitops("fleet", "all")
			f.ready(o, len(clusters))
			held := f.secrets(f.argocd)
			stop()
			if n := f.byPropagation(clusters...); n != 0 {
				t.Errorf("propagation wrote %d Secrets that a GitOpsCluster holds", n)
			}
			record, _ = f.start()
			f.looked("again")
			record.settled(t)
			f.unwritten(held)
			for _, w := range record.written() {
				if strings.Contains(w, " secrets ") {
					t.Errorf("gitopscluster wrote %s", w)
				}
			}
		})
	}
}
