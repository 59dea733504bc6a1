// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// buffered is a response that is made as a whole before any of it is sent, so that what it
// takes to make it does not depend on how fast it is read.
type buffered struct {
	http.ResponseWriter // to send it to
	code                int
	body                bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (b *buffered) WriteHeader(code int) {
	if b.code == 0 {
		b.code = code
	}
}

// Write implements http.ResponseWriter.
func (b *buffered) Write(data []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(data)
}

// compressors are kept, since each has a good half of a MiB of its own.
var compressors = sync.Pool{New: func() any {
	to, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	return to
}}

// compress makes the body shorter for a client that takes it so.
func (b *buffered) compress(r *http.Request) {
	if b.body.Len() == 0 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return
	}
	to, ok := compressors.Get().(*gzip.Writer)
	if !ok {
		return
	}
	defer compressors.Put(to)
	if b.Header().Get("Content-Type") == "" {
		b.Header().Set("Content-Type", http.DetectContentType(b.body.Bytes()))
	}
	b.Header().Set("Content-Encoding", "gzip")
	b.Header().Add("Vary", "Accept-Encoding")
	var short bytes.Buffer
	to.Reset(&short)
	_, _ = to.Write(b.body.Bytes()) // a buffer takes everything
	_ = to.Close()
	b.body = short
}

// drop removes the answer and the headers that describe its body, so that a refusal takes its place.
func (b *buffered) drop() {
	b.code, b.body = 0, bytes.Buffer{}
	b.Header().Del("Content-Encoding")
}

func (b *buffered) send() {
	if b.code != 0 {
		b.ResponseWriter.WriteHeader(b.code)
	}
	_, _ = b.ResponseWriter.Write(b.body.Bytes()) // without a reader there is nothing to report
}
