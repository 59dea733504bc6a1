// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"context"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// Examples returns the path of a file or folder of the examples.
func Examples(name string) string { return filepath.Join(testkit.Root(), "deploy", "examples", name) }

// Deliver applies the examples as they are and waits until the guestbook is well
// on every managed cluster, on the hub and in the report.
func (s *Story) Deliver(ctx context.Context) error {
	err := s.onEvery(ctx, func(ctx context.Context, c *env.Cluster) error { return c.ApplyFiles(ctx, Examples("managed")) })
	if err != nil {
		return err
	}
	if err := s.fleet.Hub.ApplyFiles(ctx, Examples("hub")); err != nil {
		return err
	}
	began := time.Now()
	if err := s.fleet.Hub.ApplyFiles(ctx, Examples("guestbook-app-set.yaml")); err != nil {
		return err
	}
	return s.travel(ctx, "from the ApplicationSet to the report", began, s.deliveryMarks)
}

func (s *Story) deliveryMarks(cluster string) []mark {
	name := application(cluster)
	return []mark{
		{"a hub Application is generated", func() (bool, string) {
			_, ok := s.view.Application("hub", name)
			return ok, "no Application " + name + " on the hub"
		}},
		{"its ManifestWork is written", func() (bool, string) { return s.workOf(name, cluster) }},
		{"the Application is on the managed cluster", func() (bool, string) {
			_, ok := s.view.Application(cluster, name)
			return ok, s.view.everywhere(name, cluster)
		}},
		{"synced and healthy there", s.well(cluster, name, "")},
		{"the hub Application says so", s.well("hub", name, "")},
		{"the report says so", s.reported(name, "")},
	}
}

// workOf holds when a ManifestWork for a hub Application is in a cluster's namespace.
func (s *Story) workOf(name, cluster string) (bool, string) {
	works, err := s.view.Works()
	if err != nil {
		return false, err.Error()
	}
	for i := range works {
		if works[i].Namespace == cluster && works[i].Annotations[wire.HubNameAnnotation] == name {
			return true, ""
		}
	}
	hub, _ := s.view.Application("hub", name)
	return false, "no ManifestWork in the namespace " + cluster + " for " + hub.String()
}

// Show tells the report.
func (s *Story) Show(context.Context) error {
	report := s.view.Report(ApplicationSet)
	if report == nil {
		return errNoReport
	}
	shown := report.DeepCopy()
	shown.ManagedFields = nil
	text, err := yaml.Marshal(shown)
	if err != nil {
		return err
	}
	s.say(string(text))
	return nil
}
