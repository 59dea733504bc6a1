// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

// Item is one row of an answer: the properties that this project reads. A property
// that the row does not have is empty.
type Item struct {
	// UID is "<cluster>/<Kubernetes UID>", or "cluster__<name>" of a Cluster.
	UID        string
	Cluster    string
	Kind       string
	APIGroup   string // empty for the core group
	APIVersion string // without the group
	Namespace  string
	Name       string

	// RelatedUIDs are the UIDs of all searched items that a related item belongs to.
	RelatedUIDs []string
	// OwnerUID is the UID of the object that owns this one.
	OwnerUID string
	// OnHub marks a row that the hub itself wrote.
	OnHub bool

	// Hosting is "ApplicationSet/<namespace>/<name>" of an Application.
	Hosting string
	// Health and Sync are the status codes of an Application.
	Health, Sync string
	// Missing is the JSON text of the resources that an Application misses.
	Missing string
	// Conditions are the "_condition<Type>" properties of an Application.
	Conditions []Condition
}

// Condition is a condition of an Application: no time, and no more than 512 runes
// of its message.
type Condition struct {
	Type, Message string
}

// Result is the answer to one input.
type Result struct {
	// Count is how many rows match, counted by a separate statement. It is -1 if the count was not
	// requested or not answered.
	Count int
	// Items are the matching rows.
	Items []Item
	// Related are the rows related to them, of all kinds.
	Related []Item
	// Odd names the rows that were left out because they violate the contract. They still count.
	Odd []string

	// Digest is the digest of the answer. It is zero if a row is odd or the server reports an
	// error.
	Digest Digest
	// Unchanged is true if the digest equals the one of the caller. Items, Related and Odd are then
	// empty, because the answer was not decoded.
	Unchanged bool
}
