// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// Store is the part of an informer's store that an [Index] reads.
type Store interface {
	List() []any
	ByIndex(name, value string) ([]any, error)
	GetByKey(key string) (object any, exists bool, err error)
}

// Index finds the works in an informer's store by the Application that they carry. The store needs
// the indexes of [IndexFuncs] in addition to its own one by namespace.
type Index struct{ store Store }

// NewIndex returns the index over a store.
func NewIndex(store Store) *Index { return &Index{store: store} }

const (
	// byApplication groups the works of many Applications under one value. client-go keeps a set
	// for each value of an index. A set costs about 260 bytes even for one work.
	byApplication = "manifestcache.application"
	// byDelivered only has works that deliver to another namespace than the hub Application's.
	// byApplication has the others.
	byDelivered = "manifestcache.delivered"
	// byProject has all works by the AppProject that their Application names. It has few values
	// with many works each, which costs about 30 bytes a work.
	byProject = "manifestcache.project"
	// byNamespace is the index of client-go.
	byNamespace = "namespace"

	// buckets is the number of values of byApplication. In a fleet of 20,000 each one has five
	// works.
	buckets = 4096
)

// IndexFuncs returns the index functions that an [Index] needs in its store.
func IndexFuncs() map[string]func(object any) ([]string, error) {
	return map[string]func(any) ([]string, error){
		byApplication: func(object any) ([]string, error) {
			if w, ok := object.(*Work); ok {
				if app, ours := w.Application(); ours {
					return []string{bucket(app)}, nil
				}
			}
			return nil, nil
		},
		byDelivered: func(object any) ([]string, error) {
			w, ok := object.(*Work)
			if !ok || w.Stored.Delivers == nil {
				return nil, nil
			}
			_, ours := w.Application()
			app, delivers := w.Delivers()
			if !ours || !delivers {
				return nil, nil
			}
			return []string{deliveredKey(w.Namespace, app)}, nil
		},
		byProject: func(object any) ([]string, error) {
			if w, ok := object.(*Work); ok && w.Stored.Project != "" {
				return []string{w.Stored.Project}, nil
			}
			return nil, nil
		},
	}
}

var seed = maphash.MakeSeed()

func bucket(app types.NamespacedName) string {
	return strconv.FormatUint(maphash.Comparable(seed, app)%buckets, 10)
}

func deliveredKey(cluster string, app types.NamespacedName) string {
	return cluster + "/" + app.String()
}

// find returns the works of an index value for which wanted returns true.
func (x *Index) find(name, value string, wanted func(*Work) bool) ([]*Work, error) {
	objects, err := x.store.ByIndex(name, value)
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWorks in index %s: %w", name, err)
	}
	var list []*Work
	for _, object := range objects {
		if w, ok := object.(*Work); ok && wanted(w) {
			list = append(list, w)
		}
	}
	return list, nil
}

// All returns every work.
func (x *Index) All() []*Work {
	objects := x.store.List()
	list := make([]*Work, 0, len(objects))
	for _, object := range objects {
		if w, ok := object.(*Work); ok {
			list = append(list, w)
		}
	}
	return list
}

// Named returns the work of that name in a cluster's namespace, or nil.
func (x *Index) Named(cluster, name string) (*Work, error) {
	object, _, err := x.store.GetByKey(cluster + "/" + name)
	if err != nil {
		return nil, fmt.Errorf("look up ManifestWork %s/%s: %w", cluster, name, err)
	}
	w, _ := object.(*Work)
	return w, nil
}

// Of returns the works that carry an Application, on all clusters.
func (x *Index) Of(app types.NamespacedName) ([]*Work, error) {
	return x.find(byApplication, bucket(app), func(w *Work) bool {
		carried, ours := w.Application()
		return ours && carried == app
	})
}

// Several reports whether more than one work may carry an Application.
func (x *Index) Several(app types.NamespacedName) bool {
	works, err := x.Of(app)
	return err != nil || len(works) > 1
}

// Delivering returns the works that deliver an Application to a cluster under the name app,
// whichever hub Application they carry.
func (x *Index) Delivering(cluster string, app types.NamespacedName) ([]*Work, error) {
	same, err := x.Of(app)
	if err != nil {
		return nil, err
	}
	same = slices.DeleteFunc(same, func(w *Work) bool { return w.Namespace != cluster || w.Stored.Delivers != nil })
	others, err := x.find(byDelivered, deliveredKey(cluster, app), func(*Work) bool { return true })
	return append(same, others...), err
}

// Carrying returns the works with a delivered Application that names an AppProject, whichever hub
// Application they carry.
func (x *Index) Carrying(project string) ([]*Work, error) {
	return x.find(byProject, project, func(w *Work) bool {
		_, ours := w.Application()
		return ours
	})
}

// On returns the Applications that works in a cluster's namespace carry.
func (x *Index) On(cluster string) ([]types.NamespacedName, error) {
	works, err := x.find(byNamespace, cluster, func(w *Work) bool {
		_, ours := w.Application()
		return ours
	})
	apps := make([]types.NamespacedName, len(works))
	for i, w := range works {
		apps[i], _ = w.Application()
	}
	return apps, err
}
