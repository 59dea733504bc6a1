// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applications reads the effects of agents on the hub's Applications and AppProjects, which
// no cache has. It also keeps the clusters' own default AppProject from being overwritten.
package applications

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
)

const (
	// fresh is how long a report counts while the clusters are the same, pause the least
	// time between two.
	fresh = time.Minute
	pause = 10 * time.Second
	// later is when to read again while nothing is wrong.
	later = 10 * time.Minute

	fieldOwner = "multicluster-integrations-applications"
)

// Applications of agents may be in any namespace of the hub.
// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=list
// +kubebuilder:rbac:groups=argoproj.io,resources=appprojects,namespace=argocd,verbs=list
// +kubebuilder:rbac:groups=argoproj.io,resources=appprojects,namespace=argocd,resourceNames=default,verbs=patch

// Lists lists the Applications and AppProjects of the hub one by one. Their status and spec may have
// any size that the API server accepts.
type Lists struct {
	applications slim.Lister[argocd.Application]
	projects     slim.Lister[argocd.AppProject]
}

// NewLists returns the lists of a hub.
func NewLists(hub *rest.Config) (l Lists, err error) {
	l.applications, err = slim.NewLister[argocd.Application](hub, argocd.GroupVersion.WithResource(argocd.ApplicationPlural))
	if err != nil {
		return l, err
	}
	l.projects, err = slim.NewLister[argocd.AppProject](hub, argocd.GroupVersion.WithResource(argocd.AppProjectPlural))
	return l, err
}

// Reader reads reports.
type Reader struct {
	client client.Client
	live   client.Reader
	lists  Lists
	now    func() time.Time

	mu   sync.Mutex
	last map[string]read
}

// read is the last report of an Argo CD.
type read struct {
	clusters Clusters
	at       time.Time
	report   *Report
}

// New returns a reader that writes with c and reads from the API server with live. Both need the
// types of Argo CD. Only [Reader.Read] needs lists.
func New(c client.Client, live client.Reader, lists Lists) *Reader {
	return &Reader{client: c, live: live, lists: lists, now: time.Now, last: map[string]read{}}
}

// Read returns the report of an Argo CD, which may be some seconds old, and the delay until the
// next read. With an error it returns the last report, or nil.
func (r *Reader) Read(ctx context.Context, namespace string, clusters Clusters) (*Report, time.Duration, error) {
	r.mu.Lock()
	last, known := r.last[namespace]
	r.mu.Unlock()
	same, age := known && reflect.DeepEqual(last.clusters, clusters), r.now().Sub(last.at)
	switch {
	case same && age < fresh && last.report.Empty():
		return last.report, later, nil
	case same && age < fresh:
		return last.report, fresh - age, nil
	case known && age < pause:
		return last.report, pause - age, nil
	}
	report, err := r.evaluate(ctx, namespace, clusters)
	if err != nil {
		return last.report, pause, err
	}
	r.mu.Lock()
	r.last[namespace] = read{clusters: clusters, at: r.now(), report: &report}
	r.mu.Unlock()
	if report.Empty() {
		return &report, later, nil
	}
	return &report, fresh, nil
}

func (r *Reader) evaluate(ctx context.Context, namespace string, clusters Clusters) (Report, error) {
	e := &evaluation{clusters: clusters, projects: map[string]*project{}, namespace: namespace, now: r.now()}
	err := r.lists.projects.Each(ctx, namespace, labels.Everything(), func(o *argocd.AppProject) bool {
		e.addProject(o)
		return true
	})
	if apierrors.IsNotFound(err) { // Argo CD's CustomResourceDefinitions are not installed
		return Report{}, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("list AppProjects of %s: %w", namespace, err)
	}
	err = r.each(ctx, "!"+contract.PullLabel+","+argocd.IgnoreSyncLabel+"!=true", func(o *argocd.Application) bool {
		e.addApplication(o)
		return true
	})
	if err != nil {
		return Report{}, err
	}
	if e.open() {
		if err := r.each(ctx, contract.PullLabel, e.addPulled); err != nil {
			return Report{}, err
		}
	}
	return e.finish(), nil
}

// each calls do with every Application that a selector means, until it returns false.
func (r *Reader) each(ctx context.Context, selector string, do func(*argocd.Application) bool) error {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	err = r.lists.applications.Each(ctx, "", parsed, do)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list Applications: %w", err)
	}
	return nil
}

// KeepDefault makes the principal skip the hub's default AppProject, so that the clusters' own one
// stays. due is true if that has to be written. Call it before the first agent connects: if the
// label is added later, agents delete the AppProject. A label that another writer has set stays,
// whatever its value.
func (r *Reader) KeepDefault(ctx context.Context, namespace string, dryRun bool) (due bool, err error) {
	o, err := r.defaultProject(ctx, namespace)
	if o == nil || err != nil {
		return false, err
	}
	if _, set := o.Labels[argocd.IgnoreSyncLabel]; set || dryRun {
		return !set, nil
	}
	ctrl.LoggerFrom(ctx).Info("keeping the AppProject from the agents", "namespace", namespace, "name", DefaultProject)
	return true, r.patch(ctx, o, "true", contract.RegisteredBy)
}

// ReleaseDefault reverts [Reader.KeepDefault]. due is true if that has to be written. Call it when
// no agent is left.
func (r *Reader) ReleaseDefault(ctx context.Context, namespace string, dryRun bool) (due bool, err error) {
	o, err := r.defaultProject(ctx, namespace)
	if o == nil || err != nil || o.Annotations[contract.RegisteredByAnnotation] != contract.RegisteredBy {
		return false, err
	}
	if dryRun {
		return true, nil
	}
	return true, r.patch(ctx, o, nil, nil)
}

func (r *Reader) defaultProject(ctx context.Context, namespace string) (*argocd.AppProject, error) {
	list := &argocd.AppProjectList{}
	err := r.live.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": DefaultProject})
	if meta.IsNoMatchError(err) || err == nil && len(list.Items) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list AppProjects of %s: %w", namespace, err)
	}
	return &list.Items[0], nil
}

// patch sets label and annotation of an AppProject as it was read. A nil value removes them.
func (r *Reader) patch(ctx context.Context, o *argocd.AppProject, label, annotation any) error {
	change, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.ResourceVersion,
		"labels":          map[string]any{argocd.IgnoreSyncLabel: label},
		"annotations":     map[string]any{contract.RegisteredByAnnotation: annotation},
	}})
	if err != nil {
		return err
	}
	if err := r.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, change), client.FieldOwner(fieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch AppProject %s/%s: %w", o.Namespace, o.Name, err)
	}
	return nil
}
