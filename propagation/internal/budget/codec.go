// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// The records of lanes are stored as JSON that an operator can read. Notes of works are stored in
// about 25 bytes each, because there may be one for each delivery.

// kinds maps the stored name of each lane kind to the kind.
var kinds = func() map[string]decide.LaneKind {
	m := map[string]decide.LaneKind{}
	for kind := range kindBits {
		m[kind.String()] = kind
	}
	return m
}()

type storedRecord struct {
	// Withdrawn lists counts: Unix time, number of removals, number of deliveries.
	Withdrawn [][3]int64     `json:"withdrawn,omitempty"`
	Held      *holding       `json:"held,omitempty"`
	Together  []decide.Group `json:"together,omitempty"`
}

// seconds rounds a time up, so that a restart shortens no window and no grace period.
func seconds(at time.Time) int64 { return at.Add(time.Second - time.Nanosecond).Unix() }

// encodeRecords encodes records as JSON with lanes as keys, for example "tenant/namespace/set".
func encodeRecords(r laneRecords) (string, error) {
	stored := map[string]storedRecord{}
	for lane, record := range r {
		s := storedRecord{Held: record.Held, Together: record.Together}
		for _, c := range record.Withdrawn {
			s.Withdrawn = append(s.Withdrawn, [3]int64{seconds(c.at), int64(c.n), int64(c.of)})
		}
		stored[lane.Kind.String()+"/"+lane.Group.Namespace+"/"+lane.Group.Set] = s
	}
	text, err := json.Marshal(stored)
	return string(text), err
}

// decodeRecords reads stored records.
func decodeRecords(text string) (laneRecords, error) {
	stored := map[string]storedRecord{}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, err
	}
	r := laneRecords{}
	for key, s := range stored {
		parts := strings.SplitN(key, "/", 3) // a name that is not valid costs no other lane
		if len(parts) != 3 || kinds[parts[0]] == decide.Uncounted {
			return nil, fmt.Errorf("%.100q is no lane", key)
		}
		lane := decide.Lane{Kind: kinds[parts[0]], Group: short(decide.Group{Namespace: parts[1], Set: parts[2]})}
		record := r[lane] // an earlier version stores whole names
		if s.Held != nil {
			record.Held = s.Held
			for _, g := range s.Together {
				record.Together = append(record.Together, short(g))
			}
		}
		for _, c := range s.Withdrawn {
			record.Withdrawn = append(record.Withdrawn, count{at: time.Unix(c[0], 0).UTC(), n: int(c[1]), of: int(c[2])})
		}
		r[lane] = record
	}
	return r, nil
}

// workNotes are the notes of ManifestWorks by UID.
type workNotes map[types.UID]decide.Note

// clocks are the causes of a removal for which a note has a time: the lost permissions, and a missing
// Application. A clock's position is its bit in the stored form.
var clocks = []decide.Why{decide.NotBound, decide.ProjectNotAllowed, decide.NamespaceNotAllowed, decide.LocalCluster, decide.ApplicationGone}

// storedGroup is the stored form of the notes of one group.
type storedGroup struct {
	Group decide.Group
	// UIDs has 16 bytes for each work. States has two bytes: the lane with a bit for a known owner,
	// and the running clocks. Since has the seconds of those clocks after Base.
	UIDs, States []byte
	Base         int64
	Since        []int64
}

// kindBits encode the lane in which a removal was allowed. knownBit is stored in the same byte.
var kindBits = map[decide.LaneKind]byte{decide.Tenant: 1, decide.Admin: 2, decide.ClusterWithdrawn: 3, decide.ClusterRevoked: 4, decide.Unproven: 5}

const knownBit = 0b1000

// encodeNotes encodes notes group by group. It leaves out a UID that is not a UUID.
func encodeNotes(notes workNotes) ([]byte, error) {
	groups := map[decide.Group][]types.UID{}
	for uid, note := range notes {
		groups[note.Group] = append(groups[note.Group], uid)
	}
	list := make([]storedGroup, 0, len(groups))
	for _, g := range sortGroups(slices.Collect(maps.Keys(groups))) {
		stored := storedGroup{Group: g}
		slices.Sort(groups[g])
		for _, uid := range groups[g] {
			stored.add(uid, notes[uid])
		}
		list = append(list, stored)
	}
	out := &bytes.Buffer{}
	err := gob.NewEncoder(out).Encode(list)
	return out.Bytes(), err
}

func (s *storedGroup) add(uid types.UID, note decide.Note) {
	id, err := uuid.Parse(string(uid))
	if err != nil || id.String() != string(uid) {
		return
	}
	state, running := byte(0), byte(0)
	if note.Allowed && (note.Lane.Kind.OfCluster() || note.Lane.Group == note.Group) {
		state = kindBits[note.Lane.Kind]
	}
	if note.Known {
		state |= knownBit
	}
	for i, why := range clocks {
		if at, runs := note.Since[why]; runs {
			if s.Base == 0 {
				s.Base = seconds(at)
			}
			running |= 1 << i
			s.Since = append(s.Since, seconds(at)-s.Base)
		}
	}
	s.UIDs, s.States = append(s.UIDs, id[:]...), append(s.States, state, running)
}

// decodeNotes decodes stored notes. A lane of a cluster is stored without the cluster's name,
// because the work has it.
func decodeNotes(stored []byte) (workNotes, error) {
	notes, list := workNotes{}, []storedGroup{}
	if len(stored) == 0 {
		return notes, nil
	}
	if err := gob.NewDecoder(bytes.NewReader(stored)).Decode(&list); err != nil {
		return nil, err
	}
	for _, s := range list {
		s.Group = short(s.Group)
		for len(s.UIDs) > 0 {
			if len(s.UIDs) < 16 || len(s.States) < 2 || len(s.Since) < bits.OnesCount8(s.States[1]) {
				return nil, fmt.Errorf("the notes of %s are cut off", s.Group)
			}
			notes[types.UID(uuid.UUID(s.UIDs[:16]).String())] = s.note()
			s.UIDs = s.UIDs[16:]
		}
	}
	return notes, nil
}

// note decodes and removes the first note of a group.
func (s *storedGroup) note() decide.Note {
	note := decide.Note{Group: s.Group, Known: s.States[0]&knownBit != 0}
	for kind, code := range kindBits {
		if code != s.States[0]&^knownBit {
			continue
		}
		note.Allowed, note.Lane = true, decide.Lane{Kind: kind, Group: s.Group}
		if kind.OfCluster() {
			note.Lane.Group = decide.Group{}
		}
	}
	for i, why := range clocks {
		if s.States[1]&(1<<i) != 0 {
			if note.Since == nil {
				note.Since = map[decide.Why]time.Time{}
			}
			note.Since[why] = time.Unix(s.Base+s.Since[0], 0).UTC()
			s.Since = s.Since[1:]
		}
	}
	s.States = s.States[2:]
	return note
}
