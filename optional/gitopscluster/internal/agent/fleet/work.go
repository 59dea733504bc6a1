// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// ensureWork creates or updates the work. taken names another client that owns an object of that
// name.
func (f *Fleet) ensureWork(ctx context.Context, w agent.Desired, addOn *addonv1alpha1.ManagedClusterAddOn) (work *workv1.ManifestWork, taken string, err error) {
	if work, err = find(ctx, f, w.Cluster, agent.WorkName, &workv1.ManifestWork{}); err != nil {
		return nil, "", err
	}
	want, err := agent.Work(w, agent.CertificateName(work, addOn, w.AgentNamespace))
	if err != nil {
		return nil, "", err
	}
	switch {
	case work == nil:
		if err := f.client.Create(ctx, want, client.FieldOwner(fieldOwner)); err != nil {
			return nil, "", fmt.Errorf("create ManifestWork %s/%s: %w", want.Namespace, want.Name, err)
		}
		ctrl.LoggerFrom(ctx).Info("created the work that delivers argocd-agent", "cluster", w.Cluster)
		work = want
	case foreign(work) != "":
		return nil, foreign(work), nil
	case !work.DeletionTimestamp.IsZero():
		return nil, "", fmt.Errorf("ManifestWork %s/%s is being deleted", work.Namespace, work.Name)
	case !carries(work, want) || !sameSpec(work.Spec, want.Spec):
		if work, err = rewrite(ctx, f.client, work, want); err != nil {
			return nil, "", err
		}
		ctrl.LoggerFrom(ctx).Info("changed the work that delivers argocd-agent", "cluster", w.Cluster)
	}
	return work, "", f.stay(ctx, w.Cluster)
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// rewrite replaces the whole spec of the observed version of a work. A merge would keep fields that
// another client has added. Labels and annotations of other clients stay. It returns the new version.
func rewrite(ctx context.Context, c client.Client, work, want *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	patch, err := json.Marshal(slices.Concat(
		[]operation{{"replace", "/metadata/resourceVersion", work.ResourceVersion}, {"replace", "/spec", want.Spec}},
		setEach("/metadata/labels", work.Labels, want.Labels),
		setEach("/metadata/annotations", work.Annotations, want.Annotations),
	))
	if err != nil {
		return nil, err
	}
	stored := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: work.Namespace, Name: work.Name}}
	if err := c.Patch(ctx, stored, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(fieldOwner)); err != nil {
		return nil, fmt.Errorf("patch ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	return stored, nil
}

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

// setEach sets the entries of a map that has some others or none. The cache does not have all of the
// others.
func setEach(path string, stored, want map[string]string) (all []operation) {
	if len(stored) == 0 {
		return []operation{{"add", path, want}}
	}
	for key, value := range want {
		all = append(all, operation{"add", path + "/" + escapeKey.Replace(key), value})
	}
	return all
}

// stay reverts the first steps of a removal, for a cluster that is selected again.
func (f *Fleet) stay(ctx context.Context, cluster string) error {
	leaving := &workv1.ManifestWork{}
	err := f.leaving.Get(ctx, types.NamespacedName{Namespace: cluster, Name: agent.LeavingWorkName}, leaving)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get ManifestWork %s/%s: %w", cluster, agent.LeavingWorkName, err)
	case !agent.IsOurs(leaving):
		return nil
	}
	return f.delete(ctx, leaving)
}

// sameSpec compares a stored spec with the desired one. Some hubs drop how feedback is fetched,
// because their CRD does not have that field.
func sameSpec(stored, want workv1.ManifestWorkSpec) bool {
	stored, want = *stored.DeepCopy(), *want.DeepCopy()
	if len(stored.ManifestConfigs) == len(want.ManifestConfigs) {
		for i := range stored.ManifestConfigs {
			if stored.ManifestConfigs[i].FeedbackScrapeType == "" {
				want.ManifestConfigs[i].FeedbackScrapeType = ""
			}
		}
	}
	return sameManifests(&stored, &want) && equality.Semantic.DeepEqual(stored, want)
}

// sameManifests compares manifests by their content, and then removes them from both specs.
func sameManifests(stored, want *workv1.ManifestWorkSpec) bool {
	a, b := stored.Workload.Manifests, want.Workload.Manifests
	stored.Workload.Manifests, want.Workload.Manifests = nil, nil
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		var x, y any
		if json.Unmarshal(a[i].Raw, &x) != nil || json.Unmarshal(b[i].Raw, &y) != nil || !equality.Semantic.DeepEqual(x, y) {
			return false
		}
	}
	return true
}
