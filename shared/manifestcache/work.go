// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"cmp"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Work is what is kept of a ManifestWork, in the informer's cache and elsewhere. It never
// changes once [Compact] has made it. Fields that few works need are in rare.
type Work struct {
	object // is nothing, and comes first so that it takes no room

	// Namespace is the managed cluster's name.
	Namespace, Name string
	// HubNamespace and HubName are those of the hub Application that the annotations name,
	// empty for what can be no name.
	HubNamespace, HubName string
	// AppNamespace is the Application's on the managed cluster, once the agent has said it.
	AppNamespace string
	// Generation is that of the spec.
	Generation int64

	labels, annotations map[string]string // shared; of the annotations those that are no fields
	deliveredNamespace  string            // where it is not HubNamespace; see noApplication
	operationMessage    string

	heard           int64 // the youngest time of a condition of the Application
	appliedAt       int64 // the generation that the agent has applied, or could not
	startedAt       int64
	finishedAt      int64
	reconciledAt    int64
	resourceVersion uint64

	uid, specHash   [16]byte
	applicationSpec [8]byte // the annotation of the Application's spec
	revision        [20]byte
	created         uint32 // seconds

	has                 has
	health, sync, phase uint8 // see code
	conditions          conditions

	rare *rare
}

// rare is what only some works have: texts that are not of the usual form, and what is
// said of Applications that are not as they should be.
type rare struct {
	uid             types.UID
	resourceVersion string
	deleted         int64
	request         string // an annotation, and no two are the same
	specHash        string
	baseHash        string
	values          []value
	reasons         []reason
	// resource names the Application in the status when it is not the one in the
	// annotations; failures are other manifests that could not be applied, the first
	// of them, before, listed ahead of the Application.
	resource *workv1.ManifestResourceMeta
	failures []workv1.ManifestCondition
	before   int
}

// value is a feedback value.
type value struct{ name, text string }

// reason is why a condition is not True.
type reason struct {
	of         int
	generation int64
	reason     string
	message    string
}

// has tells what there is of that whose field can be zero.
type has uint16

const (
	hasCreated has = 1 << iota
	hasUID
	hasSpecHash
	hasRevision
	hasOperationMessage
	hasHeard
	hasApplication // in the status
	hasOtherLabels // of others than the pull model
	hasOtherAnnotations
	hasDeletion
	polls
	hasApplicationSpec
)

func (h has) has(what has) bool { return h&what != 0 }

// The conditions that are kept: the work's, then its Application's.
const (
	workApplied = iota
	manifestApplied
	manifestAvailable
	feedbackSynced
	conditionTypes
)

var conditionNames = [conditionTypes]string{workv1.WorkApplied, workv1.ManifestApplied, workv1.ManifestAvailable, "StatusFeedbackSynced"}

// conditions are their statuses, two bits each.
type conditions uint8

const (
	conditionAbsent conditions = iota
	conditionTrue
	conditionFalse
	conditionUnknown // and whatever else may be written there
)

func (c conditions) status(of int) conditions { return c >> (2 * of) & 3 }

func (c *conditions) set(of int, status conditions) { *c = *c&^(3<<(2*of)) | status<<(2*of) }

var statusNames = [...]metav1.ConditionStatus{conditionTrue: metav1.ConditionTrue, conditionFalse: metav1.ConditionFalse, conditionUnknown: metav1.ConditionUnknown}

// noApplication stands for a delivered namespace when the work delivers no Application of
// the hub Application's name. It is no legal namespace.
const noApplication = "-"

// SpecFacts is what is kept of a ManifestWork's spec.
type SpecFacts struct {
	// Hash identifies the spec, and BaseHash the spec without its request: it is empty
	// when there is none, or when no reader wants to know.
	Hash, BaseHash string
	// Polls: the agent is told to poll the Application, not to watch it.
	Polls bool
	// Delivers is the Application in the spec, empty when none of its manifests is one,
	// and nil when it has no manifests.
	Delivers *types.NamespacedName
}

// Application returns the hub Application that a work of ours carries. Label and
// annotations decide whether it is ours, never the name.
func (w *Work) Application() (app types.NamespacedName, ours bool) {
	app, named := w.Claimant()
	return app, named && w.labels[contract.PullLabel] == "true"
}

