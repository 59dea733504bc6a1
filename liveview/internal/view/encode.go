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

// envelope is a view on its way, gzip'd.
type envelope struct {
	Tree      json.RawMessage `json:"tree"`
	Resources json.RawMessage `json:"resources"`
	Status    json.RawMessage `json:"status,omitempty"`
}

// Encode returns a view as it is sent, of at most [MaxEncoded] bytes once it is base64:
// without the values of Secrets, and, where it would be larger, without manifests, then
// without details, then without resources; cut says what it is without. It fails on what is
// not the JSON of Argo CD.
func Encode(v View) (blob []byte, cut string, err error) {
	tree, err := decodeTree(v.Tree)
	if err != nil {
		return nil, "", err
	}
	resources, err := decodeResources(v.Resources)
	if err != nil {
		return nil, "", err
	}
	status, err := decodeStatus(v.Status)
	if err != nil {
		return nil, "", err
	}
	for _, r := range resources {
		if err := maskSecret(r); err != nil {
			return nil, "", err
		}
	}
	for _, step := range []struct {
		cut   string
		cutTo func()
	}{
		{"", func() {}},
		{"without manifests", func() { dropManifests(resources) }},
		{"without manifests and details", func() { dropDetails(tree) }},
		{"the first 1000 resources only", func() { resources, status = nil, nil; dropNodes(tree) }},
	} {
		step.cutTo()
		if step.cut != "" {
			annotate(tree, "View", "cut: "+step.cut)
		}
		blob, err := pack(tree, resources, status)
		if err != nil {
			return nil, "", err
		}
		if blob != nil {
			return blob, step.cut, nil
		}
	}
	return nil, "", fmt.Errorf("the tree is larger than %d bytes even with %d resources without details", MaxEncoded, maxNodes)
}

// pack returns nil for a view that is too large.
func pack(tree object, resources []object, status object) ([]byte, error) {
	var e envelope
	var err error
	if e.Tree, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	if resources == nil {
		resources = []object{}
	}
	if e.Resources, err = json.Marshal(resources); err != nil {
		return nil, err
	}
	if e.Status, err = json.Marshal(status); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(e)
	if err != nil || len(raw) > MaxDecoded {
		return nil, err
	}
	blob, err := Compress(raw)
	if err != nil || base64.StdEncoding.EncodedLen(len(blob)) > MaxEncoded {
		return nil, err
	}
	return blob, nil
}

// Decode reads base64 that a managed cluster sent. What it returns is bounded, is JSON of the
// shape that Argo CD reads, and has no links that a browser would run. note, where it is not
// empty, is shown at the top of the tree.
func Decode(encoded, note string) (View, error) {
	if len(encoded) > MaxEncoded {
		return View{}, fmt.Errorf("a view of %d bytes is larger than %d", len(encoded), MaxEncoded)
	}
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return View{}, fmt.Errorf("decode the view: %w", err)
	}
	raw, err := Decompress(blob)
	if err != nil {
		return View{}, fmt.Errorf("decode the view: %w", err)
	}
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return View{}, fmt.Errorf("decode the view: %w", err)
	}
	tree, err := decodeTree(e.Tree)
	if err != nil {
		return View{}, err
	}
	resources, err := decodeResources(e.Resources)
	if err != nil {
		return View{}, err
	}
	status, err := decodeStatus(e.Status)
	if err != nil {
		return View{}, err
	}
	sanitize(tree)
	if note != "" {
		annotate(tree, "View", note)
	}
	var v View
	if v.Tree, err = json.Marshal(tree); err != nil {
		return View{}, err
	}
	if v.Resources, err = json.Marshal(resources); err != nil {
		return View{}, err
	}
	if v.Status, err = json.Marshal(status); err == nil && len(v.Status) > MaxStatus {
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
