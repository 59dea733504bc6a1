// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// gitopsClusters are the GitOpsClusters of the examples, each with the API version for reading it here. The
// example uses the other version.
var gitopsClusters = map[string]string{"fleet": "v1alpha1", "fleet-agent": "v1beta1"}

// gitopsExamples are the only files with GitOpsClusters, so that [Scenario.Unregister] deletes all of them.
var gitopsExamples = []string{"gitopscluster/v1alpha1.yaml", "gitopscluster/v1beta1.yaml"}

func gitopsCluster(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apps.open-cluster-management.io/" + gitopsClusters[name])
	o.SetKind("GitOpsCluster")
	o.SetNamespace(env.ArgoCDNamespace)
	o.SetName(name)
	return o
}

// Register applies the examples of GitOpsClusters in both versions. It waits until each is ready
// with every cluster, and each cluster has one Secret.
func (s *Scenario) Register(ctx context.Context) (err error) {
	defer must.Return(&err)
	for _, file := range append([]string{hub}, gitopsExamples...) {
		must.OK(s.fleet.Hub.ApplyFiles(ctx, Examples(file)))
	}
	for name := range gitopsClusters {
		began := time.Now()
		var message string
		must.OK(env.Wait(ctx, "GitOpsCluster "+name+" to be ready", func(ctx context.Context) (ok bool, saw string) {
			ok, message = s.registered(ctx, name)
			return ok, message
		}))
		s.logf("%s (%s): %s [%s]", name, gitopsClusters[name], message, time.Since(began).Round(time.Millisecond))
	}
	secrets := must.Get(s.clusterSecrets(ctx))
	if len(secrets) != len(s.fleet.Managed) {
		return fmt.Errorf("two GitOpsClusters want %d clusters, and there are %d Secrets", len(s.fleet.Managed), len(secrets))
	}
	for i := range secrets {
		s.logf("  Secret %s, wanted by %s", secrets[i].Name, strings.ReplaceAll(secrets[i].Annotations[contract.GitOpsClustersAnnotation], ",", " and "))
	}
	return nil
}

// registered reports whether a GitOpsCluster is ready with every cluster of the fleet.
func (s *Scenario) registered(ctx context.Context, name string) (bool, string) {
	o := gitopsCluster(name)
	if err := s.fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return false, err.Error()
	}
	message, _, _ := unstructured.NestedString(o.Object, "status", "message")
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	count, _, _ := unstructured.NestedInt64(o.Object, "status", "clusters", "registered")
	return phase == "successful" && count == int64(len(s.fleet.Managed)), message
}

func (s *Scenario) clusterSecrets(ctx context.Context) ([]corev1.Secret, error) {
	var list corev1.SecretList
	err := s.fleet.Hub.Client.List(ctx, &list, client.InNamespace(env.ArgoCDNamespace), client.MatchingLabels{contract.RegisteredLabel: "true"})
	return list.Items, err
}

// Unregister deletes the GitOpsClusters and waits until they and their cluster Secrets do not exist any more.
func (s *Scenario) Unregister(ctx context.Context) error {
	for name := range gitopsClusters {
		if err := s.fleet.Hub.Client.Delete(ctx, gitopsCluster(name)); err != nil {
			return fmt.Errorf("delete GitOpsCluster %s: %w", name, err)
		}
	}
	for name := range gitopsClusters {
		err := env.Wait(ctx, "GitOpsCluster "+name+" to be gone", func(ctx context.Context) (bool, string) {
			o := gitopsCluster(name)
			err := s.fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			message, _, _ := unstructured.NestedString(o.Object, "status", "message")
			return apierrors.IsNotFound(err), message
		})
		if err != nil {
			return err
		}
	}
	secrets, err := s.clusterSecrets(ctx)
	if err == nil && len(secrets) > 0 {
		err = fmt.Errorf("%d cluster Secrets are left", len(secrets))
	}
	return err
}
