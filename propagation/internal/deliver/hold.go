// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// hold makes want, which differs from current, a work that leaves alone what the
// managed cluster is at: of the stored spec only the AppProjects change. It returns
// whether they do, and what waits.
func (r *Reconciler) hold(ctx context.Context, current, want *workv1.ManifestWork, p plan, c change) (bool, change, []finding, error) {
	waits := func(what string) []finding {
		return []finding{{ReasonRequestWaiting, fmt.Sprintf(
			"%s until cluster %q is through with %s: let it finish, or terminate the operation", what, current.Namespace, p.request.ID)}}
	}
	var waiting []finding
	if p.replaced {
		waiting = waits("the new operation or refresh waits")
	}
	if baseOf(current) == c.base {
		return false, c, waiting, nil // only the request differs, and that is replaced later
	}
	stored, err := r.storedWork(ctx, current)
	if err != nil {
		return false, c, waiting, err
	}
	changed, err := takeProjects(&stored.Spec, &want.Spec)
	if err != nil {
		return false, c, waiting, err
	}
	kept, err := changeOf(&stored.Spec, p.request)
	if err != nil {
		return false, c, waiting, err
	}
	if kept.base != c.base {
		waiting = waits("changes wait")
	}
	if !changed || r.settled.same(current, kept.hash) {
		return false, c, waiting, nil
	}
	want.Spec = stored.Spec
	return true, kept, waiting, nil
}

// carried puts the request that a work carries in the place of q's.
func (r *Reconciler) carried(ctx context.Context, current *workv1.ManifestWork, q request) (request, error) {
	stored, err := r.storedWork(ctx, current)
	if err != nil {
		return q, err
	}
	manifests := stored.Spec.Workload.Manifests
	if len(manifests) == 0 {
		return q, nil // another writer has emptied it: there is nothing to keep
	}
	var app deliveredApplication
	if err := json.Unmarshal(manifests[len(manifests)-1].Raw, &app); err != nil {
		return q, fmt.Errorf("decode the Application in ManifestWork %s/%s: %w", current.Namespace, current.Name, err)
	}
	q.Operation, q.Refresh = app.Operation, app.Metadata.Annotations[argocd.RefreshAnnotation]
	return q, nil
}

// storedWork returns a cached work with its spec, which the cache does not keep, as it
// was when it was cached.
func (r *Reconciler) storedWork(ctx context.Context, cached *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	stored := &workv1.ManifestWork{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(cached), stored)
	if apierrors.IsNotFound(err) || err == nil && stored.ResourceVersion != cached.ResourceVersion {
		return nil, apierrors.NewConflict(workv1.Resource("manifestworks"), cached.Name, err) // the cache is behind
	}
	if err != nil {
		return nil, fmt.Errorf("get ManifestWork %s/%s: %w", cached.Namespace, cached.Name, err)
	}
	return stored, nil
}

// takeProjects gives the AppProjects in spec the content that those of the same name
// have in want, and reports whether one had another.
func takeProjects(spec, want *workv1.ManifestWorkSpec) (changed bool, err error) {
	wanted := map[deliveredID]json.RawMessage{}
	for _, m := range want.Workload.Manifests {
		id, err := idOf(m.Raw)
		if err != nil {
			return false, err
		}
		wanted[id] = m.Raw
	}
	for i := range spec.Workload.Manifests {
		m := &spec.Workload.Manifests[i]
		id, err := idOf(m.Raw)
		if err != nil {
			return false, err
		}
		if raw, there := wanted[id]; there && id.Kind == argocd.AppProjectKind && !bytes.Equal(raw, m.Raw) {
			m.Raw, changed = raw, true
		}
	}
	return changed, nil
}

// deliveredID tells the manifests of a work apart.
type deliveredID struct {
	Kind, Namespace, Name string
}

func idOf(manifest json.RawMessage) (deliveredID, error) {
	var o deliveredObject
	if err := json.Unmarshal(manifest, &o); err != nil {
		return deliveredID{}, fmt.Errorf("decode a manifest: %w", err)
	}
	return deliveredID{o.Kind, o.Metadata.Namespace, o.Metadata.Name}, nil
}
