// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

const grace = 5 * time.Minute

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// scene is one Application with all facts of a decision. At first it has the target cluster c1, all
// permissions, and no ManifestWork.
type scene struct {
	Facts
	app *argocd.Application
}

func newScene() *scene {
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "shop", UID: "0123456789abcdef", ResourceVersion: "1", Finalizers: []string{argocd.ResourcesFinalizer},
			Labels:      map[string]string{contract.PullLabel: "true"},
			Annotations: map[string]string{contract.ClusterAnnotation: "c1", argocd.SkipReconcileAnnotation: "true"},
		},
		Spec: json.RawMessage(`{"destination":{"namespace":"shop"},"project":"wide","syncPolicy":{"automated":{}}}`),
	}
	s := &scene{app: app}
	s.Facts = Facts{
		Key: types.NamespacedName{Namespace: "team", Name: "shop"}, Now: noon, Application: app,
		Settings: Settings{BindingGrace: grace, RecreateGrace: 5 * time.Second, SizeLimit: 500 << 10, ArgoCDNamespace: "argocd"},
		Target:   Cluster{Name: "c1", Exists: true}, May: Permission{true, true, true},
		Namespace: Annotations{On: "Namespace team"}, Hub: Annotations{On: "Namespace hub"},
	}
	return s
}

// annotate sets an annotation of the Application.
func (s *scene) annotate(key, value string) { s.app.Annotations[key] = value }

// aim changes the target cluster of the Application.
func (s *scene) aim(cluster string) {
	s.annotate(contract.ClusterAnnotation, cluster)
	s.Target = Cluster{Name: cluster, Exists: true}
}

func (s *scene) project(name string) {
	s.app.Spec = json.RawMessage(strings.ReplaceAll(string(s.app.Spec), `"wide"`, `"`+name+`"`))
}

// delivered adds the ManifestWork of the current Application, which its agent has applied.
func (s *scene) delivered(uid string) *Work {
	in := payload.Inputs{Application: s.app, Orphan: s.app.Annotations[contract.DeletionPolicyAnnotation] == payload.DeletionOrphan}
	work, err := payload.ManifestWork(in)
	if err != nil {
		panic(err) // the scene is invalid
	}
	work.Name, work.UID, work.ResourceVersion, work.Generation = payload.WorkNames(s.app)[0], types.UID(uid), "1", 1
	work.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour).Add(time.Duration(len(s.Works)) * time.Minute))
	work.Finalizers = []string{workv1.ManifestWorkFinalizer}
	s.Works = append(s.Works, Work{
		Relation: Own, Cluster: s.Target, Project: payload.ProjectName(s.app), May: Permission{true, true, true},
		Finalized: true, Applied: metav1.ConditionTrue, Live: work,
	})
	w := &s.Works[len(s.Works)-1]
	w.see()
	return w
}

// see copies the live ManifestWork into the cached form.
func (w *Work) see() {
	stored := payload.StoredOf(w.Live)
	w.Work, _ = manifestcache.Compact(w.Live.DeepCopy(), &stored) // it trims the status
}

// ends writes an ending into a work, and the feedback of its agent.
func (w *Work) ends(e payload.Ending, values ...workv1.FeedbackValue) {
	spec, _, err := payload.EndingOf(w.Live, e)
	if err != nil {
		panic(err) // the scene is invalid
	}
	w.Live.Spec = *spec
	payload.OnDelete(w.Live, e.Orphan)
	w.Live.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
		ResourceMeta:    workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural},
		StatusFeedbacks: workv1.StatusFeedbackResult{Values: values},
	}}
	w.see()
}

// refused writes the conditions of a work agent that cannot apply the Application, as OCM's agent does.
func (w *Work) refused(cause string, since time.Duration) {
	condition := func(kind, reason, message string) metav1.Condition {
		return metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message,
			ObservedGeneration: w.Live.Generation, LastTransitionTime: metav1.NewTime(noon.Add(-since)),
		}
	}
	w.Live.Status.Conditions = []metav1.Condition{condition(workv1.WorkApplied, "AppliedManifestWorkFailed", "Failed to apply manifest work")}
	w.Live.Status.ResourceStatus.Manifests[0].Conditions = []metav1.Condition{condition(workv1.ManifestApplied, "AppliedManifestFailed", "Failed to apply manifest: "+cause)}
	w.see()
}

