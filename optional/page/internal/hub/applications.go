// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// RBAC cannot grant a part of an Application, so the page gets the right to read them whole.
// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=list;watch

// Applications keeps the Applications of a fleet up to date. It is a runnable of the manager that
// needs no leader election.
type Applications struct {
	fleet     *model.Fleet
	reflector *toolscache.Reflector
	synced    atomic.Bool
}

// NewApplications returns the source of a fleet's Applications. It keeps nothing of Applications
// that are neither pulled nor rendered.
func NewApplications(config *rest.Config, fleet *model.Fleet) (*Applications, error) {
	source, err := slim.NewSource(config, argocd.GroupVersion.WithResource(argocd.ApplicationPlural), decode)
	if err != nil {
		return nil, err
	}
	a := &Applications{fleet: fleet}
	a.reflector = toolscache.NewReflectorWithOptions(
		source.ListWatch(), &object{}, a, toolscache.ReflectorOptions{Name: "page", TypeDescription: "Application"})
	return a, nil
}

// NeedLeaderElection returns false, because every replica shows the page.
func (a *Applications) NeedLeaderElection() bool { return false }

// Start watches the Applications until ctx ends.
func (a *Applications) Start(ctx context.Context) error {
	a.reflector.RunWithContext(ctx)
	return nil
}

// Synced reports whether the fleet has all Applications of the first list. It stays false if the
// account may not read them.
func (a *Applications) Synced() bool { return a.synced.Load() }

// Check is a probe that fails until Synced.
func (a *Applications) Check(*http.Request) error {
	if !a.Synced() {
		return errors.New("the hub's Applications are not read yet: the API server has not answered the first list (rights, the CustomResourceDefinition, or reachability)")
	}
	return nil
}

// object is one event, about an Application that the page shows or does not show.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	app *model.App
}

func decode(s *sent) *object {
	m := &s.Metadata.ObjectMeta
	o := &object{app: appOf(s), ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion}}
	if end, ok := m.Annotations[metav1.InitialEventsAnnotationKey]; ok { // a bookmark that ends the first list
		o.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: end}
	}
	return o
}

// DeepCopyObject returns the object itself, because it never changes.
func (o *object) DeepCopyObject() runtime.Object { return o }

// Add implements the store of a Reflector.
func (a *Applications) Add(o any) error { return a.Update(o) }

// Update implements the store of a Reflector.
func (a *Applications) Update(o any) error {
	app, err := of(o)
	if err != nil {
		return err
	}
	if app.app == nil {
		return a.Delete(o) // it may have been shown before
	}
	a.fleet.Put(app.app)
	return nil
}

// Delete implements the store of a Reflector.
func (a *Applications) Delete(o any) error {
	app, err := of(o)
	if err != nil {
		return err
	}
	a.fleet.Delete(types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	return nil
}

// Replace implements the store of a Reflector.
func (a *Applications) Replace(all []any, _ string) error {
	apps := make([]*model.App, 0, len(all))
	for _, o := range all {
		app, err := of(o)
		if err != nil {
			return err
		}
		if app.app != nil {
			apps = append(apps, app.app)
		}
	}
	a.fleet.Replace(apps)
	a.synced.Store(true)
	return nil
}

// Resync implements the store of a Reflector.
func (a *Applications) Resync() error { return nil }

func of(o any) (*object, error) {
	app, ok := o.(*object)
	if !ok {
		return nil, fmt.Errorf("a %T came in the place of an Application", o)
	}
	return app, nil
}
