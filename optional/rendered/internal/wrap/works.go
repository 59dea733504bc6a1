// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wrap puts manifests into ManifestWorks. It decides which manifests go together, in which
// order, and how the work agent handles them. It is a pure function of manifests and options, so
// that the same source always gives the same bytes.
package wrap

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Work is a ManifestWork in its written form, without status. It has every field that its CRD
// defaults, so that the stored object equals the written object.
type Work struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              workv1.ManifestWorkSpec `json:"spec"`
}

// Options identify the owner of the works, and limit their size.
type Options struct {
	Application string // as Argo CD passes it to a plugin
	Cluster     string // the works' namespace

	Types           *manifest.Types
	CreateNamespace string // every work creates this namespace if it is missing, "" for none
	Shards          int    // works for each phase and wave, at least 1
	ShardsBefore    int    // the former value of Shards, 0 if unchanged
	WavesBefore     parameters.WavesBefore
	Poll            bool // leaves out fields that a ManifestWork before Open Cluster Management 1.2 does not have
	SizeLimit       int  // bytes of all manifests of one work
	Executor        *workv1.ManifestWorkSubjectServiceAccount
}

// Works wraps manifests in works, ordered by name. It leaves out manifests that no sync delivers,
// such as Helm's test hooks. Without manifests it returns no work.
func Works(manifests []manifest.Manifest, o Options) ([]Work, error) {
	groups, err := split(manifests, o)
	if err != nil {
		return nil, err
	}
	var works []Work
	for i := range groups {
		shards, err := groups[i].shards(o)
		if err != nil {
			return nil, err
		}
		for suffix, items := range shards {
			works = append(works, newWork(&groups[i], suffix, items, o))
		}
	}
	slices.SortFunc(works, func(a, b Work) int { return strings.Compare(a.Name, b.Name) })
	return works, nil
}

func newWork(g *group, suffix string, items []item, o Options) Work {
	w := Work{
		TypeMeta: metav1.TypeMeta{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      contract.RenderedWorkName(o.Application, g.suffix()+suffix),
			Namespace: o.Cluster,
			Labels:    map[string]string{contract.RenderedLabel: "true"},
			Annotations: map[string]string{
				contract.RenderedApplicationAnnotation: o.Application,
				// Client-side apply would store a copy of the work in an annotation. An annotation
				// may hold half of the bytes of a work.
				argocd.SyncOptionsAnnotation: argocd.OptionServerSideApply,
			},
		},
		Spec: workv1.ManifestWorkSpec{
			DeleteOption:    deleteOption(items),
			ManifestConfigs: configs(items, o.Poll),
		},
	}
	if g.wave != 0 {
		w.Annotations[argocd.SyncWaveAnnotation] = strconv.Itoa(g.wave)
	}
	if g.phase != "" {
		w.Annotations[argocd.HookAnnotation] = g.phase
		w.Annotations[argocd.HookDeletePolicyAnnotation] = argocd.DeleteBeforeHookCreation
	}
	if o.Executor != nil {
		w.Spec.Executor = &workv1.ManifestWorkExecutor{
			Subject: workv1.ManifestWorkExecutorSubject{Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: o.Executor},
		}
	}
	for _, i := range items {
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, i.packed)
	}
	return w
}
