// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import "hash/maphash"

// Digest shows within one run of the program whether two answers have the same rows, each
// as often and among the items or the related ones as before, in whatever order: search has
// no order of rows that it keeps. The zero Digest is that of no answer.
//
// Equal digests of different answers are a matter of chance alone. A row counts by a hash of
// 64 bits whose key is random and never leaves the process. The hashes are added, so that a
// row that comes twice does not vanish as it would with exclusive or. That a changed row has
// the hash it had before happens once in 2^64 changes: with fifty answers that change every
// second, that is once in 10^10 years.
type Digest struct {
	// Count is what the answer says of the number of items.
	Count int
	// Items and Related are of the rows of each.
	Items, Related Sum
}

// Sum is of rows in any order.
type Sum struct {
	// Rows is how many rows exist, -1 for null in place of a list.
	Rows int
	// Hash is the sum of the rows' hashes.
	Hash uint64
}

var seed = maphash.MakeSeed()

func (s *Sum) add(row []byte) {
	s.Rows++
	s.Hash += maphash.Bytes(seed, row)
}

// scan is decode without the rows: only their digests are made.
func scan(body []byte) (*answer, error) { return walk(body, &stream{}) }
