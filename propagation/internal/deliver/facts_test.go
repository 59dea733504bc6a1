// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apicontent "k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// hubObjects is a [reader], a [ledger] and the other parts of [sources], with objects in memory. Reads of the
// kind in fail return an error.
type hubObjects struct {
	app        *argocd.Application
	others     map[types.NamespacedName]*argocd.Application
	sets       map[types.NamespacedName]*metav1.PartialObjectMetadata
	namespaces map[string]*metav1.PartialObjectMetadata
	clusters   map[string]*clusterv1.ManagedCluster
	bindings   map[string]bool // by cluster
	projects   map[string]*argocd.AppProject
	settings   *corev1.ConfigMap // of Argo CD
	works      []foundWork
	rivals     foundRivals
	agents     map[string]bool
	notes      map[types.UID]decide.Note
	gone       time.Time
	outlived   map[types.NamespacedName]*decide.Annotations
	naming     map[string][]string // by project
	fail       string
}

var errUnreadable = errors.New("it cannot be read")

func (h *hubObjects) failing(what string) error {
	if h.fail == what {
		return errUnreadable
	}
	return nil
}

// Get rejects an invalid name, as a client of the API server does.
func (h *hubObjects) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if len(apicontent.IsPathSegmentName(key.Namespace))+len(apicontent.IsPathSegmentName(key.Name)) > 0 {
		return fmt.Errorf("invalid resource name %s", key)
	}
	switch o := o.(type) {
	case *argocd.Application:
		if h.app != nil && key == client.ObjectKeyFromObject(h.app) {
			return get(o, h.app, h.failing("Application"))
		}
		return get(o, h.others[key], h.failing("Application"))
	case *metav1.PartialObjectMetadata:
		if o.Kind == argocd.ApplicationSetKind {
			return get(o, h.sets[key], h.failing("Set"))
		}
		return get(o, h.namespaces[key.Name], h.failing("Namespace"))
	case *clusterv1.ManagedCluster:
		return get(o, h.clusters[key.Name], h.failing("Cluster"))
	case *argocd.AppProject:
		return get(o, h.projects[key.Name], h.failing("Project"))
	case *corev1.ConfigMap:
		return get(o, h.settings, nil)
	}
	return fmt.Errorf("no %T", o)
}

// get copies an existing object into o, or returns NotFound.
func get[T any](o, existing *T, err error) error {
	switch {
	case err != nil:
		return err
	case existing == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, "")
	}
	*o = *existing
	return nil
}

func (h *hubObjects) Bound(_ context.Context, namespace, cluster string) (bool, error) {
	if invalid := apicontent.IsPathSegmentName(namespace); len(invalid) > 0 { // as client-go answers
		return false, fmt.Errorf("namespace %q: %v", namespace, invalid)
	}
	return h.bindings[cluster], h.failing("Bound")
}

func (h *hubObjects) Works(context.Context, types.NamespacedName, *argocd.Application) ([]foundWork, error) {
	return h.works, h.failing("Works")
}

func (h *hubObjects) Rivals(context.Context, *argocd.Application) (foundRivals, error) {
	return h.rivals, h.failing("Rivals")
}

func (h *hubObjects) Agent(_ context.Context, name string) (bool, error) {
	return h.agents[name], h.failing("Agent")
}

func (h *hubObjects) Note(work types.UID) decide.Note { return h.notes[work] }

func (h *hubObjects) GoneSince(types.NamespacedName) time.Time { return h.gone }

func (h *hubObjects) Outlives(set types.NamespacedName) (*decide.Annotations, error) {
	return h.outlived[set], h.failing("Outlives")
}

var (
	gatherNow = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	teamApp   = types.NamespacedName{Namespace: "team", Name: "app"}
)

// everything has all permissions.
var everything = decide.Permission{Bound: true, Project: true, Namespace: true}

func (h *hubObjects) gather() (decide.Facts, error) {
	return gather(context.Background(), h.sources(), h, teamApp)
}

