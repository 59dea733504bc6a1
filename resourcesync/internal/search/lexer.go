// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lexer reads JSON as a stream, one row in memory at a time. An answer has
// megabytes, nine tenths of which nobody reads: it looks for the end of a value
// without understanding it, several times faster than encoding/json, which scans
// each value three times on its way into a type. What is read is checked where it
// is read; what is skipped only has to have an end.
type lexer struct {
	r        io.Reader
	buf      []byte // what has been read and not consumed is buf[pos:]
	pos      int
	finished error // what the reader ended with
}

const lexerBlock = 64 << 10

func newLexer(r io.Reader) *lexer { return &lexer{r: r, buf: make([]byte, 0, lexerBlock)} }

// more reads another block behind buf[from:], which it keeps.
func (l *lexer) more(from int) error {
	if l.finished != nil {
		return l.finished
	}
	if from > 0 {
		l.buf = l.buf[:copy(l.buf, l.buf[from:])]
		l.pos -= from
	}
	if len(l.buf) == cap(l.buf) {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
	}
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	l.finished = err
	if n > 0 {
		return nil
	}
	return err
}

// next returns the next byte that is not white space, without consuming it.
func (l *lexer) next() (byte, error) {
	for {
		for ; l.pos < len(l.buf); l.pos++ {
			switch c := l.buf[l.pos]; c {
			case ' ', '\t', '\r', '\n':
			default:
				return c, nil
			}
		}
		if err := l.more(l.pos); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
}

func (l *lexer) expect(want byte) error {
	c, err := l.next()
	if err != nil {
		return err
	}
	if c != want {
		return fmt.Errorf("%q where %q belongs", c, want)
	}
	l.pos++
	return nil
}

// end checks that nothing but white space is left.
func (l *lexer) end() error {
	c, err := l.next()
	switch {
	case err == nil:
		return fmt.Errorf("%q follows the answer", c)
	case errors.Is(err, io.ErrUnexpectedEOF) && errors.Is(l.finished, io.EOF):
		return nil
	}
	return err
}

// value consumes a value and returns its bytes, which hold until the next call.
func (l *lexer) value() ([]byte, error) {
	if _, err := l.next(); err != nil {
		return nil, err
	}
	var s scan
	for at := l.pos; ; {
		n, done := s.feed(l.buf[at:])
		if done {
			raw := l.buf[l.pos : at+n]
			if len(raw) == 0 {
				return nil, fmt.Errorf("%q where a value belongs", l.buf[l.pos])
			}
			l.pos = at + n
			return raw, nil
		}
		at = len(l.buf)
		kept := l.pos
		if err := l.more(kept); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		at -= kept
	}
}

// decode consumes a value into v.
func (l *lexer) decode(v any) error {
	raw, err := l.value()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// nullable calls read unless the value is null.
func (l *lexer) nullable(read func() error) error {
	c, err := l.next()
	if err != nil {
		return err
	}
	if c != 'n' {
		return read()
	}
	raw, err := l.value()
	if err == nil && !bytes.Equal(raw, null) {
		err = fmt.Errorf("%q where a value belongs", line(string(raw)))
	}
	return err
}

var null = []byte("null")

// object calls member for each name of an object; member consumes the value.
func (l *lexer) object(member func(name string) error) error {
	return l.brackets('{', '}', func() error {
		raw, err := l.value()
		if err != nil {
			return err
		}
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return errors.New("no name where one belongs")
		}
		if err := l.expect(':'); err != nil {
			return err
		}
		return member(name)
	})
}

// list calls element for each element of a list; element consumes it.
func (l *lexer) list(element func() error) error { return l.brackets('[', ']', element) }

func (l *lexer) brackets(opening, closing byte, each func() error) error {
	if err := l.expect(opening); err != nil {
		return err
	}
	c, err := l.next()
	if err == nil && c == closing {
		l.pos++
		return nil
	}
	for err == nil {
		if err = each(); err != nil {
			break
		}
		if c, err = l.next(); err != nil {
			break
		}
		l.pos++
		if c == closing {
			return nil
		}
		if c != ',' {
			return fmt.Errorf("%q between the members of a list or an object", c)
		}
	}
	return err
}

// scan finds the end of a value that comes in pieces.
type scan struct {
	depth           int
	inText, escaped bool
	inScalar        bool // a number, true, false or null outside of any bracket
}

// feed returns how many bytes of b belong to the value, and whether it ends there.
func (s *scan) feed(b []byte) (n int, done bool) {
	for i := 0; i < len(b); i++ {
		if s.inText {
			if i += s.text(b[i:]); i == len(b) {
				return i, false
			}
			if !s.inText && s.depth == 0 {
				return i + 1, true
			}
			continue
		}
		switch b[i] {
		case '"':
			if s.inScalar {
				return i, true
			}
			s.inText = true
		case '{', '[':
			if s.inScalar {
				return i, true
			}
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				return i, true
			}
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if s.depth == 0 {
				return i, true
			}
		default:
			s.inScalar = s.depth == 0
		}
	}
	return len(b), false
}

// text consumes what b holds of a text and returns the place of its closing quote,
// or the length of b when that is still to come.
func (s *scan) text(b []byte) int {
	i := 0
	for i < len(b) {
		if s.escaped {
			s.escaped = false
			i++
			continue
		}
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			quote = len(b) - i
		}
		if escape := bytes.IndexByte(b[i:i+quote], '\\'); escape >= 0 {
			i += escape + 1
			s.escaped = true
			continue
		}
		if i += quote; i < len(b) {
			s.inText = false
		}
		return i
	}
	return i
}
