// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"hash/maphash"
	"math/bits"
)

// Digest shows within one run of the program whether two answers say the same:
// the same rows, each as often and among the items or the related ones as before,
// in whatever order. Search has no order of rows that it keeps. The zero Digest is
// that of no answer.
//
// Equal digests of different answers are a matter of chance alone. A row counts by
// a hash of 64 bits whose key is random and never leaves the process, and by what
// a second random key makes of that hash, and both are added, so that a row that
// comes twice does not vanish as it would with exclusive or. That a changed row has
// the hash it had before happens once in 2^64 changes: with fifty answers that
// change every second, that is once in 10^10 years. Rows that come many times do not
// make it likelier, as they would with one sum: what multiples hide in the one does
// not vanish in the other. Numbers of rows are compared as they are.
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
	// Hashes are the sums of the rows' hashes, and of what the second key makes of these.
	Hashes [2]uint64
}

var (
	seed = maphash.MakeSeed()
	key  = maphash.String(maphash.MakeSeed(), "key")
)

func (s *Sum) add(row []byte) {
	hash := maphash.Bytes(seed, row)
	high, low := bits.Mul64(hash^key, multiplier)
	s.Rows++
	s.Hashes[0] += hash
	s.Hashes[1] += high ^ low
}

// multiplier is odd and without a pattern in its bits: those of the golden ratio.
const multiplier = 0x9e3779b97f4a7c15
