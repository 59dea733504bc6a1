// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import "hash/maphash"

// Digest tells within one run of the program whether two answers say the same:
// the same rows, each as often and among the items or the related ones as before,
// in whatever order. Search has no order of rows that it keeps. The zero Digest is
// that of no answer.
//
// Equal digests of different answers are a matter of chance alone. A row counts by
// two hashes of 64 bits whose keys are random and never leave the process, and
// they are added, so that a row that comes twice does not vanish as it would with
// exclusive or. That a change leaves both sums as they were happens once in 2^128
// changes; in the worst case, where one row comes m times more and another m times
// less and m is a power of two, once in 2^128/m². With an answer that changes
// every second, that is once in 10^31 years, and with 1,000 equal rows in
// 10^25. Numbers of rows are compared as they are.
//
// A digest may be made without looking for the ends of rows in earnest. Where it
// then equals that of an answer that was decoded, the same bytes were taken for
// rows, and so each row ended where it should: a mistake makes digests differ.
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
	// Hashes are two sums of hashes of the rows' bytes.
	Hashes [2]uint64
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (s *Sum) add(row []byte) {
	s.Rows++
	s.Hashes[0] += maphash.Bytes(seeds[0], row)
	s.Hashes[1] += maphash.Bytes(seeds[1], row)
}
