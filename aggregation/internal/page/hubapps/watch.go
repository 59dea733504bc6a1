// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hubapps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

// Watch has the Applications once it runs. It is a manager's runnable and works
// without a lease. The right to list and watch Applications is not in the generated
// role: only who turns the page on grants it (deploy/components/page).
type Watch struct {
	changed func(namespace string)
	pulled  *store
	rest    *store
	run     []func(context.Context)
}

// NewWatch returns a watch of the Applications of a hub. Changed is called with the
// namespace of one that has something else to say; it must not block.
func NewWatch(config *rest.Config, changed func(namespace string)) (*Watch, error) {
	pull, err := labels.NewRequirement(contract.PullLabel, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select pulled Applications: %w", err)
	}
	noPull, err := labels.NewRequirement(contract.PullLabel, selection.DoesNotExist, nil)
	if err != nil {
		return nil, fmt.Errorf("select rendered Applications: %w", err)
	}
	w := &Watch{changed: changed, pulled: newStore(changed), rest: newStore(changed)}
	return w, errors.Join(
		w.follow(config, labels.NewSelector().Add(*pull), w.pulled),
		w.follow(config, labels.SelectorFromSet(labels.Set{contract.RenderedLabel: "true"}).Add(*noPull), w.rest),
	)
}

// NeedLeaderElection is false: every replica shows the page.
func (w *Watch) NeedLeaderElection() bool { return false }

// Start follows the Applications until ctx ends.
func (w *Watch) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for _, run := range w.run {
		all.Go(func() { run(ctx) })
	}
	all.Wait()
	return nil
}

// Synced reports whether all Applications have been looked at. It stays false where
// the account may not read them.
func (w *Watch) Synced() bool { return w.pulled.synced.Load() && w.rest.synced.Load() }

// Applications returns those with something to say in the namespaces that are allowed,
// in no order. They are shared and never change.
func (w *Watch) Applications(allowed func(namespace string) bool) []*Application {
	return append(w.pulled.list(allowed), w.rest.list(allowed)...)
}

// Namespaces returns those that have such Applications, in no order, and maybe twice.
func (w *Watch) Namespaces() []string { return append(w.pulled.namespaced(), w.rest.namespaced()...) }

func (w *Watch) follow(config *rest.Config, selector labels.Selector, into *store) error {
	source, err := slim.NewSource(config, argocd.GroupVersion.WithResource(argocd.ApplicationPlural), selector, decode)
	if err != nil {
		return err
	}
	r := toolscache.NewReflectorWithOptions(source.ListWatch(), &object{}, into, toolscache.ReflectorOptions{Name: "page", TypeDescription: "Application"})
	w.run = append(w.run, r.RunWithContext)
	return nil
}

type code struct {
	Status string `json:"status"`
}

type sent struct {
	Metadata slim.Meta `json:"metadata"`
	Status   appStatus `json:"status"`
}

func decode(s *sent) *object {
	m := &s.Metadata.ObjectMeta
	o := &object{status: s.Status, ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Annotations: map[string]string{},
	}}
	// The second is of a bookmark, which marks the end of the first list.
	for _, key := range []string{contract.ClusterAnnotation, metav1.InitialEventsAnnotationKey} {
		if value, ok := m.Annotations[key]; ok {
			o.Annotations[key] = value
		}
	}
	o.rendered = m.Labels[contract.RenderedLabel] == "true" && !contract.IsPulled(m.Labels) // propagation has what is pulled
	o.set = (&argocd.Application{ObjectMeta: *m}).OwningApplicationSet()
	return o
}

// DeepCopyObject makes it an object of Kubernetes; it is never changed, so it is its
// own copy.
func (o *object) DeepCopyObject() runtime.Object { return o }

// store is a reflector's: it keeps Applications that have something to say.
type store struct {
	changed func(namespace string)
	synced  atomic.Bool

	mu         sync.Mutex
	apps       map[types.NamespacedName]*Application // which never change
	namespaces map[string]int                        // how many of them are there
}

func newStore(changed func(string)) *store {
	return &store{changed: changed, apps: map[types.NamespacedName]*Application{}, namespaces: map[string]int{}}
}

func (s *store) Add(o any) error { return s.Update(o) }

func (s *store) Update(o any) error { return s.set(o, classify) }

func (s *store) Delete(o any) error {
	return s.set(o, func(*object) (Application, bool) { return Application{}, false })
}

func (s *store) set(o any, classify func(*object) (Application, bool)) error {
	app, ok := o.(*object)
	if !ok {
		return fmt.Errorf("a %T came in the place of an Application", o)
	}
	var now *Application
	if a, ok := classify(app); ok {
		now = &a
	}
	key := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	s.mu.Lock()
	before := s.apps[key]
	s.put(key, now)
	s.mu.Unlock()
	if (now == nil) != (before == nil) || now != nil && *now != *before {
		s.changed(key.Namespace)
	}
	return nil
}

// put keeps an Application, or none of that name.
func (s *store) put(key types.NamespacedName, now *Application) {
	if s.apps[key] != nil {
		delete(s.apps, key)
		if s.namespaces[key.Namespace]--; s.namespaces[key.Namespace] == 0 {
			delete(s.namespaces, key.Namespace)
		}
	}
	if now != nil {
		s.apps[key] = now
		s.namespaces[key.Namespace]++
	}
}

func (s *store) Replace(all []any, _ string) error {
	s.mu.Lock()
	namespaces := s.namespaces
	s.apps, s.namespaces = map[types.NamespacedName]*Application{}, map[string]int{}
	for _, o := range all {
		if app, ok := o.(*object); ok {
			if a, ok := classify(app); ok {
				s.put(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &a)
				namespaces[a.Namespace]++
			}
		}
	}
	s.mu.Unlock()
	s.synced.Store(true)
	for namespace := range namespaces {
		s.changed(namespace)
	}
	return nil
}

func (s *store) Resync() error { return nil }

func (s *store) list(allowed func(string) bool) []*Application {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Application, 0, len(s.apps))
	for key, a := range s.apps {
		if allowed(key.Namespace) {
			all = append(all, a)
		}
	}
	return all
}

func (s *store) namespaced() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.namespaces))
}
