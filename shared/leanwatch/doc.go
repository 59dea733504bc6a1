// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leanwatch makes informers of custom resources that read the API server's
// watch in two passes over the bytes. client-go takes nine, since it frames, types
// and decodes an event and the object in it one by one, and custom resources come
// as JSON only. Over a large fleet that is most of what a controller does, while it
// starts and afterwards. Everything else is client-go's: Reflector, first list as a
// stream, bookmarks, resumption, stores.
package leanwatch
