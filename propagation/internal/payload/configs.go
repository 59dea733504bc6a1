// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"

	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

func deleteOption(spec *workv1.ManifestWorkSpec, orphan bool) *workv1.DeleteOption {
	if orphan {
		return &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	}
	var orphans []workv1.OrphaningRule
	for i := range spec.ManifestConfigs {
		if id := spec.ManifestConfigs[i].ResourceIdentifier; id.Resource != argocd.ApplicationPlural {
			orphans = append(orphans, workv1.OrphaningRule(id))
		}
	}
	if len(orphans) == 0 {
		return &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	}
	return &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: orphans},
	}
}

func serverSideApply(force bool, ignore []workv1.IgnoreField) *workv1.UpdateStrategy {
	return &workv1.UpdateStrategy{
		Type:            workv1.UpdateStrategyTypeServerSideApply,
		ServerSideApply: &workv1.ServerSideApplyConfig{Force: force, FieldManager: workv1.DefaultFieldManager, IgnoreFields: ignore},
	}
}

func add(spec *workv1.ManifestWorkSpec, manifest json.RawMessage, config workv1.ManifestConfigOption) {
	spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: manifest}})
	spec.ManifestConfigs = append(spec.ManifestConfigs, config)
}
