// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inputReader is where the inputs of a decision are read.
type inputReader struct {
	client.Reader
	// indexed: it is the cache, which can look up by index.
	indexed bool
}

func cached(c client.Reader) inputReader { return inputReader{c, true} }

func uncached(live client.Reader) inputReader { return inputReader{live, false} }

// getCluster returns nil when there positively is no such ManagedCluster.
func getCluster(ctx context.Context, from client.Reader, name string) (*clusterv1.ManagedCluster, error) {
	cluster := &clusterv1.ManagedCluster{}
	err := from.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ManagedCluster %s: %w", name, err)
	}
	return cluster, nil
}

// bound reports whether a PlacementDecision in namespace selects cluster.
func bound(ctx context.Context, from inputReader, namespace, cluster string) (bool, error) {
	options := []client.ListOption{client.InNamespace(namespace), client.UnsafeDisableDeepCopy}
	if from.indexed {
		options = append(options, client.MatchingFields{decisionsByCluster: cluster})
	}
	var list clusterv1beta1.PlacementDecisionList
	if err := from.List(ctx, &list, options...); err != nil {
		return false, fmt.Errorf("list PlacementDecisions in %s: %w", namespace, err)
	}
	for i := range list.Items {
		for _, d := range list.Items[i].Status.Decisions {
			if d.ClusterName == cluster {
				return true, nil
			}
		}
	}
	return false, nil
}

// appliedAt returns the status of the condition Applied at a work's generation, empty while
// its agent has not reported on that.
func appliedAt(work *workv1.ManifestWork) metav1.ConditionStatus {
	c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied)
	if c == nil || c.ObservedGeneration < work.Generation {
		return ""
	}
	return c.Status
}
