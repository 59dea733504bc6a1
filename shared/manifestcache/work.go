// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Work has the fields that are kept of a ManifestWork, in an informer's cache and elsewhere. It is
// shared and never changes after [Compact].
type Work struct {
	// ObjectMeta has no owners, finalizers and managed fields. It has the labels and annotations of
	// the pull model. Annotations that differ for every work are fields of Work instead, so that
	// equal maps can be shared.
	metav1.ObjectMeta
	// HubNamespace and HubName name the hub Application, from the annotations. They are empty if
	// the annotation is not a valid name.
	HubNamespace, HubName string
	// AppNamespace is the Application's namespace on the managed cluster, once the agent has
	// reported it.
	AppNamespace string
	// Facts are the agent's report about the Application (see [Work.Observe]).
	Facts status.WorkStatus
	// Stored has the fields that the writer of the work compares. It is nil in a process that does
	// not write.
	Stored *Stored
	// Extra has the fields that only some works have. It is never nil.
	Extra *Extra
}

// Stored has the fields that are kept of a ManifestWork for its writer.
type Stored struct {
	// Hash identifies the spec. BaseHash identifies the spec without its request, and is empty if
	// it has none.
	Hash, BaseHash string
	// ApplicationSpec is the annotation with the hash of the Application's spec.
	ApplicationSpec string
	// Delivers is the Application in the spec, or empty if no manifest is one. In a Work it is nil
	// if the name equals the hub Application's.
	Delivers *types.NamespacedName
	// Project is the AppProject that the Application in the spec names, with "default" for none. It
	// is empty if the spec has no Application that can be decoded.
	Project string
	// ProjectHash identifies the manifest of that AppProject in the spec. It is empty if the spec
	// has no AppProject.
	ProjectHash string
	// Polls is true if the agent has to poll the Application instead of watching it.
	Polls bool
	// Finalized is true if the work has the agent's finalizer, which the agent sets before it
	// applies the work.
	Finalized bool
	// Refused is true if the agent has reported, at the work's generation, that it could not apply
	// all of it.
	Refused bool
	// Labelled and Annotated are true if the work has labels and annotations, from whichever
	// writer.
	Labelled, Annotated bool
}

// Extra has the fields of works that have a request or a problem, or that only observe.
type Extra struct {
	// Request is the annotation of the one-time request.
	Request string
	// Refusal is nil if the agent could apply the Application, or has not tried.
	Refusal *Refusal
	// Missing is true if the agent cannot read the Application.
	Missing bool
	// Values are feedback values that are not part of the status.
	Values []Value
}

// Refusal is why the agent could not apply the Application, and at which generation.
type Refusal struct {
	Message    string
	Generation int64
}

// Value is a feedback value.
type Value struct{ Name, Text string }

// Informers, handlers and predicates need an object.
var _ interface {
	metav1.Object
	runtime.Object
} = &Work{}

// GetObjectKind implements [runtime.Object].
func (w *Work) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the work itself, which never changes.
func (w *Work) DeepCopyObject() runtime.Object { return w }

// Application returns the hub Application that a work of ours carries. Label and annotations decide
// whether it is ours, and never the name.
func (w *Work) Application() (app types.NamespacedName, ours bool) {
	app, named := w.Claimant()
	return app, named && w.Labels[contract.PullLabel] == "true"
}

// Claimant returns the hub Application that the annotations name, even if the work has lost the
// label by which caches select works.
func (w *Work) Claimant() (app types.NamespacedName, named bool) {
	app = types.NamespacedName{
		Namespace: cmp.Or(w.HubNamespace, w.Annotations[contract.HubNamespaceAnnotation]), // with a value that is not a valid name
		Name:      cmp.Or(w.HubName, w.Annotations[contract.HubNameAnnotation]),
	}
	return app, app.Namespace != "" && app.Name != ""
}

// ApplicationSet returns the ApplicationSet of the work's Application. ok is false if the
// Application has no ApplicationSet, or if the work is not ours.
func (w *Work) ApplicationSet() (set types.NamespacedName, ok bool) {
	if !contract.IsPulled(w.Labels) {
		return set, false
	}
	return setIn(w.Annotations[contract.HostingAnnotation], &contract.Rejected{})
}