// Claimant returns the hub Application that the annotations name, whether or not the work
// still has the label by which caches select works.
func (w *Work) Claimant() (app types.NamespacedName, named bool) {
	app = types.NamespacedName{
		Namespace: cmp.Or(w.HubNamespace, w.annotations[contract.HubNamespaceAnnotation]), // one that can be no name
		Name:      cmp.Or(w.HubName, w.annotations[contract.HubNameAnnotation]),
	}
	return app, app.Namespace != "" && app.Name != ""
}

// ApplicationSet returns the ApplicationSet that the work's Application is of. ok is false
// for none, and for a work that is not ours.
func (w *Work) ApplicationSet() (set types.NamespacedName, ok bool) {
	if !contract.IsPulled(w.labels) {
		return set, false
	}
	return setIn(w.annotations[contract.HostingAnnotation], &contract.Rejected{})
}

// setIn returns the ApplicationSet that an annotation names.
func setIn(annotation string, rejected *contract.Rejected) (set types.NamespacedName, ok bool) {
	namespace, name, ok := contract.SplitKey(annotation)
	if !ok || contract.Name(namespace, rejected) != namespace || contract.Name(name, rejected) != name {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// Delivers returns the Application that the work delivers on its managed cluster. ok is
// false when it delivers none under the name of the hub Application.
func (w *Work) Delivers() (app types.NamespacedName, ok bool) {
	app, named := w.Claimant()
	switch {
	case !named || w.deliveredNamespace == noApplication:
		return types.NamespacedName{}, false
	case w.deliveredNamespace != "":
		app.Namespace = w.deliveredNamespace
	}
	return app, true
}

// ApplicationOf is [Work.Application] of any ManifestWork.
func ApplicationOf(work metav1.Object) (app types.NamespacedName, ours bool) {
	if w, cached := work.(*Work); cached {
		return w.Application()
	}
	app, named := ClaimantOf(work)
	return app, named && work.GetLabels()[contract.PullLabel] == "true"
}

// ClaimantOf is [Work.Claimant] of any ManifestWork.
func ClaimantOf(work metav1.Object) (app types.NamespacedName, named bool) {
	a := work.GetAnnotations()
	app = types.NamespacedName{Namespace: a[contract.HubNamespaceAnnotation], Name: a[contract.HubNameAnnotation]}
	return app, app.Namespace != "" && app.Name != ""
}

// Applied reports whether the agent has applied the work as it is.
func (w *Work) Applied() bool {
	return w.conditions.status(workApplied) == conditionTrue && w.appliedAt >= w.Generation
}

// CreatedBefore reports whether a work was created before another one, in whole seconds.
func (w *Work) CreatedBefore(o *Work) bool { return w.created < o.created }

// Observed reports whether the work only reads its Application.
func (w *Work) Observed() bool { return w.annotations[contract.ObservedAnnotation] != "" }

// Stays reports whether what the work delivers is to stay when it is deleted.
func (w *Work) Stays() bool { return w.annotations[contract.OnWithdrawAnnotation] != "" }

// Refusal returns why the agent could not apply the Application, "" when it could or has
// not tried.
func (w *Work) Refusal() string {
	if c := w.condition(manifestApplied); c != nil && c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return ""
}

// Request returns the one-time request that the work carries, "" for none.
func (w *Work) Request() string {
	if w.rare == nil {
		return ""
	}
	return w.rare.request
}

// Said returns the feedback value of that name, which is none that all works have, "" for
// none.
func (w *Work) Said(name string) string {
	if w.rare != nil {
		for _, v := range w.rare.values {
			if v.name == name {
				return v.text
			}
		}
	}
	return ""
}

// SameMetadata reports whether two versions of a work have the same labels and annotations
// of the pull model, and are both being deleted or both not.
func (w *Work) SameMetadata(o *Work) bool {
	return w.HubNamespace == o.HubNamespace && w.HubName == o.HubName && w.Leaving() == o.Leaving() &&
		w.Request() == o.Request() && w.applicationSpec == o.applicationSpec && maps.Equal(w.labels, o.labels) && maps.Equal(w.annotations, o.annotations)
}
