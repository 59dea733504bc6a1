// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view defines the content that an observer sends about one Application, and the content
// that the hub accepts. It is pure: bytes in, bytes out.
package view

// CacheVersion is the end of the keys of Argo CD's Redis with content that this package can read.
// Argo CD changes it with the content (common.CacheVersion). Argo CD 2.14 to 3.5 have this version.
const CacheVersion = "1.8.3"

// These are limits of a view. The hub checks the views that a managed cluster sends against them
// again.
const (
	// MaxEncoded is how many bytes of base64 a view has at most.
	MaxEncoded = 256 << 10
	// MaxDecoded is how many bytes of JSON it is unpacked.
	MaxDecoded = 8 << 20
	// MaxValues is how many values its JSON has: lists, objects, texts, numbers. Each takes some
	// hundreds of bytes of memory in a program that decodes it, also in the hub's argocd-server and
	// in the browser.
	MaxValues = 100_000
	// maxRead is how many values an observer decodes: twice as many as are sent, since a view that is too
	// large is sent without details. Of more it decodes the first maxNodes resources of the tree only.
	maxRead = 2 * MaxValues
	// MaxStatus is how many bytes of it go into the status of the hub Application.
	MaxStatus = 128 << 10
	// maxNodes is how many resources a view has that had to be cut as far as possible.
	maxNodes = 1000
)

// View is the state of an Application as Argo CD's application controller writes it to Redis.
type View struct {
	// Tree is an ApplicationTree of Argo CD in one piece, as JSON.
	Tree []byte
	// Resources is a list of ResourceDiff of Argo CD, as JSON.
	Resources []byte
	// Status has further fields of the Application's status that the page needs, as JSON: resources
	// and resourceHealthSource.
	Status []byte
	// Cut describes the content that the first two already leave out, or is empty.
	Cut string
}

// object is a JSON object that keeps all its fields, including fields of a newer Argo CD.
type object = map[string]any
