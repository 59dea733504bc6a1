// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// objects is a hub with the objects in names, with their annotations, and with one ConfigMap.
type objects struct {
	client.Client
	names  map[types.NamespacedName]map[string]string
	stored *corev1.ConfigMap
	writes int
	// unreadable and unwritable are the errors of reading and writing the ConfigMap. lost is the error of a
	// write that succeeds, but whose answer is lost.
	unreadable, unwritable, lost error
}

func (o *objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c, is := into.(*corev1.ConfigMap); is {
		if o.unreadable != nil {
			return o.unreadable
		}
		if o.stored != nil {
			o.stored.DeepCopyInto(c)
			return nil
		}
	}
	annotations, exists := o.names[key]
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	into.SetNamespace(key.Namespace)
	into.SetName(key.Name)
	into.SetAnnotations(annotations)
	return nil
}

func (o *objects) Create(_ context.Context, c client.Object, _ ...client.CreateOption) error {
	return o.write(c, "")
}

func (o *objects) Update(_ context.Context, c client.Object, _ ...client.UpdateOption) error {
	return o.write(c, c.GetResourceVersion())
}

func (o *objects) write(c client.Object, version string) error {
	before := ""
	if o.stored != nil {
		before = o.stored.ResourceVersion
	}
	if o.unwritable != nil {
		return o.unwritable
	}
	if version != before {
		return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, c.GetName(), errors.New("it has changed"))
	}
	o.writes++
	c.SetResourceVersion(fmt.Sprint("v", o.writes))
	o.stored, _ = c.DeepCopyObject().(*corev1.ConfigMap)
	return o.lost
}

// recorder keeps the recorded Events.
type recorder struct{ events []string }

func (r *recorder) Eventf(on, _ runtime.Object, _, reason, _, note string, args ...any) {
	r.events = append(r.events, fmt.Sprintf("%+v %s %s", on, reason, fmt.Sprintf(note, args...)))
}

// played is a Budget without its worker. The test runs each step itself.
type played struct {
	*Budget
	t        *testing.T
	hub      *objects
	recorder *recorder
	at       time.Time
	// Prepare returns wait.
	wait time.Duration
}

func play(t *testing.T, hub *objects) *played {
	t.Helper()
	p := &played{t: t, hub: hub, recorder: &recorder{}, at: start}
	p.Budget = New(hub, hub, p.recorder, Options{
		Settings: defaults, Grace: grace, Namespace: "hub", OnCluster: func(string) int { return 0 },
		Prepare: func(context.Context, time.Time) (time.Duration, error) { return p.wait, nil },
	})
	p.now, p.started = func() time.Time { return p.at }, start
	return p
}

