// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appstatus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// Fields is what a status should say, as a JSON merge patch says it: a nested
// Fields is merged into the object there, nil removes the member, anything else
// replaces it. Members that are not named stay.
type Fields map[string]any

// FieldsOf returns the members of a JSON object; none of anything else.
func FieldsOf(raw json.RawMessage) Fields {
	members, err := object(raw, "")
	if err != nil {
		return nil
	}
	fields := Fields{}
	for name, value := range members {
		fields[name] = value
		if bytes.HasPrefix(value, []byte("{")) {
			fields[name] = FieldsOf(value)
		}
	}
	return fields
}

// Replace returns want with nil for everything that only old has.
func Replace(old, want Fields) Fields {
	all := maps.Clone(want)
	for name, value := range old {
		wanted, there := want[name]
		before, wasObject := value.(Fields)
		after, isObject := wanted.(Fields)
		switch {
		case !there:
			all[name] = nil
		case wasObject && isObject:
			all[name] = Replace(before, after)
		}
	}
	return all
}

// Optional removes a member rather than writing it empty.
func Optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// OptionalList is [Optional] for a list.
func OptionalList(list []string) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Patch returns the smallest JSON merge patch that makes the status of an
// Application say want, or nil when it does already. It carries the resource
// version, so the API server refuses it when the Application has changed since.
// A status that want would have to destroy to fit in is [ErrMalformed].
func Patch(resourceVersion string, status json.RawMessage, want Fields) ([]byte, error) {
	difference, err := diff(status, want, "status")
	if err != nil || len(difference) == 0 {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": resourceVersion}, "status": difference})
	if err != nil {
		return nil, fmt.Errorf("encode status patch: %w", err)
	}
	return data, nil
}

// diff returns the part of want that current does not say.
func diff(current json.RawMessage, want Fields, path string) (Fields, error) {
	members, err := object(current, path)
	if err != nil {
		return nil, err
	}
	var difference Fields
	set := func(name string, value any) {
		if difference == nil {
			difference = Fields{}
		}
		difference[name] = value
	}
	for name, value := range want {
		is, there := members[name]
		switch value := value.(type) {
		case nil:
			if there {
				set(name, nil)
			}
		case Fields:
			inner, err := diff(is, value, path+"."+name)
			if err != nil {
				return nil, err
			}
			switch {
			case len(inner) > 0:
				set(name, inner)
			case len(value) == 0 && empty(is): // an empty object is wanted and missing
				set(name, value)
			}
		default:
			same, err := equal(is, value)
			if err != nil {
				return nil, fmt.Errorf("encode %s.%s: %w", path, name, err)
			}
			if !same {
				set(name, value)
			}
		}
	}
	return difference, nil
}

// equal compares JSON by meaning: white space and the order of members do not count.
func equal(is json.RawMessage, value any) (bool, error) {
	want, err := json.Marshal(value)
	if err != nil {
		return false, err
	}
	if bytes.Equal(is, want) {
		return true, nil
	}
	if len(is) == 0 {
		return false, nil
	}
	if s, ok := value.(string); ok { // the usual case, without maps
		var current string
		return json.Unmarshal(is, &current) == nil && current == s, nil
	}
	a, errA := canonical(is)
	b, errB := canonical(want)
	return errA == nil && errB == nil && bytes.Equal(a, b), nil
}

// canonical sorts members and keeps numbers as they are written.
func canonical(raw []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
