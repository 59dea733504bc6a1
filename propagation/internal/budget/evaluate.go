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

// Settings say when ends are held.
type Settings struct {
	// Group is the limit of each lane, Hub that of all lanes of a kind together.
	Group, Hub limit.Limit
	// Window is the time within which ends add up.
	Window time.Duration
	// Gather is another time than [gather], for tests on a busy machine.
	Gather time.Duration
}

// How long ends are gathered before they are evaluated. The ApplicationSet controller deletes
// some twenty Applications a second, so that a fixed wait would let the first part of a mass
// deletion go as if it were all.
const (
	// gather: as few as every lane may lose go together after this.
	gather = time.Second
	// settle: more are evaluated once no other has joined them for so long,
	settle = 5 * time.Second
	// longest: or once the first has waited for so long.
	longest = time.Minute
)

// quiet is for how long nothing may join a lane or come back before its hold ends by itself:
// Applications that are re-created one after another must not let the rest go.
func (s Settings) quiet() time.Duration { return min(longest, s.Window/10) }

// end is the planned end of a ManifestWork that a lane counts.
type end struct {
	uid      types.UID
	lane     decide.Lane
	override decide.Override
	joined   time.Time
	// due: it would go now; otherwise once a grace period has passed.
	due bool
}

// state is what an evaluation rests on.
type state struct {
	settings Settings
	records  laneRecords
	// ends are those that are not allowed yet, and that nobody delays.
	ends []end
	// left is when an end left a held lane last, since something came back; under the zero
	// Group when one of the kind did.
	left map[decide.Lane]time.Time
	// deliveries are how many there are in a lane; those of a kind have the zero Group.
	deliveries func(decide.Lane) int
	// unlimited: an operator has lifted the limit of the hub.
	unlimited bool
	now       time.Time
}

// evaluation is what becomes of the ends.
type evaluation struct {
	// records are stored before anything goes, when changed.
	records laneRecords
	changed bool
	allow   []end
	// after is when to evaluate again unless something happens, 0 for never.
	after time.Duration
}

type verdict int

const (
	waiting verdict = iota // for others that may join
	allowed
	denied
)

// tally is what there is of some ends.
type tally struct {
	pending, due int
	// first and last are when they joined, changed when one joined or left last.
	first, last, changed time.Time
}

func (t *tally) add(other tally) {
	if other.pending > 0 && (t.pending == 0 || other.first.Before(t.first)) {
		t.first = other.first
	}
	t.last, t.changed = later(t.last, other.last), later(t.changed, other.changed)
	t.pending, t.due = t.pending+other.pending, t.due+other.due
}

// tallies are what there is in a lane: limited counts for the lane's limit and the hub's,
// approved for the hub's only.
type tallies struct{ limited, approved tally }

func (t *tallies) all() (sum tally) {
	sum.add(t.limited)
	sum.add(t.approved)
	return sum
}

// evaluator is an evaluation that is being made.
type evaluator struct {
	state
	out      evaluation
	lanes    map[decide.Lane]*tallies
	verdicts map[decide.Lane]verdict
}

// evaluate decides which ends may go. It is a function of the state and changes nothing.
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

// approved reports whether a word lifts the limit of an end. A plan may be older than the
// end of its word.
func (b *evaluator) approved(e end) bool {
	return e.override.Word == decide.Approve && e.override.Until.After(b.now)
}

// tally sums up the ends of each lane, and has a lane for each hold.
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

// again has ends evaluated again after some time.
func (b *evaluator) again(after time.Duration) {
	b.out.after = decide.Sooner(b.out.after, max(after, time.Millisecond))
}

// record notes what is remembered of a lane from now on.
func (b *evaluator) record(lane decide.Lane, record laneRecord) {
	b.out.records[lane], b.out.changed = record, true
}

// ofLane decides whether a lane keeps its limit.
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

// over reports whether a hold ends by itself: nothing is to go any more, or what is keeps the
// limit, with what went in the window, and nothing has joined or left for some time.
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

// slide has a hold looked at again that ends once enough has slid out of the window.
func (b *evaluator) slide(t tally, most int) {
	if t.pending <= most {
		b.again(b.settings.Window / perWindow)
	}
}

// ofHub decides whether what the lanes of a kind let pass keeps the hub's limit. What does
// not is held together: lanes that are held already do not count, so that they do not hold
// the others.
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

// held returns the record of the hub without the lanes of which nothing is to go any more.
// Its hold ends once what is left in it is no more than any group may lose, keeps the limit
// with what went in the window, and all is quiet.
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

// check decides whether a limit is kept; a hold says why it is not.
func (b *evaluator) check(of limit.Limit, lane decide.Lane, t tally) (verdict, *holding) {
	if of.Off() {
		return allowed, nil
	}
	if t.due == 0 {
		return waiting, nil
	}
	withdrawn, most := b.withdrawn(of, lane)
	settled := t.last.Add(settle)
	if withdrawn+t.pending <= of.Least {
		settled = t.first.Add(cmp.Or(b.settings.Gather, gather))
	} else if latest := t.first.Add(longest); latest.Before(settled) {
		settled = latest
	}
	if left := settled.Sub(b.now); left > 0 {
		b.again(left)
		return waiting, nil
	}
	if withdrawn+t.pending > most {
		b.slide(t, most)
		return denied, &holding{Since: b.now.UTC().Truncate(time.Second), Pending: withdrawn + t.pending, Deliveries: b.most(lane), Limit: most}
	}
	return allowed, nil
}

// withdrawn returns how many went in the window, and how many may go in one.
func (b *evaluator) withdrawn(of limit.Limit, lane decide.Lane) (n, most int) {
	return b.out.records[lane].withdrawn(b.settings.Window, b.now), of.Of(b.most(lane))
}

// most returns the most deliveries that there were in the window, as far as it is known:
// those of now, or of when something went.
func (b *evaluator) most(lane decide.Lane) int {
	return max(b.deliveries(lane), b.out.records[lane].deliveries(b.settings.Window, b.now))
}

// permit notes what may go, and counts what goes without an approval.
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