func (h *hubObjects) sources() *sources {
	return &sources{
		options: Options{
			ArgoCDNamespace: "argocd", HubNamespace: "propagation", Binding: BindingPlacement, BindingGrace: 5 * time.Minute, Project: true,
			AgentNamespaces: []string{"argocd"}, AppNamespaces: policy.AppNamespaces{{Hub: "other", Target: "team"}},
		},
		now: func() time.Time { return gatherNow }, ledger: h, refreshes: &refreshes{},
		naming: func(_ context.Context, _, project string) ([]string, error) {
			return h.naming[project], h.failing("naming")
		},
	}
}

// settled returns a delivered Application with all inputs of its facts. Its AppProject is delivered as well,
// and cluster2 still has a former work.
func settled(t *testing.T) *hubObjects {
	t.Helper()
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "app", UID: "0123456789abcdef", Labels: map[string]string{contract.PullLabel: "true"},
			Annotations:     map[string]string{contract.ClusterAnnotation: "cluster1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set"}},
		},
		Spec: json.RawMessage(`{"project":"wide","destination":{"name":"agent1","namespace":"guestbook"}}`),
	}
	h := &hubObjects{
		app:      app,
		clusters: map[string]*clusterv1.ManagedCluster{},
		bindings: map[string]bool{"cluster1": true, "cluster2": true},
		projects: map[string]*argocd.AppProject{"wide": project("wide", "team", "*")},
		sets:     map[types.NamespacedName]*metav1.PartialObjectMetadata{{Namespace: "team", Name: "set"}: {}},
	}
	for _, name := range []string{"cluster1", "cluster2"} {
		h.clusters[name] = &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		h.works = append(h.works, foundWork{Work: appcache.Compact(workOn(t, app, name, h.projects["wide"])), Relation: decide.Own})
	}
	return h
}

func project(name, source, destination string) *argocd.AppProject {
	return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}, Spec: json.RawMessage(`{"sourceNamespaces":["` + source + `"],"destinations":[{"namespace":"` + destination + `"}]}`)}
}

// workOn returns the work that delivers an Application to a cluster.
func workOn(t *testing.T, app *argocd.Application, cluster string, project *argocd.AppProject) *workv1.ManifestWork {
	t.Helper()
	existing := app.DeepCopy()
	existing.Annotations[contract.ClusterAnnotation] = cluster
	work, err := payload.ManifestWork(payload.Inputs{Application: existing, Project: project, ProjectNamespace: "argocd"})
	if err != nil {
		t.Fatal(err)
	}
	work.Name, work.UID = payload.WorkNames(app)[0], types.UID("uid-of-"+cluster)
	return work
}

// The facts have when a removal was first observed to wait for its cluster, until it no longer waits.
func TestGather_hasTheStartOfAWait(t *testing.T) {
	h := settled(t)
	waits := func(works ...foundWork) []time.Time {
		plan := decide.Plan{Key: teamApp}
		for _, w := range works {
			plan.Fates = append(plan.Fates, decide.Fate{UID: w.UID, Act: decide.End, Due: true, Next: decide.StepWait})
		}
		ends.set(plan, decide.Verdict{})
		f, err := h.gather()
		if err != nil || len(f.Works) != 2 {
			t.Fatalf("%d works, %v", len(f.Works), err)
		}
		return []time.Time{f.Works[0].Waiting, f.Works[1].Waiting}
	}
	t.Cleanup(func() { ends.set(decide.Plan{Key: teamApp}, decide.Verdict{}) })
	first := waits(h.works[1])
	if !first[0].IsZero() || first[1].IsZero() {
		t.Errorf("the work on cluster2 waits, got %v", first)
	}
	if again := waits(h.works...); again[0].IsZero() || again[1] != first[1] {
		t.Errorf("both wait, got %v, before %v", again, first)
	}
	if none := waits(); !none[0].IsZero() || !none[1].IsZero() {
		t.Errorf("none waits, got %v", none)
	}
}

