// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// SettingError reports an invalid setting of the hub's Argo CD.
type SettingError struct{ Err error }

// Error returns a message that names the setting.
func (e *SettingError) Error() string {
	return fmt.Sprintf("%s of ConfigMap %s: %v", argocd.GlobalProjectsKey, argocd.ConfigMapName, e.Err)
}

// Unwrap returns the cause.
func (e *SettingError) Unwrap() error { return e.Err }

type globalProject struct {
	ProjectName   string               `json:"projectName"`
	LabelSelector metav1.LabelSelector `json:"labelSelector"`
}

func globalProjects(setting string) (list []globalProject, err error) {
	if err := yaml.Unmarshal([]byte(setting), &list); err != nil {
		return nil, &SettingError{err}
	}
	return list, nil
}

// GlobalProjects returns the names of the global projects from which an AppProject inherits, in
// order, by the rules of Argo CD (util/argo, GetGlobalProjects). An invalid setting is a
// [SettingError]. Argo CD ignores it, but then the lists of the global projects would be lost.
func GlobalProjects(setting string, project *argocd.AppProject) ([]string, error) {
	list, err := globalProjects(setting)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list {
		selector, err := metav1.LabelSelectorAsSelector(&list[i].LabelSelector)
		if err != nil {
			return nil, &SettingError{fmt.Errorf("labelSelector of project %q: %w", list[i].ProjectName, err)}
		}
		if list[i].ProjectName != project.Name && selector.Matches(labels.Set(project.Labels)) {
			names = append(names, list[i].ProjectName)
		}
	}
	return names, nil
}

// IsGlobalProject reports whether other AppProjects may inherit from the AppProject with that name.
func IsGlobalProject(setting, name string) bool {
	list, err := globalProjects(setting)
	for i := range list {
		if list[i].ProjectName == name {
			return true
		}
	}
	return err != nil // if invalid, each one may be a global project
}
