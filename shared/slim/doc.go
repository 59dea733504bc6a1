// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slim reads and writes custom resources with less work than client-go and
// the API server's defaults, for the kinds of which a fleet has very many or very
// large objects. Errors and everything else are client-go's.
//
//   - [NewSource] and [Informers] make informers that read a watch in two passes over
//     the bytes. client-go takes nine, since it frames, types and decodes an event
//     and the object in it one by one, and custom resources come as JSON only. That
//     is most of what a controller of a large fleet does. Reflector, first list as a
//     stream, bookmarks, resumption and stores are client-go's.
//   - [NewClient] makes a client that does not have the API server send back what it
//     has just been sent: encoding the answer there and decoding it here is a good
//     part of what such a write costs.
package slim