// If an object cannot be read, gather returns an error, and does not treat the object as missing.
func TestGather_returnsReadErrors(t *testing.T) {
	for what, change := range map[string]func(*hubObjects){
		"Application": func(*hubObjects) {},
		"Set":         func(*hubObjects) {},
		"Namespace":   func(*hubObjects) {},
		"Cluster":     func(*hubObjects) {},
		"Bound":       func(*hubObjects) {},
		"Project":     func(*hubObjects) {},
		"Works":       func(*hubObjects) {},
		"Rivals":      func(*hubObjects) {},
		"Agent":       func(*hubObjects) {},
		"Outlives":    func(h *hubObjects) { h.sets = nil },
		"naming":      func(h *hubObjects) { h.projects["wide"] = project("wide", "other", "narrow") },
	} {
		h := settled(t)
		change(h)
		if _, err := h.gather(); err != nil {
			t.Errorf("all can be read but for %s: %v", what, err)
		}
		h.fail = what
		if _, err := h.gather(); !errors.Is(err, errUnreadable) {
			t.Errorf("%s cannot be read, and the error is %v", what, err)
		}
	}
}

// A missing, empty or malformed value removes a permission of an existing work only if the loss is certain.
// It may remove a permission of the desired delivery, because a refusal removes nothing.
func TestGather_removesAPermissionOnlyIfCertain(t *testing.T) {
	all := decide.Permission{Bound: true, Project: true, Namespace: true}
	without := func(change func(*decide.Permission)) decide.Permission {
		p := all
		change(&p)
		return p
	}
	unbound, foreign := without(func(p *decide.Permission) { p.Bound = false }), without(func(p *decide.Permission) { p.Project = false })
	respec := func(h *hubObjects, spec string) {
		full := workOn(t, h.app, "cluster1", nil)
		full.Spec.Workload.Manifests[len(full.Spec.Workload.Manifests)-1].Raw = []byte(spec)
		h.works[0].Work = appcache.Compact(full)
	}
	for name, c := range map[string]struct {
		reason     string
		change     func(*hubObjects)
		work, wish decide.Permission
	}{
		"permitted":  {reason: "all is", change: func(*hubObjects) {}, work: all, wish: all},
		"unbound":    {reason: "no PlacementDecision selects it", change: func(h *hubObjects) { h.bindings["cluster1"] = false }, work: unbound, wish: unbound},
		"narrowed":   {reason: "the project admits others", change: func(h *hubObjects) { h.projects["wide"] = project("wide", "other", "*") }, work: foreign, wish: foreign},
		"no spec":    {reason: "a project without spec admits nobody", change: func(h *hubObjects) { h.projects["wide"].Spec = nil }, work: foreign, wish: foreign},
		"no project": {reason: "the managed cluster's own judges an Application at home", change: func(h *hubObjects) { h.projects = nil }, work: all, wish: all},
		"malformed": {
			reason: "which namespaces the project admits is unknown; the refusal of the wish names that",
			change: func(h *hubObjects) { h.projects["wide"].Spec = json.RawMessage(`{"sourceNamespaces":7}`) }, work: all, wish: all,
		},
		"no list": {reason: "nor does a spec that is none say", change: func(h *hubObjects) { h.projects["wide"].Spec = json.RawMessage(`[`) }, work: all, wish: all},
		"unread app": {reason: "which project the work carries is unknown", change: func(h *hubObjects) {
			respec(h, `{"kind":"Application","spec":7}`)
			h.projects["wide"] = project("wide", "other", "*")
		}, work: all, wish: foreign},
		"no app": {reason: "the work carries nothing", change: func(h *hubObjects) { respec(h, `{}`); h.projects["wide"] = project("wide", "other", "*") }, work: all, wish: foreign},
		"carried": {
			reason: "the work carries another project than the Application names",
			change: func(h *hubObjects) {
				respec(h, `{"kind":"Application","spec":{"project":"narrow"}}`)
				h.projects["narrow"] = project("narrow", "other", "*")
			}, work: foreign, wish: all,
		},
	} {
		h := settled(t)
		c.change(h)
		f, err := h.gather()
		if err != nil {
			t.Errorf("%s: %s: %v", name, c.reason, err)
			continue
		}
		if f.Works[0].May != c.work || f.May != c.wish {
			t.Errorf("%s: %s: the work may %+v, the wish %+v", name, c.reason, f.Works[0].May, f.May)
		}
	}
}

func TestGather_grantsAllClustersWithoutBinding(t *testing.T) {
	h := settled(t)
	h.bindings = nil
	s := &sources{options: Options{Binding: BindingNone}, now: time.Now, ledger: h, refreshes: &refreshes{}}
	f, err := gather(t.Context(), s, h, teamApp)
	if err != nil || !f.May.Bound || !f.Works[0].May.Bound {
		t.Errorf("without --cluster-binding a namespace may use all clusters: %+v, %v", f.May, err)
	}
}

