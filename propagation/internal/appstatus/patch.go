// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appstatus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// Fields are the desired members of a status, with the semantics of a JSON merge patch. A nested
// Fields is merged, nil removes the member, and any other value replaces it. Members that are not
// named stay.
type Fields map[string]any

// FieldsOf returns the members of a JSON object, or none if raw is not an object.
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

// Replace returns want, with nil for each member that only old has.
func Replace(old, want Fields) Fields {
	all := maps.Clone(want)
	for name, value := range old {
		wanted, exists := want[name]
		before, wasObject := value.(Fields)
		after, isObject := wanted.(Fields)
		switch {
		case !exists:
			all[name] = nil
		case wasObject && isObject:
			all[name] = Replace(before, after)
		}
	}
	return all
}

// Optional returns nil for "", so that the patch removes the member.
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

// Patch returns the smallest JSON merge patch that gives the status of an Application the desired
// fields, or nil if it has them. The patch carries the resource version, so that the API server
// rejects it if the Application has changed since. If the patch would destroy a malformed status,
// the error is [ErrMalformed].
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

// diff returns the members of want that differ in current.
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
		is, exists := members[name]
		switch value := value.(type) {
		case nil:
			if exists {
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
			case len(value) == 0 && empty(is): // an empty object is desired and missing
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

// equal compares two JSON values. White space and the order of members do not count.
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
	if s, ok := value.(string); ok { // the usual case, which needs no maps
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