// steps runs one step a second for the duration d, and returns the number of writes.
func (p *played) steps(d time.Duration) int {
	p.t.Helper()
	before := p.hub.writes
	for end := p.at.Add(d); !p.at.After(end); p.at = p.at.Add(time.Second) {
		if _, _, err := p.step(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
	}
	return p.hub.writes - before
}

var guestbook = types.NamespacedName{Namespace: "team", Name: "guestbook"}

func newHub(namespaces ...string) *objects {
	o := &objects{names: map[types.NamespacedName]map[string]string{{Name: "hub"}: nil}}
	for _, name := range namespaces {
		o.names[types.NamespacedName{Name: name}] = nil
	}
	return o
}

func setOf(namespace, name string, annotations map[string]string) *metav1.PartialObjectMetadata {
	s := argocd.ApplicationSetMetadata()
	s.Namespace, s.Name, s.Annotations = namespace, name, annotations
	return s
}

var ended = decide.Fate{UID: one, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}

// The budget allows no deletion before Prepare has planned every Application. Before, it cannot count all
// pending deletions.
func TestBudget_waitsForEveryPlan(t *testing.T) {
	p := play(t, newHub())
	p.wait = time.Minute
	p.Set(planOf("app", ended))
	_, after, err := p.step(t.Context())
	if err != nil || after == 0 || after > time.Minute || p.Set(planOf("app", ended)).Allowed[one] {
		t.Errorf("after %s, %v", after, err)
	}
	p.steps(5 * time.Second)
	if p.Set(planOf("app", ended)).Allowed[one] {
		t.Error("it may end before all is known")
	}
	p.wait = 0
	p.steps(time.Second)
	if v := p.Set(planOf("app", ended)); !v.Allowed[one] || v.Held != "" || p.hub.writes == 0 {
		t.Errorf("it may not end: %+v, %d writes", v, p.hub.writes)
	}
}

// The budget allows no deletion that it cannot store. A stored deletion stays allowed after a restart.
func TestBudget_needsItsMemory(t *testing.T) {
	for name, set := range map[string]func(*objects, error){
		"unreadable": func(o *objects, err error) { o.unreadable = err },
		"unwritable": func(o *objects, err error) { o.unwritable = err },
	} {
		t.Run(name, func(t *testing.T) {
			hub := newHub()
			p := play(t, hub)
			set(hub, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, storeName, errors.New("no role")))
			p.Set(planOf("app", ended))
			p.at = p.at.Add(time.Minute)
			for again := range 2 {
				_, _, err := p.step(t.Context())
				if err == nil {
					t.Fatal("it was stored")
				}
				if n := len(p.report(t.Context(), err, again > 0)); n != again {
					t.Errorf("failure %d concerns %d Applications", again, n)
				}
			}
			if v := p.Set(planOf("app", ended)); v.Allowed[one] || !strings.Contains(v.Held, "cannot read or write its ConfigMap hub/multicluster-integrations-deletion-budget (Forbidden)") {
				t.Errorf("it is %+v", v)
			}
			set(hub, nil)
			p.steps(time.Second)
			if n := len(p.report(t.Context(), nil, false)); n != 0 { // the deletion is allowed, so no Application waits
				t.Errorf("%d Applications are concerned", n)
			}
			if v := p.Set(planOf("app", ended)); !v.Allowed[one] || v.Held != "" {
				t.Errorf("it is %+v", v)
			}
			again := play(t, hub)
			again.at = p.at
			again.Set(planOf("app", ended)) // before the budget has read its ConfigMap
			before := hub.writes
			concerned, _, err := again.step(t.Context())
			if v := again.Set(planOf("app", ended)); err != nil || !v.Allowed[one] || !slices.Contains(concerned, key("app")) || hub.writes != before {
				t.Errorf("after a restart it is %+v, concerns %v, %d writes, %v", v, concerned, hub.writes-before, err)
			}
		})
	}
}

// The ConfigMap may have been written although the answer is lost. The budget then reads that it has allowed a
// deletion, and requeues the Application, which no event concerns.
func TestBudget_requeuesAfterALostAnswer(t *testing.T) {
	p := play(t, newHub())
	p.Set(planOf("app", ended))
	p.at = p.at.Add(2 * time.Second)
	p.hub.lost = errors.New("EOF")
	if concerned, _, err := p.step(t.Context()); err == nil || len(concerned) > 0 {
		t.Fatalf("it concerns %v, %v", concerned, err)
	}
	p.hub.lost = nil
	for _, want := range [][]types.NamespacedName{{key("app")}, nil} {
		if concerned, _, err := p.step(t.Context()); err != nil || !slices.Equal(concerned, want) {
			t.Errorf("it concerns %v, want %v, %v", concerned, want, err)
		}
	}
	if v := p.Set(planOf("app", ended)); !v.Allowed[one] {
		t.Errorf("it is %+v", v)
	}
}

