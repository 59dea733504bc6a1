// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Packed is a ManifestWork as the cache keeps it, without its spec: annotations and
// status in one string. As Go's maps, slices and pointers they would take four
// times the room, for each Application of the fleet.
type Packed struct {
	metav1.ObjectMeta // without annotations

	app  types.NamespacedName
	rest string
	// delivered is the value of [DeliveredAnnotation].
	delivered string
}

var _ client.Object = &Packed{}

// Pack returns the work without its spec.
func Pack(work *workv1.ManifestWork) *Packed {
	p := &Packed{ObjectMeta: work.ObjectMeta}
	p.Annotations = nil
	if app, ours := ApplicationOf(work); ours {
		p.app = types.NamespacedName{Namespace: shared(app.Namespace), Name: within(p.Name, app.Name)}
	}
	p.delivered = shared(deliveredTo(work))
	annotations := work.Annotations
	if _, there := annotations[DeliveredAnnotation]; there {
		annotations = maps.Clone(annotations) // only the cache may say it
		delete(annotations, DeliveredAnnotation)
	}
	var w writer
	w.annotations(annotations)
	w.status(&work.Status)
	p.rest = string(w.out)
	return p
}

// Unpack returns the work again, without its spec. It shares its labels, finalizers
// and owners with the cache.
func (p *Packed) Unpack() *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: p.ObjectMeta}
	r := reader{rest: p.rest}
	work.Annotations = p.withDelivered(r.annotations())
	r.status(&work.Status)
	return work
}

// Work returns the work in an event of the cache; nil when there is none.
func Work(object any) *workv1.ManifestWork {
	switch o := object.(type) {
	case *Packed:
		return o.Unpack()
	case *workv1.ManifestWork:
		return o
	}
	return nil
}

// GetAnnotations returns a copy of the annotations.
func (p *Packed) GetAnnotations() map[string]string {
	r := reader{rest: p.rest}
	return p.withDelivered(r.annotations())
}

func (p *Packed) withDelivered(annotations map[string]string) map[string]string {
	if p.delivered == "" {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[DeliveredAnnotation] = p.delivered
	return annotations
}

// GetObjectKind tells nothing: nobody asks an object of the cache what it is.
func (p *Packed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a copy.
func (p *Packed) DeepCopyObject() runtime.Object {
	c := *p
	p.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// within returns s as a part of whole when it is one: a work's name begins with the
// Application's.
func within(whole, s string) string {
	if strings.HasPrefix(whole, s) {
		return whole[:len(s)]
	}
	return s
}
