// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

func encode(what string, value any) (json.RawMessage, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	return raw, nil
}

// members decodes the members of a JSON object. Empty input and null have none.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	return fields, nil
}

// decode decodes a value. Empty input does not change into.
func decode(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// edit returns a JSON object with a changed value at a path. change gets the value and returns the
// new value. A nil value is a missing value. The other members are not decoded and keep their
// bytes.
func edit(raw json.RawMessage, change func(json.RawMessage) (json.RawMessage, error), path ...string) (json.RawMessage, error) {
	if len(path) == 0 {
		return change(raw)
	}
	fields, err := members(raw)
	if err != nil {
		return nil, err
	}
	before := fields[path[0]]
	after, err := edit(before, change, path[1:]...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path[0], err)
	case bytes.Equal(before, after):
		return raw, nil
	case fields == nil:
		fields = map[string]json.RawMessage{}
	}
	fields[path[0]] = after
	if after == nil {
		delete(fields, path[0])
	}
	return encode(path[0], fields)
}

// remove is a change for [edit] that removes the value.
func remove(json.RawMessage) (json.RawMessage, error) { return nil, nil }

// patchOperation is one operation of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// patchOf returns the JSON patch of a ManifestWork at a resource version, or nil without
// operations. The patch replaces the resource version instead of testing it. If the work has
// changed, the API server then returns a conflict rather than the status 422 of a failed test.
func patchOf(resourceVersion string, operations ...patchOperation) (json.RawMessage, error) {
	if len(operations) == 0 {
		return nil, nil
	}
	return encode("ManifestWork patch", append([]patchOperation{{"replace", "/metadata/resourceVersion", resourceVersion}}, operations...))
}

// pointer escapes a key for a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