// An agent can write any AppProject name into its work. It receives an AppProject only if an Application on
// its cluster may use it.
func TestGather_marksOnlyPermittedProjectsAsStale(t *testing.T) {
	for name, c := range map[string]struct {
		reason    string
		delivered *argocd.AppProject
		change    func(*hubObjects)
		want      bool
	}{
		"same":     {reason: "the work has what the hub has"},
		"narrowed": {reason: "the hub's admits the namespace", change: func(h *hubObjects) { h.projects["wide"] = project("wide", "team", "narrow") }, want: true},
		"lost":     {reason: "the namespace is admitted no more", change: func(h *hubObjects) { h.projects["wide"] = project("wide", "other", "narrow") }},
		"named": {
			reason: "but another Application has it on that cluster", want: true,
			change: func(h *hubObjects) {
				h.projects["wide"], h.naming = project("wide", "other", "narrow"), map[string][]string{"wide": {"third", "other"}}
			},
		},
		"named in vain": {
			reason: "one that the project does not admit does not have it",
			change: func(h *hubObjects) {
				h.projects["wide"], h.naming = project("wide", "other", "narrow"), map[string][]string{"wide": {"third"}}
			},
		},
		"administrator's": {
			reason: "one in the Argo CD namespace does", want: true,
			change: func(h *hubObjects) {
				h.projects["wide"], h.naming = project("wide", "other", "narrow"), map[string][]string{"wide": {"argocd"}}
			},
		},
		"unproven": {
			reason: "an agent can have its work name any Application",
			change: func(h *hubObjects) {
				h.projects["wide"] = project("wide", "team", "narrow")
				h.works[0].Relation = decide.Leftover
			},
		},
		"of a deleted Application": {
			reason: "the ledger proves the namespace of the Application", want: true,
			change: func(h *hubObjects) {
				h.projects["wide"] = project("wide", "team", "narrow")
				h.app, h.works[0].Relation = nil, decide.Leftover
				h.notes = map[types.UID]decide.Note{h.works[0].UID: {Known: true, Group: decide.Group{Namespace: "team"}}}
			},
		},
		"of a deleted one of others": {
			reason: "the ledger has it for another namespace",
			change: func(h *hubObjects) {
				h.projects["wide"] = project("wide", "team", "narrow")
				h.app, h.works[0].Relation = nil, decide.Leftover
				h.notes = map[types.UID]decide.Note{h.works[0].UID: {Known: true, Group: decide.Group{Namespace: "other"}}}
			},
		},
		"gone":  {reason: "the hub has none any more: the managed cluster keeps what it has", change: func(h *hubObjects) { h.projects = nil }},
		"going": {reason: "a work that is being deleted is not written", change: func(h *hubObjects) { h.projects["wide"] = project("wide", "team", "narrow"); h.terminate() }},
	} {
		h := settled(t)
		if c.change != nil {
			c.change(h)
		}
		f, err := h.gather()
		if err != nil || f.Works[0].Stale != c.want {
			t.Errorf("%s: %s: stale is %t, %v", name, c.reason, f.Works[0].Stale, err)
		}
	}
}

func (h *hubObjects) terminate() {
	for i := range h.works {
		w := *h.works[i].Work
		w.DeletionTimestamp = &metav1.Time{Time: gatherNow}
		h.works[i].Work = &w
	}
}

func saying(annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
}

