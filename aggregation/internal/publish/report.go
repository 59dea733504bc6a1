// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/merge"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// reportKind is the kind of a report. Only its metadata is watched.
const reportKind = "MulticlusterApplicationSetReport"

// fieldOwner is the field manager of a report.
const fieldOwner = "multicluster-integrations-aggregation"

// Metadata returns an empty report to read metadata into.
func Metadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(reportKind))
	return m
}

// readReport reads a report with its content. nil means that it does not exist. The schema of a
// report does not restrict its rows, so another client may have written an invalid report. Then the
// result has no content, and the report has to be written again.
func readReport(ctx context.Context, live client.Reader, key types.NamespacedName) (*storedReport, *v1alpha1.AppSetStatuses, error) {
	var report v1alpha1.MulticlusterApplicationSetReport
	err := live.Get(ctx, key, &report)
	if malformed := (*json.UnmarshalTypeError)(nil); errors.As(err, &malformed) {
		logr.FromContextOrDiscard(ctx).Info("replacing a malformed report", "reason", malformed.Error())
		w := &storedReport{meta: Metadata(), rewrite: true}
		if err = live.Get(ctx, key, w.meta); err == nil {
			w.own = isOwn(w.meta)
			return w, nil, nil
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get report: %w", err)
	}
	w := &storedReport{meta: Metadata(), content: merge.Content{
		Rows:      merge.RowsOf(report.Statuses.ClusterConditions),
		Resources: merge.Resources(slices.Clone(report.Statuses.Resources)),
		Summary:   report.Statuses.Summary,
	}}
	w.meta.ObjectMeta = report.ObjectMeta
	w.own = isOwn(w.meta)
	w.rewrite = !slices.Equal(w.content.Resources.Refs(), report.Statuses.Resources)
	return w, &report.Statuses, nil
}

// isOwn reports whether aggregation manages a report: it has the label, or aggregation
// is among its field managers if another client removed the label. A cache may not
// have the managed fields.
func isOwn(meta *metav1.PartialObjectMetadata) bool {
	_, labelled := meta.Labels[contract.ReportLabel]
	return labelled || slices.ContainsFunc(meta.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == fieldOwner })
}

func labelFor(key types.NamespacedName) string {
	return contract.LabelValue(key.Namespace + "." + key.Name)
}

// metadataFor returns the metadata of a report with that content, and whether it differs from meta.
// Foreign labels and annotations stay. The write replaces all metadata, but the API server rejects
// it if the report is newer than meta.
func metadataFor(key types.NamespacedName, meta *metav1.ObjectMeta, content *merge.Content) (next metav1.ObjectMeta, differs bool) {
	meta.DeepCopyInto(&next)
	next.ManagedFields = nil // absent, they stay the API server's business
	metav1.SetMetaDataLabel(&next, contract.ReportLabel, labelFor(key))
	for name, count := range map[string]int{
		contract.RowsLeftOutAnnotation: content.RowsLeftOut, contract.ResourcesLeftOutAnnotation: content.ResourcesLeftOut,
	} {
		if count == 0 {
			delete(next.Annotations, name)
		} else {
			metav1.SetMetaDataAnnotation(&next, name, strconv.Itoa(count))
		}
	}
	return next, !maps.Equal(next.Labels, meta.Labels) || !maps.Equal(next.Annotations, meta.Annotations)
}

// envelopeBytes estimates, from above, the bytes that a report takes in addition to its content.
func envelopeBytes(meta *metav1.ObjectMeta) int {
	data, err := json.Marshal(meta)
	if err != nil {
		return envelopeReserve // an ObjectMeta always encodes
	}
	return len(data) + envelopeReserve
}

// envelopeReserve is room for kind and API version, and for annotations that will be added. It is
// also room for the metadata that the API server adds to a new report.
const envelopeReserve = 2048

// leftOut returns the number of rows that a report does not have.
func leftOut(meta *metav1.PartialObjectMetadata) int {
	n, err := strconv.Atoi(meta.Annotations[contract.RowsLeftOutAnnotation])
	if err != nil {
		return 0
	}
	return n
}