// stopped removes the automation from a work, as a pause does.
func (w *Work) stopped() {
	mark, err := payload.WithoutAutomation(&w.Live.Spec)
	if err != nil {
		panic(err) // the scene is invalid
	}
	w.Live.Annotations[contract.PausedAnnotation] = mark
	w.see()
}

func value(name, text string) workv1.FeedbackValue {
	return workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &text}}
}

// missing records in the ledger how long a permission has been lost.
func (w *Work) missing(why Why, since time.Duration) {
	if w.Note.Since == nil {
		w.Note.Since = map[Why]time.Time{}
	}
	w.Note.Since[why] = noon.Add(-since)
}

// set gives the Application an owning ApplicationSet.
func (s *scene) set(w Annotations) {
	w.On = "ApplicationSet team/shops"
	s.Owner = &w
	s.app.OwnerReferences = []metav1.OwnerReference{{APIVersion: argocd.GroupVersion.String(), Kind: argocd.ApplicationSetKind, Name: "shops"}}
}

// gone removes the Application from the hub.
func (s *scene) gone(since time.Duration) {
	for i := range s.Works {
		s.Works[i].Note.Known, s.Works[i].Note.Group = true, Group{Namespace: "team", Set: s.app.OwningApplicationSet()}
		s.Works[i].Set, s.Works[i].Relation = s.Owner, Leftover
	}
	s.Application, s.Owner, s.GoneSince = nil, nil, noon.Add(-since)
}

func (s *scene) deleting() {
	now := metav1.NewTime(noon)
	s.app.DeletionTimestamp = &now
}

func paused(word string) policy.Pause { return policy.Pause{Mode: word, By: "annotation"} }

// tell returns a plan in the form of the tables: the write, the fate of each work, the release and the reason
// of the report.
func tell(p Plan) string {
	var parts []string
	switch {
	case p.Write == nil:
	case p.Write.Current == nil:
		parts = append(parts, "create")
	default:
		parts = append(parts, "update "+string(p.Write.Current.UID))
	}
	for _, f := range p.Fates {
		parts = append(parts, string(f.UID)+" "+f.tell())
	}
	if p.Release != NoRelease {
		parts = append(parts, "release "+[...]string{"", "after proof", "undone", "abandoned"}[p.Release])
	}
	if p.Report != nil && p.Report.Reason() != policy.ReasonDelivered && p.Report.Reason() != "" {
		parts = append(parts, p.Report.Reason())
	}
	return strings.Join(parts, "; ")
}

func (f Fate) tell() string {
	text := [...]string{"keep", "leave", "refresh", "rewrite", "end"}[f.Act]
	if f.Why != "" {
		text += " " + string(f.Why)
	}
	if f.Act != End && f.Why != "" {
		text += " upcoming"
	}
	if f.Lane.Kind != Uncounted {
		text += " " + f.Lane.Kind.String() + ":" + strings.TrimSuffix(f.Lane.Group.Namespace+"/"+f.Lane.Group.Set, "/")
	}
	if f.Project {
		text += " project"
	}
	text += [...]string{"", " automation-out", " automation-back"}[f.Automation]
	switch {
	case f.Act != End:
		return text
	case f.Delayed.Problem != "":
		return text + " delayed:problem"
	case f.Delayed.By != "":
		return text + " delayed"
	}
	how := "bare"
	switch {
	case f.How.WithoutAutomation:
		how = "orphan-stopped"
	case f.How.Orphan:
		how = "orphan"
	case len(f.How.Finalizers) > 0:
		how = "cascade"
	}
	if f.How.Reduced {
		how += "-reduced"
	}
	return text + " " + how + " " + map[Step]string{StepWait: "wait", StepWrite: "say", StepDelete: "delete"}[f.Next]
}

// row is a change of the scene and the expected plan.
type row struct {
	reason string
	change func(s *scene)
	want   string
	text   string // in the report
}

func run(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			r.change(s)
			p := Decide(s.Facts)
			if got := tell(p); got != r.want {
				t.Errorf("%s:\n got %s\nwant %s\nreport %+v", r.reason, got, r.want, p.Report)
			}
			if len(p.Fates) != len(s.Works) {
				t.Errorf("%d fates for %d works", len(p.Fates), len(s.Works))
			}
			if r.text != "" && (p.Report == nil || !strings.Contains(fmt.Sprint(*p.Report), r.text)) {
				t.Errorf("%q is not in the report: %+v", r.text, p.Report)
			}
			if again := tell(Decide(s.Facts)); again != tell(p) {
				t.Errorf("decided again: %s", again)
			}
		})
	}
}
