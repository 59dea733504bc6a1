// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view is what an observer sends of one Application, and what the hub accepts of it.
// It is pure: bytes in, bytes out.
package view

// CacheVersion is the end of the keys of Argo CD's Redis whose content this package can read. Argo
// CD changes it with the content (common.CacheVersion). 2.14 to 3.5 have this one.
const CacheVersion = "1.8.3"

// Bounds. What a managed cluster sends is checked against them again where the hub reads it.
const (
	// MaxEncoded is how many bytes of base64 a view has at most.
	MaxEncoded = 256 << 10
	// MaxDecoded is how many bytes of JSON it is unpacked.
	MaxDecoded = 8 << 20
	// MaxValues is how many values its JSON has: lists, objects, texts, numbers. Each takes some
	// hundreds of bytes of memory in what decodes it, the hub's argocd-server and the browser too.
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
	// Cut describes what the first two already leave out, or is empty.
	Cut string
}

// object is a JSON object that keeps all its fields, including those of a newer Argo CD.
type object = map[string]any
