// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	stdjson "encoding/json"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
	"sigs.k8s.io/json"
)

// decodeObject decodes an object. A status or spec that T cannot hold counts as empty.
func decodeObject[T any](raw []byte) (*T, error) {
	object := new(T)
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return readable[T](raw, err)
	}
	return object, nil
}

// readable decodes an object that T cannot hold, without its status, or without status and spec. It
// returns why if that is not enough. Schemas of the API server admit times with a small z and
// numbers beyond 32 bits, which Go's types do not. A managed cluster writes such fields, and client-go
// then stops the list and the watch of all clusters.
func readable[T any](raw []byte, why error) (*T, error) {
	var members map[string]stdjson.RawMessage
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &members); err != nil {
		return nil, why
	}
	for _, field := range []string{"status", "spec"} {
		delete(members, field)
		rest, err := stdjson.Marshal(members)
		if err != nil {
			return nil, why
		}
		object := new(T)
		if json.UnmarshalCaseSensitivePreserveInts(rest, object) == nil {
			logUnreadable(members["metadata"], field, why)
			return object, nil
		}
	}
	return nil, why
}

// unreadable limits the lines of logUnreadable to one a minute.
var unreadable = rate.Sometimes{First: 1, Interval: time.Minute}

func logUnreadable(metadata stdjson.RawMessage, field string, why error) {
	unreadable.Do(func() {
		var object struct{ Namespace, Name string }
		_ = stdjson.Unmarshal(metadata, &object) // T has decoded it
		klog.Background().Error(why, "A field of an object cannot be read and counts as empty. Correct it, or delete the object",
			"object", klog.KRef(object.Namespace, object.Name), "field", field)
	})
}
