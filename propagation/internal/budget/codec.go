// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// The records of lanes are stored as JSON, which an operator can read. There may be as many
// works as deliveries: theirs are stored in some 25 bytes each.

// kinds are the kinds of lane by the name that is stored.
var kinds = func() map[string]decide.LaneKind {
	m := map[string]decide.LaneKind{}
	for k := decide.Tenant; k <= decide.Unproven; k++ {
		m[k.String()] = k
	}
	return m
}()

type storedRecord struct {
	// Withdrawn has for each count its Unix time, how many ends, and of how many deliveries.
	Withdrawn [][3]int64     `json:"withdrawn,omitempty"`
	Held      *holding       `json:"held,omitempty"`
	Together  []decide.Group `json:"together,omitempty"`
}

// encodeRecords returns records as they are stored, by lanes as "tenant/namespace/set".
func encodeRecords(r laneRecords) (string, error) {
	stored := map[string]storedRecord{}
	for lane, record := range r {
		s := storedRecord{Held: record.Held, Together: record.Together}
		for _, c := range record.Withdrawn {
			s.Withdrawn = append(s.Withdrawn, [3]int64{c.at.Unix(), int64(c.n), int64(c.of)})
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
		parts := strings.Split(key, "/")
		if len(parts) != 3 || kinds[parts[0]] == decide.Uncounted {
			return nil, fmt.Errorf("%.100q is no lane", key)
		}
		record := laneRecord{Held: s.Held}
		if s.Held != nil {
			record.Together = s.Together
		}
		for _, c := range s.Withdrawn {
			record.Withdrawn = append(record.Withdrawn, count{at: time.Unix(c[0], 0).UTC(), n: int(c[1]), of: int(c[2])})
		}
		r[decide.Lane{Kind: kinds[parts[0]], Group: decide.Group{Namespace: parts[1], Set: parts[2]}}] = record
	}
	return r, nil
}

// workNotes are what is remembered of works.
type workNotes map[types.UID]decide.Note

// clocks are the clocks that are stored, by their bit.
var clocks = []decide.Why{decide.NotBound, decide.ProjectNotAllowed, decide.NamespaceNotAllowed, decide.LocalCluster, decide.ApplicationGone}

// Flags of a stored work. Its low bits have the kind of the lane in which it is allowed.
const (
	kindBits    = 0b0000_0111
	knownBit    = 0b0000_1000
	foreignUID  = 0b0001_0000 // not of the form that API servers make
	notesFormat = 1
)

// encodeNotes returns notes as they are stored, group by group.
func encodeNotes(notes workNotes) []byte {
	groups, oldest := map[decide.Group][]types.UID{}, time.Time{}
	for uid, note := range notes {
		groups[note.Group] = append(groups[note.Group], uid)
		for _, why := range clocks {
			if at, runs := note.Since[why]; runs && (oldest.IsZero() || at.Before(oldest)) {
				oldest = at
			}
		}
	}
	out := binary.AppendVarint([]byte{notesFormat}, oldest.Unix())
	for _, g := range sortGroups(slices.Collect(maps.Keys(groups))) {
		out = appendText(appendText(out, g.Namespace), g.Set)
		uids := groups[g]
		slices.Sort(uids)
		out = binary.AppendUvarint(out, uint64(len(uids)))
		for _, uid := range uids {
			out = appendNote(out, uid, notes[uid], oldest)
		}
	}
	return out
}

func appendNote(out []byte, uid types.UID, note decide.Note, oldest time.Time) []byte {
	flags, running := byte(0), byte(0)
	if note.Allowed && (note.Lane.Kind.OfCluster() || note.Lane.Group == note.Group) {
		flags = byte(note.Lane.Kind)
	}
	if note.Known {
		flags |= knownBit
	}
	short, known := packUID(uid)
	if !known {
		flags |= foreignUID
	}
	for i, why := range clocks {
		if _, runs := note.Since[why]; runs {
			running |= 1 << i
		}
	}
	out = append(out, flags, running)
	if known {
		out = append(out, short...)
	} else {
		out = appendText(out, string(uid))
	}
	for _, why := range clocks {
		if at, runs := note.Since[why]; runs {
			out = binary.AppendUvarint(out, uint64(at.Unix()-oldest.Unix()))
		}
	}
	return out
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// packUID returns the 16 bytes of a UID as API servers make them.
func packUID(uid types.UID) (short []byte, ok bool) {
	short, err := hex.DecodeString(strings.ReplaceAll(string(uid), "-", ""))
	if err != nil || len(short) != 16 || unpackUID(short) != uid {
		return nil, false
	}
	return short, true
}

func unpackUID(short []byte) types.UID {
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", short[:4], short[4:6], short[6:8], short[8:10], short[10:]))
}

// decodeNotes reads stored notes. A note that is allowed in a lane of a cluster does not have
// the cluster: it is the work's.
func decodeNotes(stored []byte) (workNotes, error) {
	notes := workNotes{}
	if len(stored) == 0 {
		return notes, nil
	}
	if stored[0] != notesFormat {
		return nil, fmt.Errorf("their format is %d, want %d", stored[0], notesFormat)
	}
	d := decoder{in: bytes.NewReader(stored[1:])}
	oldest, err := binary.ReadVarint(d.in)
	d.err = err
	for d.err == nil && d.in.Len() > 0 {
		group := decide.Group{Namespace: d.text(), Set: d.text()}
		for n := d.number(); n > 0 && d.err == nil; n-- {
			uid, note := d.note(group, oldest)
			notes[uid] = note
		}
	}
	if d.err != nil {
		return nil, fmt.Errorf("they are cut off or damaged: %w", d.err)
	}
	return notes, nil
}

// decoder reads what encodeNotes has written; after an error it reads nothing.
type decoder struct {
	in  *bytes.Reader
	err error
}

func (d *decoder) number() (n uint64) {
	if d.err == nil {
		n, d.err = binary.ReadUvarint(d.in)
	}
	return n
}

func (d *decoder) bytes(n uint64) []byte {
	if d.err == nil && n > uint64(d.in.Len()) {
		d.err = io.ErrUnexpectedEOF
	}
	if d.err != nil {
		return nil
	}
	out := make([]byte, n)
	_, d.err = io.ReadFull(d.in, out)
	return out
}

func (d *decoder) text() string { return string(d.bytes(d.number())) }

func (d *decoder) note(group decide.Group, oldest int64) (uid types.UID, note decide.Note) {
	flags, note := d.bytes(2), decide.Note{Group: group}
	if d.err != nil {
		return "", note
	}
	note.Known = flags[0]&knownBit != 0
	if kind := decide.LaneKind(flags[0] & kindBits); kind != decide.Uncounted {
		if kind > decide.Unproven {
			d.err = errors.New("a lane is of no kind")
			return "", note
		}
		note.Allowed, note.Lane = true, decide.Lane{Kind: kind, Group: group}
		if kind.OfCluster() {
			note.Lane.Group = decide.Group{}
		}
	}
	if flags[0]&foreignUID != 0 {
		uid = types.UID(d.text())
	} else if short := d.bytes(16); d.err == nil {
		uid = unpackUID(short)
	}
	for i, why := range clocks {
		if flags[1]&(1<<i) != 0 {
			if note.Since == nil {
				note.Since = map[decide.Why]time.Time{}
			}
			note.Since[why] = time.Unix(oldest+int64(d.number()), 0).UTC()
		}
	}
	return uid, note
}
