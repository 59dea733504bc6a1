// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder turns rows into Items. It shares the strings that rows have in common,
// which are most of them.
type decoder struct {
	strings map[string]string
	room    int // bytes of memory for more rows, roughly
	row     bytes.Buffer
	dec     jsontext.Decoder
}

// item decodes a row. It compares names of properties exactly, because users may index columns with
// names that differ only in case.
func (d *decoder) item(raw []byte) (Item, error) {
	var it Item
	d.room -= itemSize
	d.row.Reset()
	d.row.Write(raw) // cannot fail
	d.dec.Reset(&d.row, lenient...)
	err := brackets(&d.dec, '{', '}', func() error {
		name, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		return d.property(&it, name)
	})
	return it, err
}

// property consumes the value of a property.
func (d *decoder) property(it *Item, token jsontext.Token) error {
	name := token.String()
	switch name {
	case "_relatedUids":
		return nullable(&d.dec, func() error {
			return brackets(&d.dec, '[', ']', func() error {
				uid, err := d.text()
				d.room -= uidSize
				it.RelatedUIDs = append(it.RelatedUIDs, uid)
				return err
			})
		})
	case "_hubClusterResource":
		value, err := d.dec.ReadValue()
		it.OnHub = string(value) != `"false"` && string(value) != "null"
		return err
	}
	field := it.field(name)
	kind, isCondition := strings.CutPrefix(name, "_condition")
	if field == nil && (!isCondition || kind == "") {
		return d.dec.SkipValue()
	}
	return nullable(&d.dec, func() error {
		value, err := d.text()
		switch {
		case err != nil:
		case field != nil:
			if err = it.check(field, value); err == nil {
				*field = value
			}
		case value != "" && len(it.Conditions) < maxConditions && len(kind) <= maxName && plain(kind):
			d.room -= conditionSize
			it.Conditions = append(it.Conditions, Condition{Type: d.share(kind), Message: short(value)})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// nullable calls read unless the next value is null.
func nullable(dec *jsontext.Decoder, read func() error) error {
	if dec.PeekKind() == 'n' {
		return dec.SkipValue()
	}
	return read()
}

// field returns the field of a property, or nil if the property is not read.
func (it *Item) field(name string) *string {
	switch name {
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

// text consumes a text.
func (d *decoder) text() (string, error) {
	t, err := d.dec.ReadToken()
	switch {
	case err != nil:
		return "", err
	case t.Kind() != '"':
		return "", errors.New("not a text")
	case d.room < 0:
		return "", errors.New("no room")
	}
	return d.share(t.String()), nil
}

// longText is the length in bytes from which on texts are not shared: they are
// messages, which seldom repeat.
const longText = 128

// share returns the same string for the same text.
func (d *decoder) share(s string) string {
	if len(s) > longText {
		d.room -= len(s)
		return s
	}
	if same, ok := d.strings[s]; ok {
		return same
	}
	d.room -= sharedSize + len(s)
	d.strings[s] = s
	return s
}

var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func brackets(dec *jsontext.Decoder, opening, closing jsontext.Kind, each func() error) error {
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if t.Kind() != opening {
		return fmt.Errorf("%v where %v belongs", t.Kind(), opening)
	}
	for dec.PeekKind() != closing {
		if err := each(); err != nil {
			return err
		}
	}
	_, err = dec.ReadToken()
	return err
}