// An Application that was planned before the ConfigMap could be read gets the stored hold in its condition.
func TestBudget_requeuesForARestoredHold(t *testing.T) {
	hub := newHub()
	p := play(t, hub)
	var fates []decide.Fate
	for i := range 11 {
		f := ended
		f.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", i))
		fates = append(fates, f)
	}
	p.Set(planOf("app", fates...))
	p.steps(time.Minute)
	again := play(t, hub)
	again.at = p.at
	again.Set(planOf("app", fates...))
	concerned, _, err := again.step(t.Context())
	if v := again.Set(planOf("app", fates...)); err != nil || !slices.Equal(concerned, []types.NamespacedName{key("app")}) || !strings.Contains(v.Held, "11 of 11") {
		t.Errorf("it concerns %v, %v, held is %q", concerned, err, v.Held)
	}
}

// If another process has written the ConfigMap, the write fails. The budget reads the records of the other
// process and decides again.
func TestBudget_decidesAgainAfterAConflict(t *testing.T) {
	hub := newHub()
	first, second := play(t, hub), play(t, hub)
	first.steps(0)
	second.steps(0)
	first.Set(planOf("app", ended))
	first.steps(2 * time.Second)
	if !first.Set(planOf("app", ended)).Allowed[one] {
		t.Fatal("it may not end")
	}
	second.at = first.at
	second.Set(planOf("other", decide.Fate{UID: two, Own: true, Act: decide.End, Due: true, Lane: tenant(set)}))
	second.at = second.at.Add(time.Minute)
	if _, _, err := second.step(t.Context()); !apierrors.IsConflict(err) || second.Set(planOf("app", ended)).Allowed[two] {
		t.Errorf("it has written: %v", err)
	}
	second.steps(0)
	if n := second.ledger.records[tenant(set)].withdrawn(defaults.Window, second.at); n != 2 {
		t.Errorf("%d ends count", n)
	}
}

// A tenant changes its hold every second. The budget writes its ConfigMap about every ten seconds.
func TestBudget_storesSeldom(t *testing.T) {
	p := play(t, newHub("team"))
	p.steps(0)
	written := 0
	for i := range 60 {
		annotations := overriding(until("hold", time.Duration(i+60)*time.Minute))
		p.hub.names[guestbook] = annotations
		p.Observe(setOf("team", "guestbook", annotations))
		written += p.steps(0)
	}
	if written > 6 || written < 5 {
		t.Errorf("in a minute it has written %d times", written)
	}
	written = p.steps(time.Minute)
	if text := p.hub.stored.Data[setsKey]; written != 1 || !strings.Contains(text, until("hold", 119*time.Minute)) {
		t.Errorf("then it has written %d times: %s", written, text)
	}
	if n := p.steps(time.Hour); n != 0 {
		t.Errorf("it has written %d times for nothing", n)
	}
}

// A permission that returns within a few seconds is not stored. A permission that stays lost is stored.
func TestBudget_storesClocks(t *testing.T) {
	p := play(t, newHub())
	p.steps(0)
	missing := decide.Fate{UID: one, Own: true, Why: decide.NotBound, Lane: admin(set), Clocks: map[decide.Why]time.Time{decide.NotBound: start}}
	p.Set(planOf("app", missing))
	written := p.steps(5 * time.Second)
	p.Set(planOf("app", decide.Fate{UID: one, Own: true}))
	if written += p.steps(time.Minute); written > 1 || p.hub.stored != nil && len(storedNotes(t, p.hub)) > 0 {
		t.Errorf("for a moment it has written %d times", written)
	}
	p.Set(planOf("app", missing))
	if n := p.steps(time.Minute); n != 1 {
		t.Errorf("it has written %d times", n)
	}
	again := play(t, p.hub)
	again.at = p.at
	again.steps(0)
	if since := again.Note(one).Since[decide.NotBound]; !since.Equal(start) {
		t.Errorf("after a restart it is missing since %s", since)
	}
}

