// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package message says what many error messages have in common: two messages that
// differ in names, numbers and hashes only are one error.
package message

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// most is how much of a message counts, in bytes.
const most = 600

// gap stands for what differs.
const gap = "…"

// Generalize returns text with a gap for what differs between Applications:
// the given names, quoted names, numbers, times, addresses and hashes.
func Generalize(text string, names ...string) string {
	s := scanner{text: cut(strings.Join(strings.Fields(text), " ")), names: worthy(names)}
	for s.at < len(s.text) {
		s.next()
	}
	s.keep("") // what joins a gap with nothing
	return s.out.String()
}

// worthy returns the names that are no word of every message, the longest first, since
// a name may be a part of another.
func worthy(names []string) []string {
	kept := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(n) < 3 && !strings.ContainsAny(n, digits) })
	slices.SortFunc(kept, func(a, b string) int { return len(b) - len(a) })
	return kept
}

func cut(text string) string {
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) && len(text) > most-utf8.UTFMax {
		text = text[:len(text)-1]
	}
	return text
}

type scanner struct {
	text  string
	names []string
	at    int
	out   strings.Builder
	// open: the output ends with a gap, and joint is what came after it that only
	// joins two gaps, such as the dots of an address.
	open  bool
	joint string
}

// next takes one name, quoted name, word or other character.
func (s *scanner) next() {
	rest := s.text[s.at:]
	if s.at == 0 || !alphanumeric(s.text[s.at-1]) {
		if n := s.name(rest); n > 0 {
			s.gap(n)
			return
		}
		if isUUID(rest) {
			s.gap(36)
			return
		}
	}
	if n := quoted(rest); n > 0 {
		s.keep(rest[:1])
		s.gap(n - 2)
		s.keep(rest[n-1 : n])
		return
	}
	n := 0
	for n < len(rest) && alphanumeric(rest[n]) {
		n++
	}
	if n > 0 {
		s.word(rest[:n])
		return
	}
	_, n = utf8.DecodeRuneInString(rest)
	s.other(rest[:n])
}

// name returns the length of a name that rest begins with as a whole word.
func (s *scanner) name(rest string) int {
	for _, n := range s.names {
		if strings.HasPrefix(rest, n) && (len(rest) == len(n) || !alphanumeric(rest[len(n)])) {
			return len(n)
		}
	}
	return 0
}

func (s *scanner) gap(n int) {
	s.at += n
	if s.open {
		s.joint = ""
		return
	}
	s.out.WriteString(gap)
	s.open = true
}

func (s *scanner) keep(text string) {
	s.at += len(text)
	s.out.WriteString(s.joint)
	s.out.WriteString(text)
	s.open, s.joint = false, ""
}

func (s *scanner) other(text string) {
	if s.open && strings.ContainsAny(text, ".:-_/") && len(s.joint) < 3 {
		s.joint += text
		s.at += len(text)
		return
	}
	s.keep(text)
}

func (s *scanner) word(w string) {
	digit := strings.IndexAny(w, digits)
	letters := strings.TrimRight(w, digits)
	switch {
	case digit < 0 || isVersion(w):
		s.keep(w)
	case digit == 0 || len(w) >= 7 && strings.Trim(w, digits+"abcdefABCDEF") == "":
		s.gap(len(w))
	case digit == len(letters): // a name and its number
		if len(letters) == 1 {
			s.keep(w) // x509, s3
			return
		}
		s.keep(letters)
		s.gap(len(w) - len(letters))
	case len(w) >= 5:
		s.gap(len(w))
	default:
		s.keep(w)
	}
}

const digits = "0123456789"

// isVersion reports whether a word is a version of an API.
func isVersion(w string) bool {
	v, ok := strings.CutPrefix(w, "v")
	if !ok {
		return false
	}
	v = strings.TrimLeft(v, digits)
	for _, stage := range []string{"alpha", "beta"} {
		if rest, ok := strings.CutPrefix(v, stage); ok {
			v = strings.TrimLeft(rest, digits)
		}
	}
	return v == ""
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quoted returns the length of a quoted name that s begins with, quotes included.
func quoted(s string) int {
	if s[0] != '"' && s[0] != '\'' && s[0] != '`' {
		return 0
	}
	n := strings.IndexByte(s[1:], s[0])
	if n <= 0 || strings.ContainsAny(s[1:n+1], " ,") {
		return 0
	}
	return n + 2
}

func isUUID(s string) bool {
	if len(s) < 36 || len(s) > 36 && alphanumeric(s[36]) {
		return false
	}
	for i := range 36 {
		switch hyphen := i == 8 || i == 13 || i == 18 || i == 23; {
		case hyphen && s[i] != '-', !hyphen && !strings.ContainsRune(digits+"abcdefABCDEF", rune(s[i])):
			return false
		}
	}
	return true
}
