// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollouts says where the rollout of an ApplicationSet stands, for its report and its
// page. While it is off nothing is watched and no right is needed.
package rollouts

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// The right to list and watch ApplicationSetRollouts is no marker here: it would be granted where
// rollouts are not installed, too. deploy/components/rollouts grants it.

// State is where a rollout stands.
type State struct {
	// Name is that of the ApplicationSetRollout.
	Name  string `json:"name"`
	Phase string `json:"phase"`
	// Group is the decision group at work.
	Group string `json:"group,omitempty"`
	// Promoted and Candidate are the revisions, one for each source.
	Promoted  []string `json:"promoted,omitempty"`
	Candidate []string `json:"candidate,omitempty"`
	// Message says who waits for what.
	Message string `json:"message,omitempty"`
}

// String returns it as JSON, "" for none.
func (s *State) String() string {
	if s == nil {
		return ""
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return "" // strings always encode
	}
	return string(raw)
}

// Rollouts are those of a hub.
type Rollouts struct{ cache client.Reader }

// Cache returns how the informer of ApplicationSetRollouts has to be trimmed: without the clusters,
// which are most of one and change most often, and bounded: revisions are what a managed cluster
// calls them.
func Cache() cache.ByObject {
	return cache.ByObject{Transform: func(in any) (any, error) {
		full, ok := in.(*rollout.ApplicationSetRollout)
		if !ok {
			return in, nil
		}
		was, rejected := &full.Status, &contract.Rejected{}
		return &rollout.ApplicationSetRollout{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion, CreationTimestamp: full.CreationTimestamp,
			},
			Spec: rollout.Spec{ApplicationSet: full.Spec.ApplicationSet},
			Status: rollout.Status{
				Phase: was.Phase, Group: contract.Token(was.Group, rejected), Message: contract.Message(was.Message, rejected),
				Promoted: bounded(was.Promoted, rejected), Candidate: bounded(was.Candidate, rejected),
			},
		}, nil
	}}
}

func bounded(v *rollout.Version, rejected *contract.Rejected) *rollout.Version {
	if v == nil {
		return nil
	}
	kept := &rollout.Version{}
	for _, revision := range contract.Clip(v.Revisions, rollout.MaxSources, rejected) {
		kept.Revisions = append(kept.Revisions, contract.Token(revision, rejected))
	}
	return kept
}

// bySet is the index of rollouts by the name of their ApplicationSet.
const bySet = "spec.applicationSet"

// Follow returns the rollouts of a cache that trims them as [Cache] says, and what waits until all
// that were there are known. Changed is called for every ApplicationSet whose rollout stands
// elsewhere.
func Follow(ctx context.Context, c cache.Cache, changed func(types.NamespacedName)) (r *Rollouts, waitForSync func(context.Context) error, err error) {
	err = c.IndexField(ctx, &rollout.ApplicationSetRollout{}, bySet, func(o client.Object) []string {
		if ro, ok := o.(*rollout.ApplicationSetRollout); ok {
			return []string{ro.Spec.ApplicationSet}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("index ApplicationSetRollouts: %w", err)
	}
	informer, err := c.GetInformer(ctx, &rollout.ApplicationSetRollout{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, nil, fmt.Errorf("watch ApplicationSetRollouts: %w", err)
	}
	notify := func(object any) {
		if lost, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
			object = lost.Obj
		}
		if ro, ok := object.(*rollout.ApplicationSetRollout); ok {
			changed(types.NamespacedName{Namespace: ro.Namespace, Name: ro.Spec.ApplicationSet})
		}
	}
	followed, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: notify, DeleteFunc: notify,
		UpdateFunc: func(before, after any) {
			was, ok := before.(*rollout.ApplicationSetRollout)
			is, ok2 := after.(*rollout.ApplicationSetRollout)
			if ok && ok2 && !equality.Semantic.DeepEqual(was.Status, is.Status) {
				notify(after)
			}
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("watch ApplicationSetRollouts: %w", err)
	}
	return &Rollouts{c}, func(ctx context.Context) error {
		if !toolscache.WaitForCacheSync(ctx.Done(), followed.HasSynced) {
			return fmt.Errorf("wait for the first list of ApplicationSetRollouts: %w", context.Cause(ctx))
		}
		return nil
	}, nil
}

// Of returns where the rollout of an ApplicationSet stands, nil when it has none that was accepted.
func (r *Rollouts) Of(ctx context.Context, set types.NamespacedName) (*State, error) {
	if r == nil {
		return nil, nil
	}
	var list rollout.ApplicationSetRolloutList
	if err := r.cache.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingFields{bySet: set.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ApplicationSetRollouts in %s: %w", set.Namespace, err)
	}
	ro := rollout.Governing(list.Items, set.Namespace, set.Name)
	if ro == nil || ro.Status.Phase == "" {
		return nil, nil
	}
	s := &State{Name: ro.Name, Phase: string(ro.Status.Phase), Group: ro.Status.Group, Message: ro.Status.Message}
	if v := ro.Status.Promoted; v != nil {
		s.Promoted = v.Revisions
	}
	if v := ro.Status.Candidate; v != nil {
		s.Candidate = v.Revisions
	}
	return s, nil
}
