// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var api client.Client

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		api, err = client.New(c, client.Options{})
		return err
	})
}

func newNamespace(t *testing.T, name string) string {
	t.Helper()
	if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	return name
}

func newStore(namespace string) *store {
	return &store{client: api, live: api, namespace: namespace}
}

// fleet returns a memory of works in groups, each with two clocks. The first due of them have an
// allowed deletion.
func fleet(works, groups, due int) memory {
	m := memory{records: laneRecords{}, notes: workNotes{}, essential: workNotes{}, sets: sets{}}
	for i := range works {
		g := decide.Group{Namespace: fmt.Sprint("team-", i%groups), Set: "guestbook"}
		note := decide.Note{Known: true, Group: g, Since: map[decide.Why]time.Time{
			decide.NotBound: start.Add(time.Duration(i%3600) * time.Second), decide.ProjectNotAllowed: start.Add(time.Duration(i%7200) * time.Second)}}
		uid := uuid.NewUUID()
		if i < due {
			note.Allowed, note.Lane = true, admin(g)
			m.essential[uid] = note
		}
		m.notes[uid] = note
		m.records[admin(g)] = laneRecord{Withdrawn: []count{{at: start, n: 3, of: 40}}, Held: &holding{Since: start, Pending: 40, Deliveries: 40, Limit: 10}}
	}
	return m
}

func TestStore_hasOneWriter(t *testing.T) {
	ctx, namespace := context.Background(), newNamespace(t, "one-writer")
	first, second := newStore(namespace), newStore(namespace)
	m := fleet(3, 1, 1)
	m.sets[set] = storedSet{overriding(until("hold", time.Hour))}
	nothing := memory{records: laneRecords{}}
	for _, s := range []*store{first, second} {
		if got, err := s.load(ctx); err != nil || len(got.records)+len(got.notes)+len(got.sets) != 0 {
			t.Fatalf("there is %v, %v", got, err)
		}
	}
	if err := first.save(ctx, m, start); err != nil {
		t.Fatal(err)
	}
	if err := second.save(ctx, nothing, start); err == nil {
		t.Fatal("the second wrote over it")
	}
	got, err := second.load(ctx)
	if diff := cmp.Diff(m.records, got.records, sameCount) + cmp.Diff(m.notes, got.notes) + cmp.Diff(m.sets, got.sets); err != nil || diff != "" {
		t.Fatalf("the second read %v: %s", err, diff)
	}
	if err := errors.Join(second.save(ctx, nothing, start), second.save(ctx, m, start)); err != nil {
		t.Fatal(err)
	}
	if err := first.save(ctx, nothing, start); err == nil {
		t.Fatal("the first wrote over it")
	}
}

// The store does not write stored content again, also after a restart.
func TestStore_writesDifferences(t *testing.T) {
	ctx, namespace := context.Background(), newNamespace(t, "differences")
	m := fleet(30, 3, 10)
	version := func() string {
		o := newStore(namespace).object()
		if err := api.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		return o.ResourceVersion
	}
	first := newStore(namespace)
	if err := first.save(ctx, m, start); err != nil {
		t.Fatal(err)
	}
	before := version()
	if err := first.save(ctx, m, start.Add(time.Hour)); err != nil || version() != before || !first.last.Equal(start) {
		t.Errorf("it was written again: %v", err)
	}
	second := newStore(namespace)
	got, err := second.load(ctx)
	got.essential = got.notes
	if err := errors.Join(err, second.save(ctx, got, start)); err != nil || version() != before {
		t.Errorf("it was written after a restart: %v", err)
	}
}

