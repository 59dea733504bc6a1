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

// lexer walks the JSON of an answer. An answer has megabytes, nine tenths of which
// the poll does not read: it looks for the end of a value without understanding it, several
// times faster than encoding/json, which scans each value three times on its way
// into a type. What is read is checked where it is read; what is skipped only has
// to have an end.
type lexer struct {
	buf    []byte
	pos    int // what is before has been consumed
	escape int // the first backslash that [lexer.scan] has not passed
}

func newLexer(body []byte) *lexer { return &lexer{buf: body, escape: -1} }

// next returns the next byte that is not white space, without consuming it.
func (l *lexer) next() (byte, error) {
	for ; l.pos < len(l.buf); l.pos++ {
		switch c := l.buf[l.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
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
	if c, err := l.next(); err == nil {
		return fmt.Errorf("%q follows the answer", c)
	}
	return nil
}

// value consumes a value and returns its bytes.
func (l *lexer) value() ([]byte, error) {
	c, err := l.next()
	if err != nil {
		return nil, err
	}
	n, done := extent(l.buf[l.pos:])
	if !done {
		return nil, io.ErrUnexpectedEOF
	}
	if n == 0 {
		return nil, fmt.Errorf("%q where a value belongs", c)
	}
	raw := l.buf[l.pos : l.pos+n]
	l.pos += n
	return raw, nil
}

// scan consumes a row like value, at the speed of memory: it takes the first
// brace for the row's end that follows a quote or a bracket, as it does in every
// row of texts and lists of texts. A text such as "}, {" makes it wrong, which
// costs its caller the time to look again: see [Digest].
func (l *lexer) scan() ([]byte, error) {
	if _, err := l.next(); err != nil {
		return nil, err
	}
	if l.escape < l.pos { // seldom: few rows have one
		l.escape = len(l.buf)
		if n := bytes.IndexByte(l.buf[l.pos:], '\\'); n >= 0 {
			l.escape = l.pos + n
		}
	}
	n := bytes.IndexByte(l.buf[l.pos:], '}')
	if end := l.pos + n; n > 0 && end < l.escape && (l.buf[end-1] == '"' || l.buf[end-1] == ']') {
		raw := l.buf[l.pos : end+1]
		l.pos = end + 1
		return raw, nil
	}
	return l.value()
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

// extent returns how many bytes of b belong to the value that b begins with, and
// whether it ends there.
func extent(b []byte) (n int, done bool) {
	depth := 0
	scalar := false // a number, true, false or null outside of any bracket
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if scalar {
				return i, true
			}
			if i += text(b[i:]); i == len(b) {
				return i, false
			}
			if depth == 0 {
				return i + 1, true
			}
		case '{', '[':
			if scalar {
				return i, true
			}
			depth++
		case '}', ']':
			if depth == 0 {
				return i, true
			}
			if depth--; depth == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i, true
			}
		default:
			scalar = depth == 0
		}
	}
	return len(b), false
}

// text returns the place of the quote that ends the text that b begins with, or
// the length of b when there is none.
func text(b []byte) int {
	for i := 1; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' { // b[0] is a quote
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return len(b)
}
