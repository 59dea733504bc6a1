// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slim reads and writes custom resources with less work than the defaults of client-go and the API server. It
// is for kinds with very many or very large objects. Errors and everything else come from client-go.
//
//   - [NewSource] and [Informers] create informers that read a watch in two passes over the bytes. client-go needs
//     nine, because it frames, types and decodes an event and its object separately. Custom resources exist as JSON
//     only. These passes are most of the work of a controller with a large fleet. Reflector, first list as a stream,
//     bookmarks, resumption and stores come from client-go.
//   - [NewLister] creates a lister that holds one object at a time. client-go holds a whole page, as bytes and as
//     objects.
//   - [NewClient] creates a client with writes that do not return the object. Encoding and decoding it is a large
//     part of the cost of such a write.
package slim
