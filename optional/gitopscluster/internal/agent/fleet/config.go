// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// deploymentConfigs is the kind of configuration that is followed.
var deploymentConfigs = addonv1alpha1.ConfigGroupResource{Group: addonv1alpha1.GroupVersion.Group, Resource: "addondeploymentconfigs"}

// managed returns why an add-on manager would take our add-ons over, or "". A
// ClusterManagementAddOn that declares self-management only configures them.
func (f *Fleet) managed(ctx context.Context) (taken string, err error) {
	m, err := management(ctx, f.objects)
	if err != nil || m == nil || m.Annotations[addonv1alpha1.AddonLifecycleAnnotationKey] == addonv1alpha1.AddonLifecycleSelfManageAnnotationValue {
		return "", err
	}
	return fmt.Sprintf("there is a ClusterManagementAddOn %s, whose add-on manager would write the same ManagedClusterAddOns; set annotation %s: %s on it, or delete it",
		agent.AddOnName, addonv1alpha1.AddonLifecycleAnnotationKey, addonv1alpha1.AddonLifecycleSelfManageAnnotationValue), nil
}

// management returns the ClusterManagementAddOn of our add-ons, or nil.
func management(ctx context.Context, objects client.Reader) (*addonv1alpha1.ClusterManagementAddOn, error) {
	m := &addonv1alpha1.ClusterManagementAddOn{}
	err := objects.Get(ctx, types.NamespacedName{Name: agent.AddOnName}, m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ClusterManagementAddOn %s: %w", agent.AddOnName, err)
	}
	return m, nil
}

// configure applies the add-on's configuration to a desired agent. If the configuration has no
// registries, it applies the registries of the cluster. reason and problem describe an invalid
// value.
func (f *Fleet) configure(ctx context.Context, w *agent.Desired, cluster *clusterv1.ManagedCluster, addOn *addonv1alpha1.ManagedClusterAddOn) (reason, problem string, err error) {
	if w.Image == "" {
		return agent.ReasonImageUnknown, "the image of the principal is not known, and an agent of another version would be refused; let gitopscluster read the principal's Deployment", nil
	}
	if w.Config, problem, err = configOf(ctx, f.objects, addOn); err != nil || problem != "" {
		return agent.ReasonBadConfig, problem, err
	}
	var mirrors []addonv1alpha1.ImageMirror
	if w.Config != nil {
		mirrors = w.Config.Registries
	}
	if len(mirrors) == 0 && cluster != nil {
		if mirrors, err = agent.Registries(registries(cluster)); err != nil {
			return agent.ReasonImageUnknown, fmt.Sprintf("annotation %s of ManagedCluster %s is not understood: %v; correct it", clusterv1.ClusterImageRegistriesAnnotationKey, cluster.Name, err), nil
		}
	}
	w.Image = agent.Mirrored(w.Image, mirrors)
	return "", "", nil
}

// configOf returns the AddOnDeploymentConfig that an add-on names, else the default of its
// ClusterManagementAddOn, or nil. problem describes an invalid value.
func configOf(ctx context.Context, objects client.Reader, addOn *addonv1alpha1.ManagedClusterAddOn) (spec *addonv1alpha1.AddOnDeploymentConfigSpec, problem string, err error) {
	name, by, err := configName(ctx, objects, addOn)
	if err != nil || name == nil {
		return nil, "", err
	}
	config := &addonv1alpha1.AddOnDeploymentConfig{}
	err = objects.Get(ctx, types.NamespacedName{Namespace: name.Namespace, Name: name.Name}, config)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("there is no AddOnDeploymentConfig %s/%s, which %s names; create it, or name another", name.Namespace, name.Name, by), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("get AddOnDeploymentConfig %s/%s: %w", name.Namespace, name.Name, err)
	}
	if problem := agent.CheckConfig(&config.Spec); problem != "" {
		return nil, fmt.Sprintf("AddOnDeploymentConfig %s/%s: %s", name.Namespace, name.Name, problem), nil
	}
	return &config.Spec, "", nil
}

// configName returns the name of that configuration, and which object has it.
func configName(ctx context.Context, objects client.Reader, addOn *addonv1alpha1.ManagedClusterAddOn) (*addonv1alpha1.ConfigReferent, string, error) {
	if addOn != nil {
		i := slices.IndexFunc(addOn.Spec.Configs, func(c addonv1alpha1.AddOnConfig) bool { return c.ConfigGroupResource == deploymentConfigs })
		if i >= 0 {
			return &addOn.Spec.Configs[i].ConfigReferent, "ManagedClusterAddOn " + addOn.Namespace + "/" + addOn.Name, nil
		}
	}
	m, err := management(ctx, objects)
	if err != nil || m == nil {
		return nil, "", err
	}
	i := slices.IndexFunc(m.Spec.SupportedConfigs, func(c addonv1alpha1.ConfigMeta) bool { return c.ConfigGroupResource == deploymentConfigs })
	if i < 0 {
		return nil, "", nil
	}
	return m.Spec.SupportedConfigs[i].DefaultConfig, "ClusterManagementAddOn " + m.Name, nil
}
