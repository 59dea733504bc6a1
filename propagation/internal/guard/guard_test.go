// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		reason     string
		limit      Limit
		deliveries int
		want       int
	}{
		{"a share", Limit{25, 10}, 500, 125},
		{"is rounded up", Limit{25, 0}, 5, 2},
		{"a small group may lose the least", Limit{25, 10}, 12, 10},
		{"no share and no least: each is asked for", Limit{0, 0}, 500, 0},
		{"all of them", Limit{100, 0}, 500, 500},
	} {
		if got := c.limit.Of(c.deliveries); got != c.want {
			t.Errorf("%s: %d of %d, want %d", c.reason, got, c.deliveries, c.want)
		}
	}
}

func TestPercent(t *testing.T) {
	var p Percent
	for value, want := range map[string]Percent{"0%": 0, "25%": 25, "100%": 100} {
		if err := p.Set(value); err != nil || p != want || p.String() != value {
			t.Errorf("%q became %d, %s, %v", value, p, p.String(), err)
		}
	}
	for _, value := range []string{"", "25", "%", "101%", "-1%", "2.5%", "x"} {
		if err := p.Set(value); err == nil || !strings.Contains(err.Error(), "want a percentage from 0% to 100%") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestParse(t *testing.T) {
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	for _, c := range []struct {
		reason, value string
		want          Word
		refused       string
	}{
		{reason: "no annotation", value: ""},
		{reason: "approved for an hour", value: "approve until " + at(time.Hour), want: Approve},
		{reason: "white space does not matter", value: "  hold\tuntil  " + at(time.Hour) + "\n", want: Hold},
		{reason: "undo", value: "undo until " + at(89*24*time.Hour), want: Undo},
		{reason: "another zone", value: "approve until 2026-11-21T15:00:00+02:00", want: Approve},
		{reason: "its time has passed", value: "hold until " + at(-time.Second)},
		{reason: "its time is now", value: "approve until " + at(0)},
		{reason: "an approval is for a day", value: "approve until " + at(25*time.Hour), want: Hold, refused: "too far ahead"},
		{reason: "nothing is held for ever", value: "hold until " + at(91*24*time.Hour), want: Hold, refused: "too far ahead"},
		{reason: "no end", value: "approve", want: Hold, refused: "form"},
		{reason: "no word", value: "yes until " + at(time.Hour), want: Hold, refused: `"yes" is no word`},
		{reason: "no time", value: "approve until tomorrow", want: Hold, refused: `"tomorrow" is no time`},
	} {
		got, err := Parse(c.value, "namespace team", start)
		if got.Word != c.want || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %q is %q, %v; want %q, %q", c.reason, c.value, got.Word, err, c.want, c.refused)
		}
		if err != nil && !strings.Contains(err.Error(), `"undo until <time>"`) {
			t.Errorf("%s: the remedy is missing: %v", c.reason, err)
		}
	}
}

func TestStrongest(t *testing.T) {
	approve, hold, undo := Decision{Word: Approve}, Decision{Word: Hold}, Decision{Word: Undo}
	for _, c := range []struct {
		reason string
		of     []Decision
		want   Word
	}{
		{"nobody has decided", []Decision{{}, {}}, None},
		{"an approval", []Decision{{}, approve}, Approve},
		{"a hold wins over an approval", []Decision{approve, hold}, Hold},
		{"undo holds, too", []Decision{hold, undo, approve}, Undo},
	} {
		if got := Strongest(c.of...); got.Word != c.want {
			t.Errorf("%s: %q", c.reason, got.Word)
		}
	}
}

// world plays a hub: deliveries that are there, and what is to go of them.
type world struct {
	t      *testing.T
	ledger *Ledger
	now    time.Time
	live   map[types.UID]Group
	counts map[Group]int
	doomed map[types.UID]bool // false: in a grace period
	gone   []departure
	words  map[Group]Decision
	limits []limitAt
	saved  Records
}

type departure struct {
	group    Group
	at       time.Time
	approved bool
}

var defaults = Settings{Group: Limit{25, 10}, Hub: Limit{10, 50}, Window: 10 * time.Minute}

func newWorld(t *testing.T, settings Settings) *world {
	return &world{t: t, ledger: NewLedger(settings, nil), now: start, live: map[types.UID]Group{}, counts: map[Group]int{}, doomed: map[types.UID]bool{}, words: map[Group]Decision{}}
}

func (w *world) add(g Group, n int) {
	for range n {
		w.live[types.UID(fmt.Sprintf("%s-%d", g, len(w.live)+len(w.gone)))] = g
		w.counts[g]++
		w.counts[Group{}]++
	}
}

// doom dooms n more of a group.
func (w *world) doom(g Group, n int, due bool) {
	for uid, group := range w.live {
		if _, already := w.doomed[uid]; n > 0 && group == g && !already {
			w.doomed[uid] = due
			w.look(uid)
			n--
		}
	}
}

func (w *world) spare(g Group, n int) {
	for uid := range w.doomed {
		if n > 0 && w.live[uid] == g {
			delete(w.doomed, uid)
			w.look(uid)
			n--
		}
	}
}

// look is a look of Reconcile at one Application.
func (w *world) look(uid types.UID) {
	app := types.NamespacedName{Name: string(uid)}
	w.ledger.Begin(app)
	if due, doomed := w.doomed[uid]; doomed {
		group, live := w.live[uid]
		if !live {
			w.t.Fatalf("%s is doomed and gone", uid)
		}
		if admitted, _ := w.ledger.Note(app, uid, group, due, w.now); admitted {
			w.gone = append(w.gone, departure{group: group, at: w.now, approved: w.words[group].Word == Approve})
			delete(w.live, uid)
			w.counts[group]--
			w.counts[Group{}]--
			delete(w.doomed, uid)
			w.ledger.End(app)
			w.look(uid)
			return
		}
	}
	w.ledger.End(app)
}

func (w *world) deliveries(g Group) int { return w.counts[g] }

// plan plans and carries out, and returns when to plan again.
func (w *world) plan() time.Duration {
	words := map[Group]Decision{}
	for g, d := range w.words {
		if d.Until.After(w.now) {
			words[g] = d
		}
	}
	w.words = words
	p := w.ledger.Plan(Hub{Deliveries: w.deliveries, Decisions: words}, w.now)
	if p.Changed {
		text, err := p.Records.Encode()
		if err != nil {
			w.t.Fatal(err)
		}
		if w.saved, err = DecodeRecords(text); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, app := range w.ledger.Carry(p) {
		w.look(types.UID(app.Name))
	}
	return p.After
}

// pass lets time pass in steps of a second.
func (w *world) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(time.Second) {
		w.plan()
	}
	w.plan()
}

func (w *world) restart() {
	w.ledger = NewLedger(w.ledger.settings, w.saved)
	for uid := range w.doomed {
		w.look(uid)
	}
}

func (w *world) decide(g Group, word Word, d time.Duration) {
	w.words[g] = Decision{Word: word, Until: w.now.Add(d), On: "namespace team"}
}

func (w *world) want(reason string, gone int, held bool, g Group) {
	w.t.Helper()
	if len(w.gone) != gone {
		w.t.Errorf("%s: %d are gone, want %d", reason, len(w.gone), gone)
	}
	if _, is := w.ledger.HeldGroup(g); is != held {
		w.t.Errorf("%s: held is %t", reason, is)
	}
}

var (
	set   = Group{"team", "guestbook"}
	other = Group{"team", "other"}
)

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		play   func(w *world)
		gone   int
		held   bool
	}{
		"few":     {reason: "as few as any group may lose go after a second", play: func(w *world) { w.doom(set, 10, true); w.pass(time.Second) }, gone: 10},
		"atOnce":  {reason: "but not before it", play: func(w *world) { w.doom(set, 10, true); w.plan() }},
		"share":   {reason: "a quarter goes once no more join", play: func(w *world) { w.doom(set, 25, true); w.pass(6 * time.Second) }, gone: 25},
		"gathers": {reason: "which takes five seconds", play: func(w *world) { w.doom(set, 25, true); w.pass(4 * time.Second) }},
		"more":    {reason: "one more than a quarter, and none goes", play: func(w *world) { w.doom(set, 26, true); w.pass(time.Hour) }, held: true},
		"addsUp": {reason: "what has gone in the window counts", play: func(w *world) {
			w.doom(set, 10, true)
			w.pass(10 * time.Second)
			w.doom(set, 16, true)
			w.pass(9 * time.Minute)
		}, gone: 10, held: true},
		"slides": {reason: "until it has slid out", play: func(w *world) {
			w.doom(set, 10, true)
			w.pass(10 * time.Second)
			w.doom(set, 16, true)
			w.pass(11 * time.Minute)
		}, gone: 26},
		"burst":        {reason: "of a mass deletion at five a second only the least go", play: func(w *world) { w.burst(set, 100, 5) }, gone: 10, held: true},
		"flood":        {reason: "of a faster one none", play: func(w *world) { w.burst(set, 100, 20) }, held: true},
		"grace":        {reason: "those in a grace period count with the first that is due", play: func(w *world) { w.doom(set, 99, false); w.pass(time.Minute); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"graceAlone":   {reason: "and are no alarm by themselves", play: func(w *world) { w.doom(set, 100, false); w.pass(time.Hour) }},
		"comeBack":     {reason: "a hold ends with its cause", play: func(w *world) { w.doom(set, 50, true); w.pass(time.Minute); w.spare(set, 50); w.pass(time.Minute) }},
		"trickle":      {reason: "those who come back one by one do not let the rest go", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.back(set, 50) }},
		"someComeBack": {reason: "what then keeps the limit goes", play: func(w *world) { w.doom(set, 50, true); w.pass(10 * time.Second); w.spare(set, 30); w.pass(time.Minute) }, gone: 20},
		"hub": {reason: "many small groups are many, too", play: func(w *world) {
			for i := range 10 {
				g := Group{"team", fmt.Sprint("small", i)}
				w.add(g, 8)
				w.doom(g, 8, true)
			}
			w.pass(time.Minute)
		}, held: true},
		"approved": {reason: "nothing is held that is approved", play: func(w *world) { w.decide(set, Approve, time.Hour); w.doom(set, 100, true); w.pass(time.Second) }, gone: 100},
		"afterwards": {reason: "or is approved afterwards", play: func(w *world) {
			w.doom(set, 100, true)
			w.pass(time.Minute)
			w.decide(set, Approve, time.Hour)
			w.plan()
		}, gone: 100},
		"expired": {reason: "an approval ends by itself", play: func(w *world) {
			w.decide(set, Approve, time.Minute)
			w.pass(2 * time.Minute)
			w.doom(set, 100, true)
			w.pass(time.Minute)
		}, held: true},
		"hold":     {reason: "not even one goes while it is held on purpose", play: func(w *world) { w.decide(set, Hold, time.Hour); w.doom(set, 1, true); w.pass(time.Minute) }, held: true},
		"holdEnds": {reason: "and it goes afterwards", play: func(w *world) { w.decide(set, Hold, time.Hour); w.doom(set, 1, true); w.pass(time.Hour + time.Second) }, gone: 1},
		"undo": {reason: "undo withdraws nothing", play: func(w *world) {
			w.doom(set, 100, true)
			w.pass(time.Minute)
			w.decide(set, Undo, time.Hour)
			w.pass(time.Minute)
		}, held: true},
		"tookBack": {reason: "a hold takes back what was let go a moment ago", play: func(w *world) {
			w.doom(set, 1, true)
			w.now = w.now.Add(2 * time.Second)
			p := w.ledger.Plan(Hub{Deliveries: w.deliveries}, w.now)
			w.ledger.Carry(p)
			w.decide(set, Hold, time.Hour)
			w.pass(time.Minute)
		}, held: true},
		"approvedDoNotCount": {reason: "after an approved removal another may lose its share", play: func(w *world) {
			w.decide(set, Approve, time.Hour)
			w.doom(set, 50, true)
			w.plan()
			w.words = map[Group]Decision{}
			w.doom(set, 10, true)
			w.pass(2 * time.Second)
		}, gone: 60},
		"restart": {reason: "a restart forgets neither hold nor window", play: func(w *world) {
			w.doom(set, 20, true)
			w.pass(10 * time.Second)
			w.restart()
			w.doom(set, 6, true)
			w.pass(time.Minute)
			w.restart()
			w.pass(time.Minute)
		}, gone: 20, held: true},
		"others": {reason: "the hold of one group is not another's", play: func(w *world) {
			w.doom(set, 30, true)
			w.pass(time.Minute)
			w.doom(other, 2, true)
			w.pass(time.Minute)
		}, gone: 2, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, defaults)
			w.add(set, 100)
			w.add(other, 100)
			c.play(w)
			w.want(c.reason, c.gone, c.held, set)
		})
	}
}

