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

// item decodes a row: a value without space around it. Names of properties are compared
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
		if err == nil {
			err = it.check(field, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*field = s
		return nil
	})
	return it, err
}

// field returns where the property goes, nil for one that is not read.
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
	kind := key[len(conditionPrefix):]
	if message != "" && len(it.Conditions) < maxConditions && len(kind) <= maxName && plain(kind) {
		it.Conditions = append(it.Conditions, Condition{Type: d.share(kind), Message: short(message)})
	}
	return nil
}

// object calls visit for each member of an object. The key that it hands over is
// the text between the quotes: the names that are read need no escapes.
func (d *decoder) object(raw []byte, visit func(key, value []byte) error) error {
	return members(raw, '{', '}', func(rest []byte) (int, error) {
		n, _ := extent(rest)
		if n < 2 || rest[0] != '"' {
			return 0, errShape
		}
		at := n + space(rest[n:])
		if at == len(rest) || rest[at] != ':' {
			return 0, errShape
		}
		at++
		at += space(rest[at:])
		length, _ := extent(rest[at:])
		if length == 0 {
			return 0, errShape
		}
		return at + length, visit(rest[1:n-1], rest[at:at+length])
	})
}

// list decodes a list of texts.
func (d *decoder) list(raw []byte) ([]string, error) {
	if bytes.Equal(raw, null) {
		return nil, nil
	}
	var out []string
	err := members(raw, '[', ']', func(rest []byte) (int, error) {
		n, _ := extent(rest)
		s, err := d.text(rest[:n])
		out = append(out, s)
		return n, err
	})
	if err != nil {
		return nil, fmt.Errorf("_relatedUids: %w", err)
	}
	return out, nil
}

// members walks the members between brackets; take consumes one and returns its
// length.
func members(raw []byte, opening, closing byte, take func(rest []byte) (int, error)) error {
	if len(raw) < 2 || raw[0] != opening || raw[len(raw)-1] != closing {
		return errShape
	}
	rest := raw[1 : len(raw)-1]
	rest = rest[space(rest):]
	for len(rest) > 0 {
		n, err := take(rest)
		if err != nil {
			return err
		}
		rest = rest[n:]
		rest = rest[space(rest):]
		if len(rest) == 0 {
			return nil
		}
		if rest[0] != ',' {
			return errShape
		}
		rest = rest[1:]
		if rest = rest[space(rest):]; len(rest) == 0 {
			return errShape
		}
	}
	return nil
}

// text decodes a text; null is "".
func (d *decoder) text(raw []byte) (string, error) {
	if bytes.Equal(raw, null) {
		return "", nil
	}
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", errors.New("not a text")
	}
	if inner := raw[1 : len(raw)-1]; plain(inner) {
		return d.share(inner), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errors.New("not a text")
	}
	if len(s) > longText {
		return s, nil
	}
	return d.share([]byte(s)), nil
}

// longText is the length in bytes from which on texts are not shared.
const longText = 128

// plain reports whether a text is ASCII without escapes, as most are.
func plain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// share returns b as a string, the same one for the same bytes. Long texts are
// messages, which seldom repeat.
func (d *decoder) share(b []byte) string {
	if len(b) > longText {
		return string(b)
	}
	if s, ok := d.strings[string(b)]; ok {
		return s
	}
	s := string(b)
	d.strings[s] = s
	return s
}

func space(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == ' ' || b[n] == '\t' || b[n] == '\r' || b[n] == '\n') {
		n++
	}
	return n
}
