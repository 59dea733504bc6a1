// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/health"
)

// configs returns how the agent updates each manifest and when it is healthy. It has one entry for
// each resource, and before these an entry for each manifest that differs. Among matching entries,
// the agent uses the first entry with a strategy, and the first entry with rules.
func configs(items []item, poll bool) []workv1.ManifestConfigOption {
	var single, general []workv1.ManifestConfigOption
	seen := map[schema.GroupResource]bool{}
	for _, i := range items {
		scrape := health.ScrapeType(i.GroupKind())
		if poll {
			scrape = "" // the API server of an older hub refuses to apply a field that it does not have
		}
		if i.createOnly || i.healthyWhen != "" {
			config := workv1.ManifestConfigOption{ResourceIdentifier: i.identifier(), FeedbackScrapeType: scrape}
			if i.createOnly {
				config.UpdateStrategy = &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly}
			}
			if i.healthyWhen != "" {
				config.ConditionRules = health.Rules(i.GroupKind(), i.healthyWhen)
			}
			single = append(single, config)
		}
		if seen[i.resource] {
			continue
		}
		seen[i.resource] = true
		general = append(general, workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Group: i.resource.Group, Resource: i.resource.Resource, Namespace: "*", Name: "*"},
			// Fields that a manifest does not have belong to other managers, such as an autoscaler.
			// Fields that it has are taken over from other managers.
			UpdateStrategy: &workv1.UpdateStrategy{
				Type:            workv1.UpdateStrategyTypeServerSideApply,
				ServerSideApply: &workv1.ServerSideApplyConfig{Force: true, FieldManager: "work-agent"},
			},
			ConditionRules:     health.Rules(i.GroupKind(), ""),
			FeedbackScrapeType: scrape,
		})
	}
	slices.SortFunc(general, func(a, b workv1.ManifestConfigOption) int {
		return cmp.Or(
			strings.Compare(a.ResourceIdentifier.Group, b.ResourceIdentifier.Group),
			strings.Compare(a.ResourceIdentifier.Resource, b.ResourceIdentifier.Resource))
	})
	return append(single, general...)
}

// deleteOption leaves kept items on the cluster, and deletes the other items with all their
// dependents.
func deleteOption(items []item) *workv1.DeleteOption {
	var kept []workv1.OrphaningRule
	for _, i := range items {
		if i.kept {
			kept = append(kept, workv1.OrphaningRule(i.identifier()))
		}
	}
	if kept == nil {
		return &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	}
	return &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: kept},
	}
}

func (i *item) identifier() workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{Group: i.resource.Group, Resource: i.resource.Resource, Namespace: i.Namespace, Name: i.Name}
}