// gather reads the annotations of each object from that object. For a deleted ApplicationSet it reads the
// remaining ones from the ledger.
func TestGather_readsEachAnnotationFromItsObject(t *testing.T) {
	until := gatherNow.Add(time.Hour)
	h := settled(t)
	h.namespaces = map[string]*metav1.PartialObjectMetadata{
		"team":        saying(map[string]string{contract.PausedAnnotation: "sync", contract.DeletionBudgetAnnotation: "approve until " + until.Format(time.RFC3339)}),
		"propagation": saying(map[string]string{contract.DeletionBudgetAnnotation: "undo until tomorrow"}),
	}
	set := types.NamespacedName{Namespace: "team", Name: "set"}
	h.sets[set] = saying(map[string]string{contract.DeletionPolicyAnnotation: "orphan"})
	h.clusters["cluster1"].Annotations = map[string]string{contract.PausedAnnotation: "delivery"}
	h.clusters["cluster2"].Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: contract.PauseClaim, Value: "sync"}}
	f, err := h.gather()
	if err != nil {
		t.Fatal(err)
	}
	if f.Namespace.Pause.Mode != policy.PauseSync || f.Namespace.Override.Effect != decide.Approve || !f.Namespace.Override.Until.Equal(until) {
		t.Errorf("the Namespace says %+v", f.Namespace)
	}
	if f.Hub.Override.Effect != decide.Hold || f.Hub.On != "Namespace propagation" {
		t.Errorf("an invalid value holds: the hub's Namespace says %+v", f.Hub)
	}
	if f.Owner == nil || f.Owner.Policy.Value != payload.DeletionOrphan || f.Works[0].Set != nil {
		t.Errorf("the ApplicationSet says %+v, and works have no say while the Application exists: %+v", f.Owner, f.Works[0].Set)
	}
	if f.Target.Pause.Mode != policy.PauseDelivery || f.Works[1].Cluster.Pause.Mode != policy.PauseSync {
		t.Errorf("the clusters say %+v and %+v", f.Target.Pause, f.Works[1].Cluster.Pause)
	}
	for reason, left := range map[string]*decide.Annotations{
		"a hold outlives its ApplicationSet": {On: "ApplicationSet team/set", Gone: true, Override: decide.Override{Effect: decide.Hold, Until: until, Gone: true}},
		"so does the policy orphan":          {On: "ApplicationSet team/set", Gone: true, Policy: policy.DeletionPolicy{Value: payload.DeletionOrphan}},
		"nothing remains":                    nil,
	} {
		h.sets, h.outlived = nil, map[types.NamespacedName]*decide.Annotations{set: left}
		f, err := h.gather()
		if diff := cmp.Diff(left, f.Owner); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", reason, err, diff)
		}
		app := h.app
		h.app = nil
		f, err = h.gather()
		if diff := cmp.Diff(left, f.Works[0].Set); diff != "" || err != nil {
			t.Errorf("%s, for a work whose Application is gone: %v (-want +got)\n%s", reason, err, diff)
		}
		h.app = app
	}
}

// A name that no object can have is no error. Tenants write owner references, and agents write annotations of
// their works. An error would delay every removal of the Application.
func TestGather_ignoresInvalidNames(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *hubObjects){
		"of the owner":          func(_ *testing.T, h *hubObjects) { h.app.OwnerReferences[0].Name = "." },
		"of a part of an owner": func(_ *testing.T, h *hubObjects) { h.app.OwnerReferences[0].Name = "set/status" },
		"of a rival's owner": func(_ *testing.T, h *hubObjects) {
			rival := h.app.DeepCopy()
			rival.Namespace, rival.UID, rival.OwnerReferences[0].Name = "other", "fedcba9876543210", ".."
			h.rivals.Applications = append(h.rivals.Applications, rival)
		},
		"in a copy of the identity": func(t *testing.T, h *hubObjects) {
			claimed := workOn(t, h.app, "cluster1", nil)
			claimed.Annotations[contract.HubNamespaceAnnotation] = "a/b"
			h.rivals.Copies = append(h.rivals.Copies, appcache.Compact(claimed))
		},
		"of the ApplicationSet in a work": func(t *testing.T, h *hubObjects) {
			claimed := workOn(t, h.app, "cluster1", nil)
			claimed.Annotations[contract.HostingAnnotation] = "team/."
			h.app, h.works[0].Work = nil, appcache.Compact(claimed)
		},
	} {
		h := settled(t)
		change(t, h)
		f, err := h.gather()
		if err != nil || len(f.Works) != 2 {
			t.Errorf("an invalid name %s: %d works, %v", name, len(f.Works), err)
		}
	}
	h := settled(t)
	h.app = nil
	f, err := gather(t.Context(), h.sources(), h, types.NamespacedName{Namespace: "..", Name: "shop"})
	if err != nil || len(f.Works) == 0 || f.Works[0].May.Bound {
		t.Errorf("an invalid namespace in works: %+v, %v", f.Works, err)
	}
}

