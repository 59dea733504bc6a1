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

// buffered is a response that is complete before any of it is sent. So the resources for making it
// do not depend on how fast the client reads.
type buffered struct {
	http.ResponseWriter // where it is sent
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

// compressors are reused, because each needs more than half a MiB.
var compressors = sync.Pool{New: func() any {
	to, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return to
}}

// compress compresses the body if the client accepts that.
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
	_, _ = to.Write(b.body.Bytes()) // writing to a buffer returns no error
	_ = to.Close()
	b.body = short
}

// drop removes the body and the headers that describe it, so that a refusal can replace them.
func (b *buffered) drop() {
	b.code, b.body = 0, bytes.Buffer{}
	b.Header().Del("Content-Encoding")
}

func (b *buffered) send() {
	if b.code != 0 {
		b.ResponseWriter.WriteHeader(b.code)
	}
	_, _ = b.ResponseWriter.Write(b.body.Bytes()) // the client has disconnected and cannot get the error
}