// The hold and the deletion policy of an ApplicationSet outlive the ApplicationSet. The annotations of an
// existing ApplicationSet take precedence, also after a restart.
func TestBudget_keepsTheWordsOfADeletedApplicationSet(t *testing.T) {
	hub := newHub("team")
	said := map[string]string{contract.DeletionBudgetAnnotation: until("hold", time.Hour), contract.DeletionPolicyAnnotation: "orphan"}
	hub.names[guestbook] = said
	p := play(t, hub)
	if _, err := p.Outlives(guestbook); !errors.Is(err, errNotRestored) {
		t.Errorf("before anything is read it says %v", err)
	}
	p.Observe(setOf("team", "guestbook", said))
	p.steps(0)
	stored := hub.stored.DeepCopy()
	for reason, c := range map[string]struct {
		exists bool
		now    map[string]string
		want   *decide.Annotations
	}{
		"gone": {want: left(set, said, start)}, "there": {exists: true, now: said, want: left(set, said, start)},
		"changed": {exists: true}, "changed in part": {exists: true, now: orphaning("orphan"), want: left(set, orphaning("orphan"), start)},
	} {
		delete(hub.names, guestbook)
		hub.stored = stored.DeepCopy()
		if c.exists {
			hub.names[guestbook] = c.now
		}
		again := play(t, hub)
		again.Set(planOf("app", decide.Fate{UID: one, Own: true}))
		again.steps(time.Minute)
		got, err := again.Outlives(guestbook)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", reason, err, diff)
		}
	}
}

// The words of a deleted ApplicationSet end with its last ManifestWork. So a tenant that creates and deletes
// ApplicationSets takes no memory.
func TestBudget_forgetsADeletedApplicationSetWithoutWorks(t *testing.T) {
	p := play(t, newHub("team"))
	p.steps(0)
	words := map[string]string{contract.DeletionBudgetAnnotation: until("hold", 24*time.Hour), contract.DeletionPolicyAnnotation: "orphan"}
	p.hub.names[types.NamespacedName{Namespace: "team", Name: "empty"}] = words
	p.Observe(setOf("team", "empty", words))
	p.Set(planOf("app", decide.Fate{UID: one, Own: true}))
	unknown := decide.Plan{Key: types.NamespacedName{Namespace: "team", Name: "gone"}, Fates: []decide.Fate{{UID: two, Group: other}}}
	p.Set(unknown)
	for i := range 1000 {
		p.Gone(t.Context(), setOf("team", fmt.Sprint("made-", i), words))
	}
	for _, name := range []string{set.Set, other.Set} {
		p.Gone(t.Context(), setOf("team", name, words))
	}
	p.steps(time.Minute)
	if len(p.sets) != 3 || p.sets[set].Annotations == nil || p.sets[other].Annotations == nil {
		t.Errorf("the words of %d ApplicationSets are kept, want those of the existing one and of two with works", len(p.sets))
	}
	p.Set(planOf("app"))
	p.Set(decide.Plan{Key: unknown.Key})
	p.Gone(t.Context(), setOf("team", "another", words))
	p.steps(time.Minute)
	if len(p.sets) != 1 || strings.Count(p.hub.stored.Data[setsKey], "orphan") != 1 {
		t.Errorf("%d are kept: %.200s", len(p.sets), p.hub.stored.Data[setsKey])
	}
}

