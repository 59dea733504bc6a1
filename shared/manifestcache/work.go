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

// Work is what is kept of a ManifestWork, in the informer's cache and elsewhere. It is
// shared, and never changed once [Compact] has made it.
type Work struct {
	// ObjectMeta is without owners, finalizers and managed fields. Of labels and annotations
	// it has those of the pull model, but for the annotations that are fields of Work, since
	// no two works have the same: equal maps are one map.
	metav1.ObjectMeta
	// HubNamespace and HubName are those of the hub Application that the annotations name,
	// empty for what can be no name.
	HubNamespace, HubName string
	// AppNamespace is the Application's on the managed cluster, once the agent has said it.
	AppNamespace string
	// Facts are what the agent has reported of the Application; see [Work.Observe].
	Facts status.Facts
	// Stored is what the writer of the work compares. It is empty where nothing is written.
	Stored *Stored
	// Extra is what only some works have. It is never nil.
	Extra *Extra
}

// Stored is what is kept of a ManifestWork for those who write it.
type Stored struct {
	// Hash identifies the spec, and BaseHash the spec without its request: it is empty
	// when there is none.
	Hash, BaseHash string
	// ApplicationSpec is the annotation of the Application's spec.
	ApplicationSpec string
	// Delivers is the Application in the spec, empty when none of its manifests is one. It is
	// nil when the spec has no manifests, and in a Work when it is called as on the hub.
	Delivers *types.NamespacedName
	// Project is the AppProject that the Application in the spec names: "default" when it names
	// none, empty when the spec has no Application whose own spec can be read.
	Project string
	// ProjectHash identifies the manifest of that AppProject in the spec, empty when there is none.
	ProjectHash string
	// Polls: the agent is to poll the Application, not to watch it.
	Polls bool
	// Finalized: the agent has put its finalizer on the work, which it does before it applies it.
	Finalized bool
	// Refused: the agent has reported, at the work's generation, that it could not apply all of it.
	Refused bool
	// Labelled and Annotated: the work has labels and annotations, be they of others than the
	// pull model.
	Labelled, Annotated bool
}

// Extra is what only works with a request, with a problem, or that only observe have.
type Extra struct {
	// Request is the annotation of the one-time request.
	Request string
	// Refusal is nil when the agent could apply the Application, or has not tried.
	Refusal *Refusal
	// Missing: the agent cannot read the Application.
	Missing bool
	// Values are feedback values that are not of the status.
	Values []Value
}

// Refusal is why the agent could not apply the Application, and at which generation.
type Refusal struct {
	Message    string
	Generation int64
}

// Value is a feedback value.
type Value struct{ Name, Text string }

// Informers, handlers and predicates take a Work for an object.
var _ interface {
	metav1.Object
	runtime.Object
} = &Work{}

// GetObjectKind implements [runtime.Object].
func (w *Work) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the work itself, which never changes.
func (w *Work) DeepCopyObject() runtime.Object { return w }

// Application returns the hub Application that a work of ours carries. Label and
// annotations decide whether it is ours, never the name.
func (w *Work) Application() (app types.NamespacedName, ours bool) {
	app, named := w.Claimant()
	return app, named && w.Labels[contract.PullLabel] == "true"
}

// Claimant returns the hub Application that the annotations name, whether or not the work
// still has the label by which caches select works.
func (w *Work) Claimant() (app types.NamespacedName, named bool) {
	app = types.NamespacedName{
		Namespace: cmp.Or(w.HubNamespace, w.Annotations[contract.HubNamespaceAnnotation]), // one that can be no name
		Name:      cmp.Or(w.HubName, w.Annotations[contract.HubNameAnnotation]),
	}
	return app, app.Namespace != "" && app.Name != ""
}

// ApplicationSet returns the ApplicationSet that the work's Application is of. ok is false
// for none, and for a work that is not ours.
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

// Applied returns the status of the condition Applied at the work's generation: empty while the
// agent has not reported that it could, or could not, apply it. It needs [Work.Stored].
func (w *Work) Applied() metav1.ConditionStatus {
	switch {
	case w.Facts.Applied:
		return metav1.ConditionTrue
	case w.Stored.Refused:
		return metav1.ConditionFalse
	}
	return ""
}

// Delivers returns the Application that the work delivers on its managed cluster. ok is
// false when it delivers none under the name of the hub Application.
func (w *Work) Delivers() (app types.NamespacedName, ok bool) {
	app, named := w.Claimant()
	switch there := w.Stored.Delivers; {
	case !named || there != nil && there.Name != app.Name:
		return types.NamespacedName{}, false
	case there != nil:
		return *there, true
	}
	return app, true
}

// Observe returns what can be said about the work's Application while its cluster is in
// the given state.
func (w *Work) Observe(cluster status.Cluster) status.Observation {
	o := w.Facts.Observe(cluster)
	o.Work = w.UID
	return o
}

// Compared reports whether the managed cluster's Argo CD compared the Application without an error
// the last time.
func (w *Work) Compared() bool {
	o := w.Facts.Observe(status.Cluster{Available: true})
	return o.Compared() && !slices.ContainsFunc(o.Conditions, func(c contract.Condition) bool { return c.Type == argocd.ComparisonError })
}

// Feedback returns the feedback value of that name, which is none of the status, "" for
// none.
func (w *Work) Feedback(name string) string {
	for _, v := range w.Extra.Values {
		if v.Name == name {
			return v.Text
		}
	}
	return ""
}

// Refusal returns why the agent could not apply the Application, "" when it could or has
// not tried.
func (w *Work) Refusal() string {
	if w.Extra.Refusal == nil {
		return ""
	}
	return w.Extra.Refusal.Message
}

// AllAnnotations returns a map of the caller's own with the annotations of the pull model,
// also those that are fields.
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

// SameMetadata reports whether two versions of a work have the same labels and annotations
// of the pull model, and are both being deleted or both not.
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
