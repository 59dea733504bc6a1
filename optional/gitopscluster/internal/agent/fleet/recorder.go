// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-logr/logr"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// Plan is [Fleet.Ensure] without writes. It returns the state and, once for each object, the writes
// that Ensure would make.
func (f *Fleet) Plan(ctx context.Context, w agent.Desired) (agent.State, []agent.Write, error) {
	kept := &recorder{Client: f.client}
	dry := *f
	dry.client = kept
	state, err := dry.Ensure(ctrl.LoggerInto(ctx, logr.Discard()), w)
	return state, kept.writes, err
}

// PlanLeave returns the writes that [Fleet.Leave] would make in the end, for a dry run. Its steps
// wait for the managed cluster, so that one pass does not make them all.
func (f *Fleet) PlanLeave(cluster string) []agent.Write {
	work, addOn := kind(&workv1.ManifestWork{}), kind(&addonv1alpha1.ManagedClusterAddOn{})
	return []agent.Write{
		{Verb: "delete", Kind: work, Namespace: cluster, Name: agent.WorkName, Why: "no GitOpsCluster asks for argocd-agent there"},
		{Verb: "create", Kind: work, Namespace: cluster, Name: agent.LeavingWorkName, Why: "it looks whether the client certificate's key is gone"},
		{Verb: "delete", Kind: addOn, Namespace: cluster, Name: agent.AddOnName, Why: "the registration agent removes the key because of it"},
		{Verb: "delete", Kind: work, Namespace: cluster, Name: agent.LeavingWorkName, Why: "the key is gone"},
	}
}

// recorder is a client that reads, and records writes without making them.
type recorder struct {
	client.Client
	writes []agent.Write
}

// Create implements [client.Client].
func (r *recorder) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	why := "the registration agent asks for a client certificate because of it"
	if kind(o) == "ManifestWork" {
		why = "it delivers argocd-agent"
	}
	r.keep("create", o, why)
	return nil
}

// Patch implements [client.Client].
func (r *recorder) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	why := "its owner, namespace or registration differs"
	if kind(o) == "ManifestWork" {
		why = "what it delivers differs"
	}
	r.keep("patch", o, why)
	return nil
}

// Delete implements [client.Client].
func (r *recorder) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	r.keep("delete", o, "a GitOpsCluster asks for argocd-agent there again")
	return nil
}

// Status implements [client.Client].
func (r *recorder) Status() client.SubResourceWriter {
	return statusRecorder{all: r}
}

// keep adds a write unless the object has one.
func (r *recorder) keep(verb string, o client.Object, why string) {
	w := agent.Write{Verb: verb, Kind: kind(o), Namespace: o.GetNamespace(), Name: o.GetName(), Why: why}
	if !slices.ContainsFunc(r.writes, func(is agent.Write) bool {
		return is.Kind == w.Kind && is.Namespace == w.Namespace && is.Name == w.Name
	}) {
		r.writes = append(r.writes, w)
	}
}

// statusRecorder keeps the registrations, which the registration agent acts on, and no condition.
type statusRecorder struct {
	client.SubResourceWriter
	all *recorder
}

// Patch implements [client.SubResourceWriter].
func (s statusRecorder) Patch(ctx context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	data, err := patch.Data(o)
	if err != nil || !bytes.Contains(data, []byte(`"registrations"`)) {
		return err
	}
	return s.all.Patch(ctx, o, patch)
}