// The store reads the former format, and writes the current one.
func TestStore_readsTheFormerFormat(t *testing.T) {
	ctx, s := context.Background(), newStore(newNamespace(t, "upgrade"))
	former := s.object()
	former.Data = map[string]string{
		formerKey: `{"team/guestbook":{"held":{"since":"2026-11-21T12:00:00Z","pending":5,"deliveries":6,"limit":2}}}`,
		setsKey:   `{"team/guestbook":{"uid":"a","annotations":{"apps.open-cluster-management.io/deletion-budget":"` + until("hold", time.Hour) + `"}}}`,
	}
	if err := api.Create(ctx, former); err != nil {
		t.Fatal(err)
	}
	m, err := s.load(ctx)
	if err != nil || m.records[tenant(set)].Held == nil || m.records[admin(set)].Held == nil || m.sets[set].Annotations == nil {
		t.Fatalf("it has read %v, %v", m, err)
	}
	if err := s.save(ctx, m, start); err != nil {
		t.Fatal(err)
	}
	again, err := newStore(s.namespace).load(ctx)
	if diff := cmp.Diff(m.records, again.records, sameCount); err != nil || diff != "" || again.sets[set].Annotations == nil {
		t.Errorf("it has read %v: %s", err, diff)
	}
	if _, left := s.written.Data[formerKey]; left {
		t.Error("the former format is still there")
	}
}

// If one entry of the ConfigMap is damaged, the store still loads the others.
func TestStore_loadsUndamagedEntries(t *testing.T) {
	ctx, s := context.Background(), newStore(newNamespace(t, "damaged"))
	if err := s.save(ctx, fleet(3, 1, 1), start); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lanes, sets string
		works       []byte
	}{{lanes: "{", sets: "{}", works: s.written.BinaryData[worksKey]}, {lanes: "{}", sets: "{", works: []byte{7}}} {
		o := s.object()
		o.Data, o.BinaryData = map[string]string{lanesKey: c.lanes, setsKey: c.sets}, map[string][]byte{worksKey: c.works}
		if err := api.Update(ctx, o); err != nil {
			t.Fatal(err)
		}
		m, err := newStore(s.namespace).load(ctx)
		if want := map[bool]int{true: 3, false: 0}[c.sets == "{}"]; err != nil || len(m.notes) != want || m.records == nil || m.sets == nil {
			t.Errorf("it has read %d works, %v, %v, %v", len(m.notes), m.records, m.sets, err)
		}
	}
}

// A ConfigMap has room for 20,000 allowed deletions, in 25 bytes each. With more works, the store leaves out
// works in a grace period. If the allowed deletions alone are too many, save fails.
func TestStore_fits(t *testing.T) {
	ctx, s := context.Background(), newStore(newNamespace(t, "fits"))
	const most = 20_000
	all := fleet(most, 400, most)
	for i := range 1200 {
		all.sets[decide.Group{Namespace: fmt.Sprint("team", i/10), Set: fmt.Sprint(i)}] = storedSet{overriding(until("hold", time.Hour))}
	}
	encoded, err := encodeNotes(all.notes)
	works := len(encoded)
	if err != nil || works > 25*most {
		t.Errorf("%d bytes a work, %v", works/most, err)
	}
	if err := s.save(ctx, all, start); err != nil {
		t.Fatal(err)
	}
	if s.setsLeftOut+s.notesLeftOut > 0 {
		t.Errorf("%d ApplicationSets and %d works were left out", s.setsLeftOut, s.notesLeftOut)
	}
	t.Logf("%d bytes of works, %d of lanes, %d of ApplicationSets", works, len(s.written.Data[lanesKey]), len(s.written.Data[setsKey]))
	if err := s.save(ctx, fleet(3*most, 400, most), start); err != nil || s.notesLeftOut != 2*most {
		t.Errorf("%d were left out: %v", s.notesLeftOut, err)
	}
	got, err := newStore(s.namespace).load(ctx)
	if err != nil || len(got.notes) != most {
		t.Errorf("%d works are stored: %v", len(got.notes), err)
	}
	if err := s.save(ctx, fleet(3*most, 400, 3*most), start); err == nil || !strings.Contains(err.Error(), "400 lanes and 60000 works take") {
		t.Errorf("more than fit: %v", err)
	}
}
