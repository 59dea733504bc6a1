// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"encoding/json"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// GroupVersion is the API version of Argo CD's objects.
var GroupVersion = schema.GroupVersion{Group: application.Group, Version: "v1alpha1"}

// Kinds, with their resource names, as Argo CD's CRDs define them.
const (
	Group                = application.Group
	ApplicationKind      = application.ApplicationKind
	ApplicationPlural    = application.ApplicationPlural
	AppProjectKind       = application.AppProjectKind
	AppProjectPlural     = application.AppProjectPlural
	ApplicationSetKind   = application.ApplicationSetKind
	ApplicationSetPlural = application.ApplicationSetPlural
)

// Application is an Argo CD Application with its parts as raw JSON. The CRD has no status
// subresource.
//
// +kubebuilder:object:root=true
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec      json.RawMessage `json:"spec,omitempty"`
	Operation json.RawMessage `json:"operation,omitempty"`
	Status    json.RawMessage `json:"status,omitempty"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Application `json:"items"`
}

// AppProject is an Argo CD AppProject with its spec as raw JSON. Its status is never read.
//
// +kubebuilder:object:root=true
type AppProject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec json.RawMessage `json:"spec,omitempty"`
}

// AppProjectList is a list of AppProjects.
//
// +kubebuilder:object:root=true
type AppProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AppProject `json:"items"`
}

// AddToScheme registers Application and AppProject. ApplicationSets are only read as metadata, with
// [ApplicationSetMetadata].
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Application{}, &ApplicationList{}, &AppProject{}, &AppProjectList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// ApplicationSetMetadata returns an empty ApplicationSet to read metadata into.
func ApplicationSetMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(GroupVersion.WithKind(ApplicationSetKind))
	return m
}

// OwningApplicationSet returns the name of the ApplicationSet that controls the Application, or "".
// Both are in the same namespace. The API server accepts any name in an owner reference, and tenants
// write it. A name that no ApplicationSet can have is ignored, because callers read the object.
func (a *Application) OwningApplicationSet() string {
	for _, o := range a.OwnerReferences {
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		if err == nil && gv.Group == Group && o.Kind == ApplicationSetKind && len(validation.IsDNS1123Subdomain(o.Name)) == 0 {
			return o.Name
		}
	}
	return ""
}
