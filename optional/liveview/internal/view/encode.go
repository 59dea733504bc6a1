// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// parts are a view with checked JSON. They are sent compressed with gzip.
type parts struct {
	Tree      object   `json:"tree"`
	Resources []object `json:"resources"`
	Status    object   `json:"status,omitempty"`
}

// parse decodes a view. With firstOnly, it decodes only the first resources of the tree.
func parse(v View, firstOnly bool) (p parts, err error) {
	if firstOnly {
		p.Tree, err = firstNodes(v.Tree)
	} else {
		err = decode(v.Tree, &p.Tree)
	}
	if err != nil {
		return p, fmt.Errorf("read the resource tree: %w", err)
	}
	if err := decode(v.Resources, &p.Resources); err != nil {
		return p, fmt.Errorf("read the managed resources: %w", err)
	}
	if len(v.Status) > 0 {
		if err := decode(v.Status, &p.Status); err != nil {
			return p, fmt.Errorf("read the status: %w", err)
		}
	}
	return p, p.check()
}

// check returns an error for JSON that Argo CD cannot read. It removes the count of shards, because
// a view has the tree in one piece, and most of the status.
func (p *parts) check() error {
	if err := checkTree(p.Tree); err != nil {
		return fmt.Errorf("read the resource tree: %w", err)
	}
	if p.Resources == nil {
		p.Resources = []object{}
	}
	for i, r := range p.Resources {
		if r == nil {
			return fmt.Errorf("read the managed resources: number %d is null", i)
		}
	}
	if err := checkStatus(p.Status); err != nil {
		return fmt.Errorf("read the status: %w", err)
	}
	p.Status = StatusOf(p.Status)
	return nil
}

// Encode returns a view in its transport form, with at most [MaxEncoded] bytes as base64. It
// removes the values of Secrets. If the view is too large, it leaves out manifests, then details,
// then resources. message describes the parts that are left out. Encode returns an error for JSON
// that is not Argo CD's.
func Encode(v View) (blob []byte, message string, err error) {
	large := Values(v.Tree)+Values(v.Resources) > maxRead
	if large {
		v.Resources, v.Status = []byte("[]"), nil
	}
	p, err := parse(v, large)
	if err != nil {
		return nil, "", err
	}
	for _, r := range p.Resources {
		if err := maskSecret(r); err != nil {
			return nil, "", err
		}
	}
	if v.Cut != "" {
		message = "cut: " + v.Cut
		annotate(p.Tree, "View", message)
	}
	steps := []struct {
		cut   string
		cutTo func()
	}{
		{"", func() {}},
		{"without manifests", func() { dropManifests(p.Resources) }},
		{"without manifests and details", func() { dropDetails(p.Tree) }},
		{"the first 1000 resources only", func() { p.Resources, p.Status = []object{}, nil; dropNodes(p.Tree) }},
	}
	for i, step := range steps {
		step.cutTo()
		if large && i < len(steps)-1 {
			continue // it has been cut that far already
		}
		if step.cut != "" {
			message = fmt.Sprintf("the view is larger than %d KiB: %s", MaxEncoded>>10, step.cut)
			annotate(p.Tree, "View", "cut: "+step.cut)
		}
		raw, err := marshal(p)
		if err == nil && len(raw) <= MaxDecoded && Values(raw) <= MaxValues {
			blob, err = Compress(raw)
		}
		if err != nil {
			return nil, "", err
		}
		if blob != nil && base64.StdEncoding.EncodedLen(len(blob)) <= MaxEncoded {
			return blob, message, nil
		}
	}
	return nil, "", fmt.Errorf("the tree is larger than %d bytes even with %d resources without details", MaxEncoded, maxNodes)
}

// Decode decodes the blob that a managed cluster sent. The result has a limited size, is JSON that
// Argo CD can read, and has no links that a browser would run. If note is not empty, the top of the
// tree shows it.
func Decode(blob []byte, note string) (v View, err error) {
	if base64.StdEncoding.EncodedLen(len(blob)) > MaxEncoded {
		return v, fmt.Errorf("a view of %d bytes is larger than %d KiB in base64", len(blob), MaxEncoded>>10)
	}
	raw, err := Decompress(blob)
	if err != nil {
		return v, fmt.Errorf("decode the view: %w", err)
	}
	if n := Values(raw); n > MaxValues {
		return v, fmt.Errorf("decode the view: it has up to %d values, at most %d are read", n, MaxValues)
	}
	var p parts
	if err := decode(raw, &p); err != nil {
		return v, fmt.Errorf("decode the view: %w", err)
	}
	if p.Resources == nil {
		return v, errors.New("decode the view: it has no managed resources")
	}
	if err := p.check(); err != nil {
		return v, err
	}
	sanitize(p.Tree)
	if note != "" {
		annotate(p.Tree, "View", note)
	}
	if v.Tree, err = marshal(p.Tree); err == nil {
		v.Resources, err = marshal(p.Resources)
	}
	if err == nil {
		v.Status, err = marshal(p.Status)
	}
	if n := len(v.Tree) + len(v.Resources); n > MaxDecoded {
		return View{}, fmt.Errorf("decode the view: as Argo CD reads it, it has %d bytes, at most %d are written", n, MaxDecoded)
	}
	if len(v.Status) > MaxStatus {
		v.Status = []byte("{}")
	}
	return v, err
}

// marshal writes JSON without escapes for HTML, which would make six bytes of one.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Values returns the highest possible number of values in JSON, without decoding it. Each value but
// the first follows the beginning of a list or an object, or a comma.
func Values(raw []byte) int {
	n, inString := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++ // an escaped character ends no string
		case !inString && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// Compress is gzip, as Argo CD uses it for Redis.
func Compress(raw []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// ErrTooLarge is the error of a view with more than [MaxDecoded] bytes of JSON.
var ErrTooLarge = errors.New("unpacked it is larger")

// Decompress returns the input of [Compress], if it is not larger than [MaxDecoded].
func Decompress(blob []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(blob))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, MaxDecoded+1))
	if err == nil && len(raw) > MaxDecoded {
		return nil, fmt.Errorf("%w than %d bytes", ErrTooLarge, MaxDecoded)
	}
	return raw, err
}
