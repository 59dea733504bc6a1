// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// file is a report as it is written. The Applications of an ApplicationSet mostly deploy
// the same, so it has each list of resources once.
type file struct {
	Report
	Lists        []resources     `json:"lists,omitempty"`
	Applications list[row, *row] `json:"applications"`
}

type resources = list[Resource, *Resource]

// row is an Application as it is written.
type row struct {
	Application
	// Resources is the number of the list in the file's lists. In version 1 it is the list itself.
	Resources     *reference                        `json:"resources,omitempty"`
	HeldResources list[HeldResource, *HeldResource] `json:"heldResources,omitzero"`
	Conditions    list[Condition, *Condition]       `json:"conditions,omitzero"`
}

// Encode returns the bytes that [Store.Write] writes. It sets r.SchemaVersion.
func Encode(r *Report) ([]byte, error) {
	r.SchemaVersion = SchemaVersion
	f := file{Report: *r}
	f.Applications.kept = make([]row, len(r.Applications))
	numbers, shared := map[string]int{}, map[List]*reference{}
	for i := range r.Applications {
		a, out := &r.Applications[i], &f.Applications.kept[i]
		out.Application, out.HeldResources.kept, out.Conditions.kept = *a, a.HeldResources, a.Conditions
		if len(a.Resources) == 0 {
			continue
		}
		if out.Resources = shared[ListOf(a.Resources)]; out.Resources != nil {
			continue
		}
		encoded, err := json.Marshal(a.Resources)
		if err != nil {
			return nil, err
		}
		number, known := numbers[string(encoded)]
		if !known {
			number = len(f.Lists)
			numbers[string(encoded)] = number
			f.Lists = append(f.Lists, resources{kept: a.Resources})
		}
		out.Resources = &reference{number: number}
		shared[ListOf(a.Resources)] = out.Resources
	}
	return json.Marshal(&f)
}

// decode reads a report. decode leaves out and counts entries that are out of bounds, because
// everything in a report comes from a managed cluster.
func decode(data []byte) (*Report, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	r := f.Report // not a part of f, because f is not kept
	r.Refused = f.Applications.refused
	for i := range f.Lists {
		r.Refused += f.Lists[i].refused
	}
	for i := range f.Applications.kept {
		in := &f.Applications.kept[i]
		a := in.Application
		a.HeldResources, a.Conditions = in.HeldResources.kept, in.Conditions.kept
		r.Refused += in.HeldResources.refused + in.Conditions.refused
		for k := range a.Conditions {
			a.Conditions[k].Message = boundMessage(a.Conditions[k].Message)
		}
		switch ref := in.Resources; {
		case ref == nil:
		case ref.inline:
			a.Resources = ref.kept
			r.Refused += ref.refused
		case ref.number < 0 || ref.number >= len(f.Lists):
			return nil, fmt.Errorf("row %d: resources are list %d of %d", i, ref.number, len(f.Lists))
		default:
			a.Resources = f.Lists[ref.number].kept
		}
		r.Applications = append(r.Applications, a)
	}
	return &r, nil
}

// reference is the number of a row's resources in the file's lists. In version 1 it is the list
// itself.
type reference struct {
	number int
	inline bool
	resources
}

// MarshalJSON returns the number.
func (r *reference) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(r.number), 10), nil
}

// UnmarshalJSON reads a number or a list.
func (r *reference) UnmarshalJSON(data []byte) error {
	if r.inline = data[0] == '['; r.inline {
		return r.resources.UnmarshalJSON(data)
	}
	return json.Unmarshal(data, &r.number)
}

// list keeps only the entries within bounds. It is read entry by entry, so that refused entries
// take no memory.
type list[T any, P interface {
	*T
	valid() bool
}] struct {
	kept    []T
	refused int
}

// IsZero makes omitzero leave out a list without entries, nil or not. So a report that was read is
// written with the same bytes.
func (l list[T, P]) IsZero() bool { return len(l.kept) == 0 }

// MarshalJSON returns the entries.
func (l list[T, P]) MarshalJSON() ([]byte, error) {
	if l.kept == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(l.kept)
}

// UnmarshalJSON reads the entries.
func (l *list[T, P]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	switch open, err := d.Token(); {
	case err != nil:
		return err
	case open == nil:
		return nil // null
	case open != json.Delim('['):
		return fmt.Errorf("want a list, have %.20s", data)
	}
	for d.More() {
		var entry T
		if err := d.Decode(&entry); err != nil {
			return err
		}
		if P(&entry).valid() {
			l.kept = append(l.kept, entry)
		} else {
			l.refused++
		}
	}
	return nil
}