// The ledger's notes about works and missing Applications are part of the facts.
func TestGather_includesTheNotesOfTheLedger(t *testing.T) {
	h := settled(t)
	note := decide.Note{Known: true, Group: decide.Group{Namespace: "team", Set: "set"}, Allowed: true}
	h.app, h.gone, h.notes = nil, gatherNow.Add(-time.Minute), map[types.UID]decide.Note{"uid-of-cluster2": note}
	f, err := h.gather()
	if diff := cmp.Diff([]decide.Note{{}, note}, []decide.Note{f.Works[0].Note, f.Works[1].Note}); err != nil || !f.GoneSince.Equal(h.gone) || diff != "" {
		t.Errorf("gone since %s, %v, notes (-want +got)\n%s", f.GoneSince, err, diff)
	}
}

// A work names a deleted Application of another namespace, and its name seems to prove another owner. It belongs to
// the namespace that the ledger has noted, which no agent can write.
func TestGather_leavesOutWorksThatTheLedgerHasForOthers(t *testing.T) {
	for name, c := range map[string]struct {
		reason, names, noted string
		want                 int
	}{
		"theirs":         {reason: "it was observed as a delivery of the other namespace", names: "other", noted: "other", want: 1},
		"renamed":        {reason: "an agent has edited it since", names: "other", noted: "team", want: 2},
		"unknown":        {reason: "the name is the only proof", names: "other", want: 2},
		"ours":           {reason: "it names the Application", names: "team", noted: "team", want: 2},
		"noted in error": {reason: "one that names the Application stays its own", names: "team", noted: "other", want: 2},
	} {
		h := settled(t)
		full := workOn(t, h.app, "cluster1", nil)
		full.Annotations[contract.HubNamespaceAnnotation] = c.names
		h.works[0].Work = appcache.Compact(full)
		if c.noted != "" {
			h.notes = map[types.UID]decide.Note{full.UID: {Known: true, Group: decide.Group{Namespace: c.noted}}}
		}
		if f, err := h.gather(); err != nil || len(f.Works) != c.want {
			t.Errorf("%s: %s: it has %d works, want %d, %v", name, c.reason, len(f.Works), c.want, err)
		}
	}
}

// The deletion of an Application does not depend on sources that only a delivery needs.
func TestGather_needsNoDeliverySourcesForADeletion(t *testing.T) {
	for _, what := range []string{"Agent", "Rivals"} {
		h := settled(t)
		h.fail = what
		deleted := metav1.NewTime(gatherNow)
		h.app.DeletionTimestamp = &deleted
		f, err := h.gather()
		if err != nil || len(f.Works) != 2 || f.Works[0].May != everything || f.Owner == nil {
			t.Errorf("%s cannot be read: %+v, %v", what, f, err)
		}
	}
}

// A tenant's malformed status is reported as a fact. It delays no removal after a lost permission.
func TestGather_reportsAMalformedStatus(t *testing.T) {
	h := settled(t)
	h.app.Status = json.RawMessage(`{"conditions":"none"}`)
	h.bindings["cluster1"] = false
	f, err := h.gather()
	if err != nil || f.StatusProblem == "" || f.Works[0].May.Bound {
		t.Errorf("the problem is %q, the work may %+v, error %v", f.StatusProblem, f.Works[0].May, err)
	}
}

