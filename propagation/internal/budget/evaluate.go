// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
)

// Settings are the limits of removals and their window.
type Settings struct {
	// Group is the limit of each lane. Hub is the limit of all lanes of one kind together.
	Group, Hub limit.Limit
	// Window is how long a removal counts.
	Window time.Duration
	// Gather replaces [gather] in tests on a busy machine.
	Gather time.Duration
}

// Removals are evaluated when no removal has joined for a while. The ApplicationSet controller
// deletes about twenty Applications a second, and a busy hub far fewer. With a fixed time, the
// first part of a mass deletion would count as the whole.
const (
	// gather is that time while a lane has no more removals than it may always lose.
	gather = time.Second
	// settle is that time otherwise.
	settle = 5 * time.Second
	// longest is the longest time after the first removal.
	longest = time.Minute
)

// quiet is how long a lane must not change before its hold ends by itself. Applications that are
// re-created one after another must not release the others.
func (s Settings) quiet() time.Duration { return min(longest, s.Window/10) }

// end is a planned removal of a ManifestWork that counts in a lane.
type end struct {
	uid      types.UID
	lane     decide.Lane
	override decide.Override
	joined   time.Time
	// due is true if the removal can start now, and false during its grace period.
	due bool
}

// state is the input of an evaluation.
type state struct {
	settings Settings
	records  laneRecords
	// ends are the removals that are not allowed yet and that no override or pause delays.
	ends []end
	// left is when a removal was last cancelled in a held lane. The zero Group has the last time in
	// all lanes of the kind.
	left map[decide.Lane]time.Time
	// deliveries counts the deliveries in a lane, or in all lanes of a kind for the zero Group.
	deliveries func(decide.Lane) int
	// unlimited is true if an operator has lifted the limit of the hub.
	unlimited bool
	now       time.Time
}

// evaluation is the result of [evaluate].
type evaluation struct {
	// records must be stored before any removal, if changed is true.
	records laneRecords
	changed bool
	allow   []end
	// after is the delay until the next evaluation without a change, or 0.
	after time.Duration
}

type verdict int

const (
	waiting verdict = iota // for others that may join
	allowed
	denied
)

// tally summarises some of the removals in a lane.
type tally struct {
	pending, due int
	// first and last are when the first and the last removal joined. changed is when one last
	// joined or was cancelled.
	first, last, changed time.Time
}

func (t *tally) add(other tally) {
	if other.pending > 0 && (t.pending == 0 || other.first.Before(t.first)) {
		t.first = other.first
	}
	t.last, t.changed = later(t.last, other.last), later(t.changed, other.changed)
	t.pending, t.due = t.pending+other.pending, t.due+other.due
}

// tallies are the removals of a lane. Limited removals count for the limits of the lane and of the
// hub. Approved removals count only for the limit of the hub.
type tallies struct{ limited, approved tally }

func (t *tallies) all() (sum tally) {
	sum.add(t.limited)
	sum.add(t.approved)
	return sum
}

// evaluator holds the intermediate results of [evaluate].
type evaluator struct {
	state
	out      evaluation
	lanes    map[decide.Lane]*tallies
	verdicts map[decide.Lane]verdict
}

// evaluate decides which removals may start. It is a pure function of s and does not change it.
func evaluate(s state) evaluation {
	b := evaluator{state: s, lanes: map[decide.Lane]*tallies{}, verdicts: map[decide.Lane]verdict{}}
	b.out.records = s.records.current(s.settings.Window, s.now)
	b.tally()
	kinds := map[decide.LaneKind]bool{}
	for lane := range b.out.records {
		kinds[lane.Kind] = true
	}
	for lane, t := range b.lanes {
		b.verdicts[lane] = b.ofLane(lane, t)
		kinds[lane.Kind] = true
	}
	for kind := range kinds {
		b.ofHub(kind)
	}
	b.permit()
	return b.out
}

