// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

// reportKind is the kind of a report, whose metadata is watched.
const reportKind = "MulticlusterApplicationSetReport"

// fieldOwner names us in the managed fields of a report.
const fieldOwner = "multicluster-integrations-aggregation"

// Metadata returns an empty report to read metadata into.
func Metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(reportKind))
	return m
}

// written is a report as it is on the API server, as far as this process knows.
type written struct {
	meta *metav1.PartialObjectMetadata
	// content is what it says; orderly is false when its rows are not as we write
	// them, so that only all of them can be replaced.
	content merge.Content
	orderly bool
}

// readReport reads a report with its content; nil means that there is none.
func readReport(ctx context.Context, live client.Reader, key types.NamespacedName) (*written, *v1alpha1.AppSetStatuses, error) {
	var report v1alpha1.MulticlusterApplicationSetReport
	if err := live.Get(ctx, key, &report); apierrors.IsNotFound(err) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("get report: %w", err)
	}
	w := &written{meta: Metadata(), content: merge.Content{
		Rows:      merge.Adopt(report.Statuses.ClusterConditions),
		Resources: merge.Resources(slices.Clone(report.Statuses.Resources)),
		Summary:   report.Statuses.Summary,
	}}
	w.meta.ObjectMeta = report.ObjectMeta
	w.orderly = slices.Equal(w.content.Resources.Refs(), report.Statuses.Resources)
	for i := 1; i < len(w.content.Rows); i++ {
		w.orderly = w.orderly && merge.Compare(w.content.Rows[i-1], w.content.Rows[i]) < 0
	}
	return w, &report.Statuses, nil
}

// ours reports whether we wrote a report, or an implementation with our contract.
func ours(meta *metav1.PartialObjectMetadata) bool {
	_, labelled := meta.Labels[wire.ReportLabel]
	return labelled
}

func labelFor(key types.NamespacedName) string {
	return wire.LabelValue(key.Namespace + "." + key.Name)
}

// annotationsFor returns every annotation that is ours, "" for one that must not be there.
func annotationsFor(c *merge.Content) map[string]string {
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	return map[string]string{
		wire.RowsLeftOutAnnotation:      count(c.RowsLeftOut),
		wire.ResourcesLeftOutAnnotation: count(c.ResourcesLeftOut),
	}
}

// patchTo returns the steps that bring a report from what it says to what it should.
func (w *written) patchTo(key types.NamespacedName, want *merge.Content) []operation {
	ops := w.metadataOperations(key, want)
	if !w.orderly {
		return append(ops, whole(want)...)
	}
	return append(ops, diff(&w.content, want)...)
}

func (w *written) metadataOperations(key types.NamespacedName, want *merge.Content) []operation {
	var ops []operation
	if w.meta.Labels[wire.ReportLabel] != labelFor(key) {
		ops = append(ops, operation{Op: "add", Path: "/metadata/labels/" + escape(wire.ReportLabel), Value: labelFor(key)})
	}
	bare := len(w.meta.Annotations) == 0
	for _, name := range []string{wire.RowsLeftOutAnnotation, wire.ResourcesLeftOutAnnotation} {
		value := annotationsFor(want)[name]
		have, is := w.meta.Annotations[name]
		switch {
		case value == have && is == (value != ""):
		case value == "":
			ops = append(ops, operation{Op: "remove", Path: "/metadata/annotations/" + escape(name)})
		case bare:
			ops = append(ops, operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{name: value}})
			bare = false
		default:
			ops = append(ops, operation{Op: "add", Path: "/metadata/annotations/" + escape(name), Value: value})
		}
	}
	return ops
}

// escape spells a key for a JSON pointer (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// envelopeBytes estimates, from above, what a report takes beside its content.
func envelopeBytes(meta *metav1.ObjectMeta) int {
	data, err := json.Marshal(meta)
	if err != nil {
		return envelopeReserve // an ObjectMeta always encodes
	}
	return len(data) + envelopeReserve
}

// envelopeReserve is for kind and API version, for annotations that are about to
// be added, and for what the API server writes into the metadata of a new report.
const envelopeReserve = 2048

// leftOut returns how many rows a report says that it does not hold.
func leftOut(meta *metav1.PartialObjectMetadata) int {
	n, err := strconv.Atoi(meta.Annotations[wire.RowsLeftOutAnnotation])
	if err != nil {
		return 0
	}
	return n
}