// A rival without a copy counts only if propagation could deliver it.
func TestGather_countsOnlyDeliverableRivals(t *testing.T) {
	rival := func(change func(*argocd.Application)) *argocd.Application {
		a := &argocd.Application{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "other", Name: "app", UID: "fedcba9876543210", Labels: map[string]string{contract.PullLabel: "true"},
				Annotations:       map[string]string{contract.ClusterAnnotation: "cluster1", contract.AppNamespaceAnnotation: "team"},
				CreationTimestamp: metav1.NewTime(gatherNow),
			},
			Spec: json.RawMessage(`{"project":"shop","destination":{}}`),
		}
		change(a)
		return a
	}
	key := types.NamespacedName{Namespace: "other", Name: "app"}
	deleted := metav1.NewTime(gatherNow)
	applied := func(t *testing.T, app *argocd.Application) *workv1.ManifestWork {
		work := workOn(t, app, "cluster1", nil)
		work.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue}}
		return work
	}
	for name, c := range map[string]struct {
		reason   string
		change   func(*argocd.Application)
		copied   bool
		unlisted bool // the rival is missing
		want     []decide.Rival
	}{
		"wants":   {reason: "it could be delivered", change: func(*argocd.Application) {}, want: []decide.Rival{{Key: key, UID: "fedcba9876543210", Created: gatherNow, Wants: true}}},
		"refused": {reason: "its project does not admit it", change: func(a *argocd.Application) { a.Spec = json.RawMessage(`{"project":"wide","destination":{}}`) }},
		"applied": {
			reason: "it has a copy, whatever it may", copied: true, change: func(a *argocd.Application) { a.Spec = json.RawMessage(`{"project":"wide","destination":{}}`) },
			want: []decide.Rival{{Key: key, UID: "fedcba9876543210", Created: gatherNow, Copy: "app-fedcb", Applied: true, Wants: true}},
		},
		"deleted": {
			reason: "only its copy is left", copied: true, change: func(a *argocd.Application) { a.DeletionTimestamp = &deleted },
			want: []decide.Rival{{Key: key, UID: "fedcba9876543210", Created: gatherNow, Copy: "app-fedcb", Applied: true}},
		},
		"gone": {reason: "of one that is gone, too", copied: true, unlisted: true, change: func(*argocd.Application) {}, want: []decide.Rival{{Key: key, Copy: "app-fedcb", Applied: true}}},
	} {
		h := settled(t)
		h.projects["shop"] = project("shop", "other", "*")
		other := rival(c.change)
		if !c.unlisted {
			h.rivals.Applications = []*argocd.Application{other}
		}
		if c.copied {
			h.rivals.Copies = append(h.rivals.Copies, appcache.Compact(applied(t, other)))
		}
		f, err := h.gather()
		if diff := cmp.Diff(c.want, f.Rivals); err != nil || len(c.want) != len(f.Rivals) || diff != "" && len(c.want) > 0 {
			t.Errorf("%s: %s: %v (-want +got)\n%s", name, c.reason, err, diff)
		}
	}
}

// If the inherited parts of an AppProject are unknown, no rival with this AppProject counts, in whatever
// order propagation checks the rivals.
func TestGather_ignoresRivalsOfAnInvalidSetting(t *testing.T) {
	h := settled(t)
	h.projects["shop"] = project("shop", "other", "*")
	for _, name := range []string{"b", "c"} {
		h.rivals.Applications = append(h.rivals.Applications, &argocd.Application{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "other", Name: name, UID: types.UID(name), Labels: map[string]string{contract.PullLabel: "true"}, CreationTimestamp: metav1.NewTime(gatherNow),
				Annotations: map[string]string{contract.ClusterAnnotation: "cluster1", contract.AppNamespaceAnnotation: "team"},
			},
			Spec: json.RawMessage(`{"project":"shop","destination":{}}`),
		})
	}
	h.settings = &corev1.ConfigMap{Data: map[string]string{argocd.GlobalProjectsKey: "what is no list"}}
	f, err := h.gather()
	if err != nil || len(f.Rivals) > 0 {
		t.Errorf("rivals that cannot be delivered count: %+v, %v", f.Rivals, err)
	}
}

// If two Applications each desire the identity of the other's copy, they wait for each other.
func TestGather_findsRivalsThatWaitForEachOther(t *testing.T) {
	h := settled(t)
	other := h.app.DeepCopy()
	other.Namespace, other.UID = "other", "fedcba9876543210"
	h.others = map[types.NamespacedName]*argocd.Application{{Namespace: "other", Name: "app"}: other}
	h.rivals.Copies = append(h.rivals.Copies, appcache.Compact(workOn(t, other, "cluster1", nil)), h.works[0].Work)
	f, err := h.gather()
	if err != nil || len(f.Rivals) != 1 || f.Rivals[0].Waits != teamApp {
		t.Errorf("the rivals are %+v, %v", f.Rivals, err)
	}
}
