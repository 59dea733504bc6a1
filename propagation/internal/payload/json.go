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

// members splits a JSON object into its members; nothing and null are none.
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

// withoutMember returns a JSON object without the member called name of the object at
// a path in it; the other members are not decoded.
func withoutMember(raw json.RawMessage, name string, path ...string) (json.RawMessage, error) {
	fields, err := members(raw)
	if err != nil {
		return nil, err
	}
	next := name
	if len(path) > 0 {
		next = path[0]
	}
	value, there := fields[next]
	switch {
	case !there:
		return raw, nil
	case len(path) == 0:
		delete(fields, name)
		return encode(name, fields)
	}
	if fields[next], err = withoutMember(value, name, path[1:]...); err != nil {
		return nil, fmt.Errorf("%s: %w", next, err)
	}
	return encode(next, fields)
}

// patchOperation is one operation of a JSON patch (RFC 6902).
type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// pointer escapes a key for a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