// burst dooms n, some each second, as a controller that deletes them does.
func (w *world) burst(g Group, n, each int) {
	for ; n > 0; n -= each {
		w.doom(g, each, true)
		w.pass(time.Second)
	}
	w.pass(time.Hour)
}

// back spares n, one every four seconds.
func (w *world) back(g Group, n int) {
	for range n {
		w.spare(g, 1)
		w.pass(4 * time.Second)
	}
	w.pass(time.Minute)
}

func TestWholeHubIsHeld(t *testing.T) {
	w := newWorld(t, defaults)
	for i := range 20 {
		w.add(Group{"team", fmt.Sprint("small", i)}, 8)
		w.doom(Group{"team", fmt.Sprint("small", i)}, 8, true)
	}
	w.pass(time.Minute)
	w.want("twenty groups of eight lose all", 0, true, Group{"team", "small3"})
	w.decide(Group{"team", "small3"}, Approve, time.Hour)
	w.plan()
	w.want("one of them is approved", 8, false, Group{"team", "small3"})
}

func TestNoLimitDoesNotWait(t *testing.T) {
	w := newWorld(t, Settings{Group: Limit{100, 0}, Hub: Limit{100, 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 100, true)
	w.plan()
	w.want("limits are off", 100, false, set)
	if w.saved != nil {
		t.Errorf("it was recorded: %v", w.saved)
	}
}

func TestNothingLeastAsksEachTime(t *testing.T) {
	w := newWorld(t, Settings{Group: Limit{0, 0}, Hub: Limit{100, 0}, Window: time.Minute})
	w.add(set, 100)
	w.doom(set, 1, true)
	w.pass(time.Hour)
	w.want("0% and least 0", 0, true, set)
}

// What is said of a hold does not change while it lasts, or everything held would be
// written again for each that joins.
func TestHoldSaysTheSame(t *testing.T) {
	w := newWorld(t, defaults)
	w.add(set, 100)
	w.doom(set, 40, true)
	w.pass(time.Minute)
	before, _ := w.ledger.HeldGroup(set)
	w.doom(set, 20, true)
	p := w.ledger.Plan(Hub{Deliveries: w.deliveries}, w.now)
	concerned := w.ledger.Carry(p)
	after, held := w.ledger.HeldGroup(set)
	if !held || p.Changed || len(concerned) > 0 || after != before {
		t.Errorf("held %t, to be stored %t, %d concerned, %+v became %+v", held, p.Changed, len(concerned), before, after)
	}
	w.restart()
	again, _ := w.ledger.HeldGroup(set)
	if diff := cmp.Diff(before, again); diff != "" {
		t.Errorf("a restart says something else: %s", diff)
	}
}

func TestRecordsSurvive(t *testing.T) {
	r := Records{set: {Withdrawn: []count{{start, 3}}, Held: &Holding{Since: start, Doomed: 5, Deliveries: 6, Limit: 2}}, {}: {Withdrawn: []count{{start, 3}}}}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRecords(text)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Errorf("%s became %v, %v: %s", text, got, err, diff)
	}
	for _, bad := range []string{"{", `{"nogroup":{}}`, "[]"} {
		if _, err := DecodeRecords(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
