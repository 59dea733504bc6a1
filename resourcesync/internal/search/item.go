// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// errShape is returned for a row that is not a flat object as promised.
var errShape = errors.New("not a flat object")

// decoder turns rows into Items. It shares the strings that rows have in common,
// which are most of them.
type decoder struct {
	strings map[string]string
}

func newDecoder() *decoder { return &decoder{strings: map[string]string{}} }

// item decodes a row. raw must be valid JSON. Names of properties are compared
// exactly: users may index columns whose name differs in case only.
func (d *decoder) item(raw []byte) (Item, error) {
	var it Item
	err := d.object(raw, func(key, value []byte) error {
		if string(key) == "_relatedUids" {
			uids, err := d.list(value)
			it.RelatedUIDs = uids
			return err
		}
		field := it.field(key)
		if field == nil {
			return d.condition(&it, key, value)
		}
		s, err := d.text(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*field = s
		return nil
	})
	return it, err
}

// field returns where the property goes, nil for one that nobody reads.
func (it *Item) field(key []byte) *string {
	switch string(key) {
	case "_uid":
		return &it.UID
	case "cluster":
		return &it.Cluster
	case "kind":
		return &it.Kind
	case "apigroup":
		return &it.APIGroup
	case "apiversion":
		return &it.APIVersion
	case "namespace":
		return &it.Namespace
	case "name":
		return &it.Name
	case "_ownerUID":
		return &it.OwnerUID
	case "_hostingResource":
		return &it.Hosting
	case "healthStatus":
		return &it.Health
	case "syncStatus":
		return &it.Sync
	case "_missingResources":
		return &it.Missing
	}
	return nil
}

var conditionPrefix = []byte("_condition")

// condition takes what is left: conditions and the mark of the hub.
func (d *decoder) condition(it *Item, key, value []byte) error {
	if string(key) == "_hubClusterResource" {
		it.OnHub = !bytes.Equal(value, []byte(`"false"`)) && !bytes.Equal(value, []byte("null"))
		return nil
	}
	if !bytes.HasPrefix(key, conditionPrefix) || len(key) == len(conditionPrefix) {
		return nil
	}
	message, err := d.text(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if message != "" {
		it.Conditions = append(it.Conditions, Condition{Type: d.share(key[len(conditionPrefix):]), Message: message})
	}
	return nil
}

// object calls visit for each member of an object of valid JSON. The key that it
// hands over is the text between the quotes: property names need no escapes.
func (d *decoder) object(raw []byte, visit func(key, value []byte) error) error {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 || raw[0] != '{' {
		return errShape
	}
	return d.members(raw[1:], '}', func(rest []byte) (int, error) {
		n := valueEnd(rest)
		key := rest[:n]
		if len(key) < 2 || key[0] != '"' {
			return 0, errShape
		}
		colon := n + skip(rest[n:], " \t\r\n:")
		end := colon + valueEnd(rest[colon:])
		return end, visit(key[1:len(key)-1], rest[colon:end])
	})
}

// list decodes a list of texts.
func (d *decoder) list(raw []byte) ([]string, error) {
	if bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if len(raw) == 0 || raw[0] != '[' {
		return nil, fmt.Errorf("_relatedUids: %w", errShape)
	}
	var out []string
	err := d.members(raw[1:], ']', func(rest []byte) (int, error) {
		n := valueEnd(rest)
		s, err := d.text(rest[:n])
		if err != nil {
			return 0, fmt.Errorf("_relatedUids: %w", err)
		}
		out = append(out, s)
		return n, nil
	})
	return out, err
}

// members walks what is between brackets; take consumes one member and returns
// its length.
func (d *decoder) members(rest []byte, closing byte, take func(rest []byte) (int, error)) error {
	for {
		rest = rest[skip(rest, " \t\r\n,"):]
		if len(rest) == 0 {
			return errShape
		}
		if rest[0] == closing {
			return nil
		}
		n, err := take(rest)
		if err != nil {
			return err
		}
		if n <= 0 {
			return errShape
		}
		rest = rest[n:]
	}
}

// text decodes a text; null is "".
func (d *decoder) text(raw []byte) (string, error) {
	if bytes.Equal(raw, []byte("null")) {
		return "", nil
	}
	if len(raw) < 2 || raw[0] != '"' {
		return "", errors.New("not a text")
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return d.share(inner), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	return d.share([]byte(s)), nil
}

// share returns b as a string, the same one for the same bytes. Long texts are
// messages, which seldom repeat.
func (d *decoder) share(b []byte) string {
	if len(b) > 128 {
		return string(b)
	}
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}

func skip(b []byte, set string) int {
	n := 0
	for n < len(b) && bytes.IndexByte([]byte(set), b[n]) >= 0 {
		n++
	}
	return n
}

// valueEnd returns the length of the JSON value that b begins with; b is valid.
func valueEnd(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"':
		return textEnd(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				i += textEnd(b[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(b)
	}
	if n := bytes.IndexAny(b, ",}] \t\r\n"); n >= 0 {
		return n
	}
	return len(b)
}

func textEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
