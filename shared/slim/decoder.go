// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/json"
)

// decoder decodes a stream of watch events. It is a [watch.Decoder].
type decoder[T any] struct {
	stream io.ReadCloser
	lines  *bufio.Reader
	frame  []byte // of the event being read, reused for the next event
	object func(*T) runtime.Object
}

const (
	// block is larger than most events.
	block = 32 << 10
	// limit is larger than any event: etcd takes objects of 1.5 MB.
	limit = 16 << 20
)

func newDecoder[T any](stream io.ReadCloser, object func(*T) runtime.Object) *decoder[T] {
	return &decoder[T]{stream: stream, lines: bufio.NewReaderSize(stream, block), object: object}
}

var _ watch.Decoder = &decoder[struct{}]{}

// Close ends the stream.
func (d *decoder[T]) Close() { _ = d.stream.Close() }

// event is a watch event in the format of the API.
type event[T any] struct {
	Type   watch.EventType `json:"type"`
	Object *T              `json:"object"`
}

// Decode returns the next event. The error is io.EOF if the server has ended the stream.
func (d *decoder[T]) Decode() (watch.EventType, runtime.Object, error) {
	d.frame = d.frame[:0]
	for {
		if err := d.line(); err != nil {
			return "", nil, err
		}
		kind, object, err := d.decode()
		if !d.unfinished(err) {
			return kind, object, err
		}
	}
}

// line appends the next non-empty line to the frame.
func (d *decoder[T]) line() error {
	for {
		part, err := d.lines.ReadSlice('\n')
		d.frame = append(d.frame, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(d.frame)) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(bytes.TrimSpace(d.frame)) > 0:
			return nil
		default:
			d.frame = d.frame[:0]
		}
	}
}

var errorEvent = []byte(`{"type":"ERROR"`)

func (d *decoder[T]) decode() (watch.EventType, runtime.Object, error) {
	if bytes.HasPrefix(d.frame, errorEvent) {
		return d.status()
	}
	var e event[T]
	if err := json.UnmarshalCaseSensitivePreserveInts(d.frame, &e); err != nil {
		// An error event with another beginning is still an error event.
		if kind, object, failed := d.status(); failed == nil {
			return kind, object, nil
		}
		var rest event[stdjson.RawMessage]
		if json.UnmarshalCaseSensitivePreserveInts(d.frame, &rest) != nil || rest.Object == nil {
			return "", nil, fmt.Errorf("decode watch event: %w", err)
		}
		if e.Object, err = withoutStatus[T](*rest.Object, err); err != nil {
			return "", nil, fmt.Errorf("decode watch event: %w", err)
		}
		e.Type = rest.Type
	}
	switch e.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	case watch.Error:
		return d.status()
	default:
		return "", nil, fmt.Errorf("decode watch event: unknown type %q", e.Type)
	}
	if e.Object == nil {
		return "", nil, fmt.Errorf("decode watch event: %s without an object", e.Type)
	}
	return e.Type, d.object(e.Object), nil
}

// status decodes an event that reports why the watch ends.
func (d *decoder[T]) status() (watch.EventType, runtime.Object, error) {
	var e event[metav1.Status]
	if err := json.UnmarshalCaseSensitivePreserveInts(d.frame, &e); err != nil {
		return "", nil, fmt.Errorf("decode watch event: %w", err)
	}
	if e.Type != watch.Error || e.Object == nil {
		return "", nil, fmt.Errorf("decode watch event: unknown type %q", e.Type)
	}
	return e.Type, e.Object, nil
}

// unfinished reports whether the frame is only the beginning of an event. The API server ends an
// event with a newline and uses none within it, but does not guarantee that.
func (d *decoder[T]) unfinished(err error) bool {
	isSyntax, at := json.SyntaxErrorOffset(errors.Unwrap(err))
	return isSyntax && at >= int64(len(d.frame)) && len(d.frame) < limit
}