// approved reports whether an override lifts the limit of a removal. It checks the time, because a
// plan may be older than the expiry of the override.
func (b *evaluator) approved(e end) bool {
	return e.override.Effect == decide.Approve && e.override.Until.After(b.now)
}

// tally counts the removals of each lane. A lane with a hold has a tally, even an empty one.
func (b *evaluator) tally() {
	for lane, record := range b.out.records {
		if record.Held == nil {
			continue
		}
		if lane.Group != (decide.Group{}) {
			b.lane(lane)
		}
		for _, group := range record.Together {
			b.lane(decide.Lane{Kind: lane.Kind, Group: group})
		}
	}
	for _, e := range b.ends {
		one := tally{pending: 1, first: e.joined, last: e.joined, changed: e.joined}
		if e.due {
			one.due = 1
		}
		switch t := b.lane(e.lane); {
		case !b.approved(e):
			t.limited.add(one)
			continue
		case !b.unlimited:
			t.approved.add(one)
		}
		b.again(e.override.Until.Sub(b.now))
	}
	for lane, at := range b.left {
		if t := b.lanes[lane]; t != nil {
			t.limited.changed = later(t.limited.changed, at)
		}
	}
}

func (b *evaluator) lane(lane decide.Lane) *tallies {
	if b.lanes[lane] == nil {
		b.lanes[lane] = &tallies{}
	}
	return b.lanes[lane]
}

// again requests another evaluation after a delay.
func (b *evaluator) again(after time.Duration) {
	b.out.after = decide.Sooner(b.out.after, max(after, time.Millisecond))
}

// record replaces the record of a lane.
func (b *evaluator) record(lane decide.Lane, record laneRecord) {
	b.out.records[lane], b.out.changed = record, true
}

// ofLane decides whether the removals of a lane are within its limit.
func (b *evaluator) ofLane(lane decide.Lane, t *tallies) verdict {
	record := b.out.records[lane]
	if record.Held != nil {
		if !b.over(b.settings.Group, lane, t.limited) {
			return denied
		}
		record.Held = nil
		b.record(lane, record)
	}
	v, hold := b.check(b.settings.Group, lane, t.limited)
	if v == denied {
		record.Held = hold
		b.record(lane, record)
	}
	return v
}

// over reports whether a hold ends by itself. It ends if no removal is left. It also ends if the
// lane has been quiet and its removals, together with the removals in the window, are within the
// limit.
func (b *evaluator) over(of limit.Limit, lane decide.Lane, t tally) bool {
	if of.Off() || t.pending == 0 {
		return true
	}
	withdrawn, most := b.withdrawn(of, lane)
	if withdrawn+t.pending > most {
		b.slide(t, most)
		return false
	}
	left := t.changed.Add(b.settings.quiet()).Sub(b.now)
	if left > 0 {
		b.again(left)
	}
	return left <= 0
}

// slide schedules an evaluation for the time at which enough counts have left the window.
func (b *evaluator) slide(t tally, most int) {
	if t.pending <= most {
		b.again(b.settings.Window / perWindow)
	}
}

// ofHub decides whether the removals that the lanes of a kind allow are within the limit of the
// hub. If not, they are all held together. Lanes that are held themselves do not count, so that
// they do not hold other lanes.
func (b *evaluator) ofHub(kind decide.LaneKind) {
	if b.unlimited {
		b.free(kind)
		return
	}
	hub := decide.Lane{Kind: kind}
	record, passing := b.held(hub), tally{}
	var groups []decide.Group
	for lane, t := range b.lanes {
		if lane.Kind != kind || slices.Contains(record.Together, lane.Group) {
			continue
		}
		part := t.approved
		if b.verdicts[lane] == allowed {
			part = t.all()
		}
		if part.pending > 0 {
			passing.add(part)
			groups = append(groups, lane.Group)
		}
	}
	v, hold := b.check(b.settings.Hub, hub, passing)
	if v == denied {
		if record.Held == nil {
			record.Held = hold
		}
		record.Together = sortGroups(append(slices.Clone(record.Together), groups...))
		b.record(hub, record)
	}
	b.verdicts[hub] = v
}

