// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
)

// group has the manifests of one phase and wave. It becomes separate works, because Argo CD orders
// objects, and here the objects are works.
type group struct {
	phase string // "" if it is no hook
	wave  int
	items []item // in the order in which they are applied
}

// item is a manifest with all that decides about it.
type item struct {
	manifest.Manifest

	packed      workv1.Manifest
	size        int // bytes, as OCM's webhook counts them
	resource    schema.GroupResource
	healthyWhen string
	createOnly  bool // never updated, never deleted
	kept        bool // not deleted
}

func (g *group) suffix() string {
	suffix := ""
	if g.phase != "" {
		suffix = "-" + strings.ToLower(g.phase)
	}
	if g.wave != 0 {
		suffix += "-w" + strconv.Itoa(g.wave)
	}
	return suffix
}

// split sorts manifests into groups.
func split(manifests []manifest.Manifest, o Options) ([]group, error) {
	type key struct {
		phase string
		wave  int
	}
	found := map[key]*group{}
	for i := range manifests {
		m := &manifests[i]
		phase, skip, err := m.Phase()
		if err != nil {
			return nil, err
		}
		wave, err := m.Wave()
		if err != nil {
			return nil, err
		}
		if skip {
			continue
		}
		packed, err := newItem(*m, o.Types)
		if err != nil {
			return nil, err
		}
		if packed.size > o.SizeLimit {
			return nil, fmt.Errorf("%s alone has %d bytes; a ManifestWork holds %d", m, packed.size, o.SizeLimit)
		}
		keys := []key{{phase, wave}}
		// A manifest that moves to another work also stays in its old one until the agent has
		// applied the new one. Otherwise it would be deleted and re-created.
		if before, moves := o.WavesBefore.Of(m.GroupKind().String(), m.Name); moves && keys[0] != (key{wave: before}) {
			keys = append(keys, key{wave: before})
		}
		for _, k := range keys {
			if found[k] == nil {
				found[k] = &group{phase: k.phase, wave: k.wave}
			}
			found[k].items = append(found[k].items, packed)
		}
	}
	groups := make([]group, 0, len(found))
	for _, g := range found {
		slices.SortFunc(g.items, inApplyOrder)
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(strings.Compare(a.phase, b.phase), cmp.Compare(a.wave, b.wave)) })
	return groups, nil
}

func newItem(m manifest.Manifest, types *manifest.Types) (item, error) {
	i := item{
		Manifest:    m,
		kept:        m.IsKept(),
		healthyWhen: m.HealthyWhen(),
		resource:    schema.GroupResource{Group: m.Group, Resource: types.Resource(m.GroupKind())},
	}
	if i.kept && types.IsGuessed(m.GroupKind()) {
		return item{}, fmt.Errorf("%s is to be kept: set its resource in parameter plurals, such as %q: %q", &m, m.GroupKind(), i.resource.Resource)
	}
	raw, err := json.Marshal(m.Object)
	if err != nil {
		return item{}, fmt.Errorf("%s: %w", &m, err)
	}
	i.packed = workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}}
	i.size = i.packed.Size()
	return i, nil
}

// newNamespace returns a namespace that the work creates if it is missing and does not change
// otherwise, because other works or the cluster itself may have it.
func newNamespace(name string, types *manifest.Types) (item, error) {
	i, err := newItem(manifest.Manifest{Version: "v1", Kind: "Namespace", Name: name, Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}, types)
	i.createOnly, i.kept = true, true
	return i, err
}

func inApplyOrder(a, b item) int {
	return cmp.Or(
		cmp.Compare(rank(a.Kind), rank(b.Kind)),
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// applyOrder is the order in which Helm installs kinds. The empty name represents all other kinds.
// They follow the workloads, because a workload may be their controller. They precede the webhooks,
// because the controller has to be running before it answers a webhook.
var applyOrder = strings.Split("PriorityClass,Namespace,NetworkPolicy,ResourceQuota,LimitRange,PodSecurityPolicy,PodDisruptionBudget,ServiceAccount,Secret,"+
	"ConfigMap,StorageClass,PersistentVolume,PersistentVolumeClaim,CustomResourceDefinition,ClusterRole,ClusterRoleBinding,Role,RoleBinding,"+
	"Service,DaemonSet,Pod,ReplicationController,ReplicaSet,Deployment,HorizontalPodAutoscaler,StatefulSet,Job,CronJob,IngressClass,Ingress,"+
	",APIService,MutatingWebhookConfiguration,ValidatingWebhookConfiguration", ",")

func rank(kind string) int {
	if i := slices.Index(applyOrder, kind); i >= 0 {
		return i
	}
	return slices.Index(applyOrder, "")
}
