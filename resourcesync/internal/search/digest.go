// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"hash/maphash"
)

// Digest shows within one run of the program whether two answers say the same:
// the same rows, each as often and among the items or the related ones as before,
// in whatever order. Search has no order of rows that it keeps. The zero Digest is
// that of no answer.
//
// Equal digests of different answers are a matter of chance alone. A row counts by
// a hash of 64 bits whose key is random and never leaves the process. The hashes are
// added, so that a row that comes twice does not vanish as it would with exclusive or.
// That a changed row has the hash it had before happens once in 2^64 changes: with fifty
// answers that change every second, that is once in 10^10 years. Numbers of rows are
// compared as they are.
type Digest struct {
	// Count is what the answer says of the number of items.
	Count int
	// Items and Related are of the rows of each.
	Items, Related Sum
}

// Sum is of rows in any order.
type Sum struct {
	// Rows is how many there are, -1 for null in place of a list.
	Rows int
	// Hash is the sum of the rows' hashes.
	Hash uint64
}

var seed = maphash.MakeSeed()

func (s *Sum) add(row []byte) {
	s.Rows++
	s.Hash += maphash.Bytes(seed, row)
}

func (s *Sum) merge(more Sum) {
	s.Rows += more.Rows
	s.Hash += more.Hash
}

// scan is decode without the rows: only their digests are made. It looks at what is around
// the rows as decode does, and takes for a row what looks like one. Where the digest equals
// that of an answer that was decoded, the same bytes were taken for rows, and so each ended
// where it should: a mistake makes digests differ.
func scan(body []byte) (*answer, error) {
	short, sums := outline(body)
	return walk(short, &stream{sums: sums})
}

// leftOut is in an outline for all the rows of a list.
const leftOut = "0"

// newline is what encoding/json's Encoder writes behind each row, where nothing compacts it.
var newline = []byte("\n")

// outline returns an answer without the rows of its lists, and the sums of these.
func outline(body []byte) (short []byte, sums []Sum) {
	list := []byte(`"items":[`)
	for {
		at := bytes.Index(body, list)
		if at < 0 {
			return append(short, body...), sums
		}
		at += len(list)
		short, body = append(short, body[:at]...), body[at:]
		var sum Sum
		for more := bytes.HasPrefix(body, []byte("{")); more; {
			end := rowEnd(body)
			sum.add(body[:end])
			body = bytes.TrimPrefix(body[end:], newline)
			if more = bytes.HasPrefix(body, []byte(",{")); more {
				body = body[1:]
			}
		}
		if sum.Rows > 0 {
			short, sums = append(short, leftOut...), append(sums, sum)
		}
	}
}

// rowEnd returns where the row that b begins with seems to end: at the first closing bracket
// with another row, or the end of the list, behind it.
func rowEnd(b []byte) int {
	for end := 0; ; {
		at := bytes.IndexByte(b[end:], '}')
		if at < 0 {
			return len(b)
		}
		end += at + 1
		switch next := bytes.TrimPrefix(b[end:], newline); {
		case bytes.HasPrefix(next, []byte(`,{"`)), bytes.HasPrefix(next, []byte(`]}`)), bytes.HasPrefix(next, []byte(`],"`)):
			return end
		}
	}
}
