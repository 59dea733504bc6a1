// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// notes is an Application without ApplicationSet, as a user applies it.
//
//go:embed notes.yaml
var notes []byte

const (
	notesName      = "notes"
	notesConfigMap = "guestbook-notes"
	notesNamespace = "guestbook"
)

// Move delivers a standalone Application to the first managed cluster and changes its target to the second
// one. It waits until the Application is synced and healthy there. It also waits until the Application and
// its ConfigMap do not exist on the first one any more.
func (s *Scenario) Move(ctx context.Context) (err error) {
	defer must.Return(&err)
	from, to := s.fleet.Managed[0], s.fleet.Managed[1]
	must.OK(s.point(ctx, from.Name))
	s.logf("the Application %s goes to %s", notesName, from.Name)
	must.OK(s.arrived(ctx, from))
	began := time.Now()
	must.OK(s.point(ctx, to.Name))
	s.logf("now it goes to %s", to.Name)
	must.OK(s.arrived(ctx, to))
	must.Get(s.watch.view.Await(ctx, notesName+" to leave "+from.Name, func() (bool, string) {
		_, stays := s.watch.view.Application(from.Name, notesName)
		work, _ := s.watch.workOf(notesName, from.Name)
		_, gone, saw := configMap(ctx, from)
		return !stays && !work && gone, fmt.Sprintf("%s; work: %t; %s", s.watch.view.everywhere(notesName, from.Name), work, saw)
	}))
	s.logf("moved in %s, and nothing of it is left on %s", time.Since(began).Round(time.Millisecond), from.Name)
	return nil
}

// point applies the standalone Application with a target.
func (s *Scenario) point(ctx context.Context, cluster string) error {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(notes, &o.Object); err != nil {
		return err
	}
	annotations := o.GetAnnotations()
	annotations[contract.ClusterAnnotation] = cluster
	o.SetAnnotations(annotations)
	return s.fleet.Hub.Apply(ctx, o)
}

func (s *Scenario) arrived(ctx context.Context, at *env.Cluster) error {
	_, err := s.watch.view.Await(ctx, notesName+" to be synced and healthy on "+at.Name, func() (bool, string) {
		existing, delivered := s.watch.view.Application(at.Name, notesName)
		onHub, _ := s.watch.view.Application(hub, notesName)
		exists, _, saw := configMap(ctx, at)
		return delivered && existing.SyncedAndHealthy("") && onHub.SyncedAndHealthy("") && exists, s.watch.view.everywhere(notesName, at.Name) + "; " + saw
	})
	return err
}

// configMap reports whether the ConfigMap exists. there and gone are both false if the request fails.
func configMap(ctx context.Context, c *env.Cluster) (exists, gone bool, saw string) {
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: notesNamespace, Name: notesConfigMap}, &corev1.ConfigMap{})
	return err == nil, apierrors.IsNotFound(err), fmt.Sprintf("ConfigMap %s on %s: %v", notesConfigMap, c.Name, err)
}

// withdrawNotes deletes the standalone Application.
func (s *Scenario) withdrawNotes(ctx context.Context) error {
	o := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: notesName}}
	return client.IgnoreNotFound(s.fleet.Hub.Client.Delete(ctx, o))
}
