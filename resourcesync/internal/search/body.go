// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

// bodies are buffers for answers. Polls come one after the other and their answers
// have much the same sizes, so that the buffers of one serve the next.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// readBody hands the whole body of an answer with HTTP 200 to read, which must not
// keep it.
func readBody(body io.Reader, read func(body []byte) error) error {
	buffer, ok := bodies.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer bodies.Put(buffer)
	var err error
	var tooLarge *http.MaxBytesError
	*buffer, err = readAll(body, (*buffer)[:0])
	switch {
	case err == nil:
		return read(*buffer)
	case errors.As(err, &tooLarge):
		return &Error{Kind: KindTooLarge, Status: http.StatusOK, Detail: "the answer is larger than allowed"}
	case isTimeout(err):
		return &Error{Kind: KindTimeout, Status: http.StatusOK, Err: err}
	}
	return &Error{Kind: KindIncomplete, Status: http.StatusOK, Detail: "the answer breaks off", Err: err}
}

// readAll appends the data of r to b. It leaves less room than a [bytes.Buffer], which doubles,
// because the buffers have megabytes and are kept.
func readAll(r io.Reader, b []byte) ([]byte, error) {
	for {
		b = slices.Grow(b, 16<<10) // as much as TLS hands over at once
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// decodeError reports why an answer that was read could not be decoded.
func decodeError(err error) error {
	if KindOf(err) != "" {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &Error{Kind: KindIncomplete, Status: http.StatusOK, Detail: "the answer ends early"}
	}
	return &Error{Kind: KindMalformed, Status: http.StatusOK, Err: errors.New(line(err.Error()))}
}
