// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"hash/maphash"
)

// Digest shows within one run of the program whether two answers are equal. Equal answers have the same rows, each
// with the same frequency and in the same list, in any order. Search does not keep an order of rows. The zero Digest
// means no answer.
//
// Different answers have equal digests only by chance. A row counts by a hash of 64 bits with a random key, which
// never leaves the process. The hashes are added, so that a row that occurs twice does not disappear, as it would
// with exclusive or. A changed row has its earlier hash once in 2^64 changes. With fifty answers that change every
// second, that is once in 10^10 years. Numbers of rows are compared directly.
type Digest struct {
	// Count is the number of items according to the answer.
	Count int
	// Items and Related are of the rows of each.
	Items, Related Sum
}

// Sum is of rows in any order.
type Sum struct {
	// Rows is the number of rows, or -1 for null instead of a list.
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

// scan is decode without the rows: it only computes their digests. It checks everything around the
// rows as decode does. It finds the end of a row by its brackets only. If the digest equals the one
// of a decoded answer, the same bytes were taken for rows, and so each row ended correctly. A
// mistake gives another digest.
func scan(body []byte) (*answer, error) {
	short, sums := outline(body)
	return walk(short, &stream{sums: sums})
}

// leftOut is in an outline for all the rows of a list.
const leftOut = "0"

// newline is the text that encoding/json's Encoder writes behind each row, where nothing compacts
// it.
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

// rowEnd returns where the row at the beginning of b probably ends. That is the first closing
// bracket before another row or before the end of the list.
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