// setIn returns the ApplicationSet that an annotation names.
func setIn(annotation string, rejected *contract.Rejected) (set types.NamespacedName, ok bool) {
	namespace, name, ok := contract.SplitKey(annotation)
	if !ok || contract.Name(namespace, rejected) != namespace || contract.Name(name, rejected) != name {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// Applied returns the status of condition Applied at the work's generation. It is empty until the
// agent has reported on that generation. It needs [Work.Stored].
func (w *Work) Applied() metav1.ConditionStatus {
	switch {
	case w.Facts.Applied:
		return metav1.ConditionTrue
	case w.Stored.Refused:
		return metav1.ConditionFalse
	}
	return ""
}

// Delivers returns the Application that the work delivers on its managed cluster. ok is false if it
// delivers none under the name of the hub Application.
func (w *Work) Delivers() (app types.NamespacedName, ok bool) {
	app, named := w.Claimant()
	switch existing := w.Stored.Delivers; {
	case !named || existing != nil && existing.Name != app.Name:
		return types.NamespacedName{}, false
	case existing != nil:
		return *existing, true
	}
	return app, true
}

// Observe returns the observation of the work's Application for a state of its cluster.
func (w *Work) Observe(cluster status.Cluster) status.Observation {
	o := w.Facts.Observe(cluster)
	o.Work = w.UID
	return o
}

// Compared reports whether the last comparison by the managed cluster's Argo CD was successful.
func (w *Work) Compared() bool {
	o := w.Facts.Observe(status.Cluster{Available: true})
	return o.Compared() && !slices.ContainsFunc(o.Conditions, func(c contract.Condition) bool { return c.Type == argocd.ComparisonError })
}

// Feedback returns a feedback value that is not part of the status, or "".
func (w *Work) Feedback(name string) string {
	for _, v := range w.Extra.Values {
		if v.Name == name {
			return v.Text
		}
	}
	return ""
}

// Refusal returns why the agent could not apply the Application. It is "" if it could, or has not
// tried.
func (w *Work) Refusal() string {
	if w.Extra.Refusal == nil {
		return ""
	}
	return w.Extra.Refusal.Message
}

// AllAnnotations returns a new map with the annotations of the pull model, including those that are
// fields.
func (w *Work) AllAnnotations() map[string]string {
	all := make(map[string]string, len(w.Annotations)+4)
	maps.Copy(all, w.Annotations)
	for key, value := range map[string]string{
		contract.HubNamespaceAnnotation: w.HubNamespace, contract.HubNameAnnotation: w.HubName,
		contract.RequestAnnotation: w.Extra.Request, contract.ApplicationSpecAnnotation: w.Stored.ApplicationSpec,
	} {
		if value != "" {
			all[key] = value
		}
	}
	return all
}

// SameMetadata reports whether two versions of a work have the same labels and annotations of the
// pull model. Both or neither of them must be in deletion.
func (w *Work) SameMetadata(o *Work) bool {
	return w.HubNamespace == o.HubNamespace && w.HubName == o.HubName && (w.DeletionTimestamp == nil) == (o.DeletionTimestamp == nil) &&
		w.Extra.Request == o.Extra.Request && w.Stored.ApplicationSpec == o.Stored.ApplicationSpec &&
		maps.Equal(w.Labels, o.Labels) && maps.Equal(w.Annotations, o.Annotations)
}

// ApplicationOf is [Work.Application] of any ManifestWork.
func ApplicationOf(work metav1.Object) (app types.NamespacedName, ours bool) {
	app, named := ClaimantOf(work)
	return app, named && work.GetLabels()[contract.PullLabel] == "true"
}

// ClaimantOf is [Work.Claimant] of any ManifestWork.
func ClaimantOf(work metav1.Object) (app types.NamespacedName, named bool) {
	if w, cached := work.(*Work); cached {
		return w.Claimant()
	}
	a := work.GetAnnotations()
	app = types.NamespacedName{Namespace: a[contract.HubNamespaceAnnotation], Name: a[contract.HubNameAnnotation]}
	return app, app.Namespace != "" && app.Name != ""
}
