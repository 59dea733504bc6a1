// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
)

// parts are a view whose JSON was checked; gzip'd they are what is sent.
type parts struct {
	Tree      object   `json:"tree"`
	Resources []object `json:"resources"`
	Status    object   `json:"status,omitempty"`
}

func parse(v View) (p parts, err error) {
	if p.Tree, err = decodeTree(v.Tree); err == nil {
		p.Resources, err = decodeResources(v.Resources)
	}
	if err == nil {
		p.Status, err = decodeStatus(v.Status)
	}
	return p, err
}

// Encode returns a view as it is sent, of at most [MaxEncoded] bytes once it is base64:
// without the values of Secrets, and, where it would be larger, without manifests, then
// without details, then without resources; message says what it is without. It fails on what
// is not the JSON of Argo CD.
func Encode(v View) (blob []byte, message string, err error) {
	p, err := parse(v)
	if err != nil {
		return nil, "", err
	}
	for _, r := range p.Resources {
		if err := maskSecret(r); err != nil {
			return nil, "", err
		}
	}
	for _, step := range []struct {
		cut   string
		cutTo func()
	}{
		{"", func() {}},
		{"without manifests", func() { dropManifests(p.Resources) }},
		{"without manifests and details", func() { dropDetails(p.Tree) }},
		{"the first 1000 resources only", func() { p.Resources, p.Status = []object{}, nil; dropNodes(p.Tree) }},
	} {
		step.cutTo()
		if step.cut != "" {
			message = fmt.Sprintf("the view is larger than %d KiB: %s", MaxEncoded>>10, step.cut)
			annotate(p.Tree, "View", "cut: "+step.cut)
		}
		raw, err := json.Marshal(p)
		if err == nil && len(raw) <= MaxDecoded {
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

// Decode reads what a managed cluster sent. What it returns is bounded, is JSON of the shape
// that Argo CD reads, and has no links that a browser would run. note, where it is not empty,
// is shown at the top of the tree.
func Decode(blob []byte, note string) (v View, err error) {
	if base64.StdEncoding.EncodedLen(len(blob)) > MaxEncoded {
		return v, fmt.Errorf("a view of %d bytes is larger than %d KiB in base64", len(blob), MaxEncoded>>10)
	}
	raw, err := Decompress(blob)
	if err != nil {
		return v, fmt.Errorf("decode the view: %w", err)
	}
	var sent struct{ Tree, Resources, Status json.RawMessage }
	if err := json.Unmarshal(raw, &sent); err != nil {
		return v, fmt.Errorf("decode the view: %w", err)
	}
	p, err := parse(View{Tree: sent.Tree, Resources: sent.Resources, Status: sent.Status})
	if err != nil {
		return v, err
	}
	sanitize(p.Tree)
	if note != "" {
		annotate(p.Tree, "View", note)
	}
	if v.Tree, err = json.Marshal(p.Tree); err == nil {
		v.Resources, err = json.Marshal(p.Resources)
	}
	if err == nil {
		v.Status, err = json.Marshal(p.Status)
	}
	if len(v.Status) > MaxStatus {
		v.Status = []byte("{}")
	}
	return v, err
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

// Decompress returns what [Compress] was given, if it is not larger than [MaxDecoded].
func Decompress(blob []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(blob))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, MaxDecoded+1))
	if err == nil && len(raw) > MaxDecoded {
		err = fmt.Errorf("unpacked it is larger than %d bytes", MaxDecoded)
	}
	return raw, err
}