// If an override or a pause ends with a deleted ApplicationSet, its Namespace gets an Event.
func TestBudget_reportsWhatEndsWithApplicationSet(t *testing.T) {
	approve, hold := until("approve", time.Hour), until("hold", time.Hour)
	for reason, c := range map[string]struct {
		annotations map[string]string
		deliveries  int
		want        string
	}{
		"nothing said":  {deliveries: 1},
		"approval":      {annotations: map[string]string{contract.DeletionBudgetAnnotation: approve}, deliveries: 1, want: `deletion-budget="approve until`},
		"pause":         {annotations: map[string]string{contract.PausedAnnotation: "delivery"}, deliveries: 1, want: `paused="delivery" ended with it; 1 deliveries`},
		"hold outlives": {annotations: map[string]string{contract.DeletionBudgetAnnotation: hold}, deliveries: 1},
		"invalid":       {annotations: map[string]string{contract.DeletionBudgetAnnotation: "hold"}, deliveries: 1, want: `deletion-budget="hold" ended`},
		"hold, paused":  {annotations: map[string]string{contract.DeletionBudgetAnnotation: hold, contract.PausedAnnotation: "sync"}, deliveries: 1, want: `is deleted, and apps.open-cluster-management.io/paused="sync" ended`},
		"nothing left":  {annotations: map[string]string{contract.PausedAnnotation: "delivery"}},
	} {
		p := play(t, newHub("team"))
		for range c.deliveries {
			p.Set(planOf("app", decide.Fate{UID: one, Own: true}))
		}
		p.Gone(t.Context(), setOf("team", "guestbook", c.annotations))
		recorded := strings.Join(p.recorder.events, "\n")
		if (recorded != "") != (c.want != "") || !strings.Contains(recorded, c.want) || recorded != "" && !strings.Contains(recorded, "Kind:Namespace,Namespace:team,Name:team") {
			t.Errorf("%s: the Events are %q, want %q", reason, recorded, c.want)
		}
	}
}

// A hold records one Event. The Event is on an existing object and names the Namespace to annotate.
func TestReporter_namesObjectToAnnotate(t *testing.T) {
	figures := holding{Since: time.Unix(1, 0), Pending: 12, Deliveries: 12, Limit: 10}
	team := heldBack{Lane: tenant(set), holding: figures}
	all := heldBack{Lane: tenant(hub), holding: figures}
	cluster := heldBack{Lane: decide.Lane{Kind: decide.ClusterRevoked, Group: decide.Group{Namespace: "team"}}, holding: figures}
	for name, c := range map[string]struct {
		held   heldBack
		there  []types.NamespacedName
		on     string
		remedy string
	}{
		"set":           {held: team, there: []types.NamespacedName{guestbook, {Name: "team"}}, on: "Kind:ApplicationSet,Namespace:team,Name:guestbook", remedy: "every removal of namespace team: kubectl annotate --overwrite namespace team "},
		"setGone":       {held: team, there: []types.NamespacedName{{Name: "team"}}, on: "Kind:Namespace,Namespace:team,Name:team", remedy: "namespace team "},
		"namespaceGone": {held: team, on: "Kind:Namespace,Namespace:hub,Name:hub", remedy: "every removal of the hub: kubectl annotate --overwrite namespace hub "},
		"hub":           {held: all, there: []types.NamespacedName{{Name: "team"}}, on: "Kind:Namespace,Namespace:hub,Name:hub", remedy: "namespace hub "},
		"cluster":       {held: cluster, there: []types.NamespacedName{{Name: "team"}}, on: "Kind:Namespace,Namespace:hub,Name:hub", remedy: `of cluster "team" would`},
	} {
		t.Run(name, func(t *testing.T) {
			cached, kept := newHub(), &recorder{}
			for _, key := range c.there {
				cached.names[key] = nil
			}
			r := &reporter{client: cached, events: kept, options: Options{Namespace: "hub"}}
			r.report(t.Context(), []heldIn{{group: set, heldBack: c.held, works: 12}, {group: other, heldBack: c.held, works: 1}})
			r.report(t.Context(), []heldIn{{group: set, heldBack: c.held, works: 11}})
			if len(kept.events) != 1 || !strings.Contains(kept.events[0], c.on) || !strings.Contains(kept.events[0], c.remedy) {
				t.Errorf("want one on %s that names %s: %q", c.on, c.remedy, kept.events)
			}
			r.report(t.Context(), nil)
		})
	}
}

func storedNotes(t *testing.T, hub *objects) workNotes {
	t.Helper()
	notes, err := decodeNotes(hub.stored.BinaryData[worksKey])
	if err != nil {
		t.Fatal(err)
	}
	return notes
}
