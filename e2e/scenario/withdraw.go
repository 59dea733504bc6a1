// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Withdraw deletes the ApplicationSet and the standalone Application. It waits until no object of them exists
// on the hub and the managed clusters: no Application, ManifestWork, workload, report or intermediate report.
// The delivered AppProject stays on the managed clusters, because other Applications may use it.
func (s *Scenario) Withdraw(ctx context.Context) error {
	if err := s.withdrawNotes(ctx); err != nil {
		return err
	}
	return s.withdraw(ctx, "Applications, ManifestWorks, workloads and the report (the AppProject stays, since other Applications may use it)", s.Remaining)
}

// withdraw deletes the ApplicationSet and waits until remaining returns nothing.
func (s *Scenario) withdraw(ctx context.Context, what string, remaining func(context.Context) ([]string, error)) error {
	began := time.Now()
	set := argocd.ApplicationSetMetadata()
	set.Namespace, set.Name = env.ArgoCDNamespace, s.watch.set
	if err := s.fleet.Hub.Client.Delete(ctx, set); err != nil {
		return fmt.Errorf("delete the ApplicationSet: %w", err)
	}
	_, err := s.watch.view.Await(ctx, "nothing to be left", func() (bool, string) {
		left, err := remaining(ctx)
		if err != nil {
			return false, err.Error()
		}
		return len(left) == 0, "still there: " + strings.Join(left, ", ")
	})
	if err == nil {
		s.logf("gone in %s: %s", time.Since(began).Round(time.Millisecond), what)
	}
	return err
}

// Remaining lists the objects of the scenario that still exist on the clusters.
func (s *Scenario) Remaining(ctx context.Context) (_ []string, err error) {
	defer must.Return(&err)
	left := s.watch.view.remaining(ApplicationSet, contract.PullLabel)
	for _, c := range s.fleet.Managed {
		more := must.Get(s.remainingOn(ctx, c))
		left = append(left, more...)
	}
	reports := must.Get(intermediate.NewStore(s.fleet.Product.IntermediateDir(0)).List())
	for _, report := range reports {
		left = append(left, "intermediate report "+report.String())
	}
	return left, nil
}

// remaining lists the hub's Applications, the ManifestWorks with a label, and the report of an
// ApplicationSet.
func (v *View) remaining(set, label string) []string {
	var left []string
	for _, a := range v.Applications(hub) {
		left = append(left, "hub Application "+a.Name)
	}
	for _, work := range v.Works() {
		if work.Labels[label] != "" {
			left = append(left, "ManifestWork "+work.Namespace+"/"+work.Name)
		}
	}
	if v.Report(set) != nil {
		left = append(left, "report "+set)
	}
	return left
}

func (s *Scenario) remainingOn(ctx context.Context, c *env.Cluster) ([]string, error) {
	var left []string
	for _, list := range []client.ObjectList{
		&argocd.ApplicationList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{},
	} {
		namespace := notesNamespace
		if _, ok := list.(*argocd.ApplicationList); ok {
			namespace = env.ArgoCDNamespace
		}
		names, err := namesOf(ctx, c, list, namespace)
		if err != nil {
			return nil, err
		}
		left = append(left, names...)
	}
	return left, nil
}

// namesOf lists objects, except those that every cluster has.
func namesOf(ctx context.Context, c *env.Cluster, list client.ObjectList, namespace string) ([]string, error) {
	if err := c.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var names []string
	err := meta.EachListItem(list, func(object runtime.Object) error {
		o, ok := object.(client.Object)
		if !ok {
			return fmt.Errorf("%T has no name", object)
		}
		if o.GetName() != "kube-root-ca.crt" {
			names = append(names, fmt.Sprintf("%T %s on %s", o, o.GetName(), c.Name))
		}
		return nil
	})
	return names, err
}
