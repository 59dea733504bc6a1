// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

var (
	workLabelKeys      = []string{wire.PullLabel, wire.ApplicationSetLabel, wire.ApplicationSetHashLabel}
	workAnnotationKeys = []string{wire.HubNamespaceAnnotation, wire.HubNameAnnotation, wire.HubUIDAnnotation, wire.HostingAnnotation, wire.RequestAnnotation, wire.ChangeGenerationAnnotation, wire.StoredSpecAnnotation}
)

// patchOperation is one operation of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// workPatch returns the JSON patch that makes current the wanted work, nil when it
// is. Labels and annotations of others are not in it. It is no merge patch, since
// with those the API server drops every null in a list, and the manifests are one:
// a null in Helm values, which takes a default of the chart away, would be lost.
//
// The resource version is replaced, not tested: then the API server answers with a
// conflict when current is out of date, and not with the 422 of a failed test.
func workPatch(current, want *workv1.ManifestWork, withSpec bool) (json.RawMessage, error) {
	patch := changes("/metadata/labels", current.Labels, want.Labels, workLabelKeys)
	patch = append(patch, changes("/metadata/annotations", current.Annotations, want.Annotations, workAnnotationKeys)...)
	if withSpec {
		patch = append(patch, patchOperation{"replace", "/spec", &want.Spec})
	}
	if len(patch) == 0 {
		return nil, nil
	}
	return encode("ManifestWork patch", append([]patchOperation{{"replace", "/metadata/resourceVersion", current.ResourceVersion}}, patch...))
}

// changes returns what gives the keys of the map at path their wanted values.
func changes(path string, current, want map[string]string, keys []string) []patchOperation {
	var patch []patchOperation
	if !stored(current) {
		patch = append(patch, patchOperation{"add", path, struct{}{}})
	}
	begun := len(patch)
	for _, key := range keys {
		value, wanted := want[key]
		is, there := current[key]
		switch {
		case wanted && (!there || value != is):
			patch = append(patch, patchOperation{"add", path + "/" + pointer.Replace(key), value})
		case there && !wanted:
			patch = append(patch, patchOperation{"remove", path + "/" + pointer.Replace(key), nil})
		}
	}
	if len(patch) == begun {
		return nil
	}
	return patch
}

// pointer escapes a key for a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// stored reports whether a map of a cached work is there on the API server too: the
// cache adds keys of its own.
func stored(m map[string]string) bool {
	for key := range m {
		if !strings.HasPrefix(key, cachePrefix) {
			return true
		}
	}
	return false
}

// patchWork sends a patch that was made for current and returns the new metadata.
// When current is out of date the error is a conflict.
func (r *Reconciler) patchWork(ctx context.Context, current *workv1.ManifestWork, patch json.RawMessage) (*metav1.PartialObjectMetadata, error) {
	written := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: current.Namespace, Name: current.Name}}
	written.SetGroupVersionKind(workKind)
	err := r.client.Patch(ctx, written, client.RawPatch(types.JSONPatchType, patch))
	if err == nil {
		return written, nil
	}
	switch {
	case apierrors.IsNotFound(err): // deleted since
		err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
	case apierrors.IsInvalid(err):
		// A step may have failed only because the map or key it is about has gone.
		now := &workv1.ManifestWork{}
		if live := r.live.Get(ctx, client.ObjectKeyFromObject(current), now); live == nil && now.ResourceVersion != current.ResourceVersion {
			err = apierrors.NewConflict(workv1.Resource("manifestworks"), current.Name, err)
		}
	}
	return nil, fmt.Errorf("patch ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
}

// markStored notes, on the wanted work, that the API server stores the wanted spec
// as what current has, be it that its CRD does not know a field: so that nobody has
// to write it again to find out, be it after a restart.
func markStored(current, want *workv1.ManifestWork, hash string, same, withSpec bool) {
	is := current.Annotations[hashAnnotation]
	switch {
	case withSpec: // what becomes of it will be seen
	case same && is != hash && is != "": // a work that is not from the cache has no hash
		want.Annotations[wire.StoredSpecAnnotation] = storedAs(hash, is)
	case !same: // held back: what was noted is still true
		if mark, there := current.Annotations[wire.StoredSpecAnnotation]; there {
			want.Annotations[wire.StoredSpecAnnotation] = mark
		}
	}
}

// storedAs says that a spec with the hash wanted is stored as one with the hash is.
func storedAs(wanted, is string) string { return wanted + "/" + is }