// free ends the hold of the hub.
func (b *evaluator) free(kind decide.LaneKind) {
	hub := decide.Lane{Kind: kind}
	if record := b.out.records[hub]; record.Held != nil {
		record.Held, record.Together = nil, nil
		b.record(hub, record)
	}
	b.verdicts[hub] = allowed
}

// held returns the record of the hub without lanes that have no removals left. The hold of the hub
// ends if no lane changes, no more removals are left than any group may lose, and the removals are
// within the limit. The removals in the window count for the limit.
func (b *evaluator) held(hub decide.Lane) laneRecord {
	record := b.out.records[hub]
	if record.Held == nil {
		return record
	}
	left, together := tally{changed: b.left[hub]}, []decide.Group{}
	for _, group := range record.Together {
		t := b.lanes[decide.Lane{Kind: hub.Kind, Group: group}].all()
		left.add(t)
		if t.pending > 0 {
			together = append(together, group)
		}
	}
	over := b.settings.Hub.Off() || left.pending <= b.settings.Group.Least && b.over(b.settings.Hub, hub, left)
	if !over && len(together) == len(record.Together) {
		return record
	}
	record.Together = together
	if over {
		record.Held, record.Together = nil, nil
	}
	b.record(hub, record)
	return record
}

// check decides whether removals are within a limit. If not, the hold has the reason.
func (b *evaluator) check(of limit.Limit, lane decide.Lane, t tally) (verdict, *holding) {
	if of.Off() {
		return allowed, nil
	}
	if t.due == 0 {
		return waiting, nil
	}
	withdrawn, most := b.withdrawn(of, lane)
	quiet := settle
	if withdrawn+t.pending <= of.Least {
		quiet = cmp.Or(b.settings.Gather, gather)
	}
	if left := min(t.last.Add(quiet).Sub(b.now), t.first.Add(longest).Sub(b.now)); left > 0 {
		b.again(left)
		return waiting, nil
	}
	if withdrawn+t.pending > most {
		b.slide(t, most)
		return denied, &holding{Since: b.now.UTC().Truncate(time.Second), Pending: withdrawn + t.pending, Deliveries: b.most(lane), Limit: most}
	}
	return allowed, nil
}

// withdrawn returns how many removals the window has, and how many it may have.
func (b *evaluator) withdrawn(of limit.Limit, lane decide.Lane) (n, most int) {
	return b.out.records[lane].withdrawn(b.settings.Window, b.now), of.Of(b.most(lane))
}

// most returns the highest known number of deliveries in the window: the present number, or a
// number that was recorded with a removal.
func (b *evaluator) most(lane decide.Lane) int {
	return max(b.deliveries(lane), b.out.records[lane].deliveries(b.settings.Window, b.now))
}

// permit allows removals and counts those that no override approves.
func (b *evaluator) permit() {
	counted := map[decide.Lane]int{}
	for _, e := range b.ends {
		hub := decide.Lane{Kind: e.lane.Kind}
		free := b.unlimited || b.verdicts[hub] == allowed && !slices.Contains(b.out.records[hub].Together, e.lane.Group)
		approved := b.approved(e)
		if !e.due || !free || !approved && b.verdicts[e.lane] != allowed {
			continue
		}
		b.out.allow = append(b.out.allow, e)
		if !approved && !b.settings.Group.Off() {
			counted[e.lane]++
		}
		if !b.unlimited && !b.settings.Hub.Off() {
			counted[hub]++
		}
	}
	for lane, n := range counted {
		b.record(lane, b.out.records[lane].adding(n, b.deliveries(lane), b.settings.Window, b.now))
	}
	unlimited := b.settings.Group.Off() && b.settings.Hub.Off()
	b.out.changed = b.out.changed || len(b.out.allow) > 0 && !unlimited
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
