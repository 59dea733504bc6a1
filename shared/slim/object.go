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

// decodeObject decodes an object. A status that T cannot hold counts as empty.
func decodeObject[T any](raw []byte) (*T, error) {
	object := new(T)
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return withoutStatus[T](raw, err)
	}
	return object, nil
}

// withoutStatus decodes an object that T cannot hold, without its status. It returns why if that is
// not enough. The schemas of the API server admit times with a small z, which Go's types do not. A
// managed cluster writes the status of its objects, and client-go then stops the list and the watch
// of all clusters. The cluster could as well write an empty status. A spec is not left out, because
// a missing field of it would be an answer.
func withoutStatus[T any](raw []byte, why error) (*T, error) {
	var members map[string]stdjson.RawMessage
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &members); err != nil {
		return nil, why
	}
	delete(members, "status")
	rest, err := stdjson.Marshal(members)
	if err != nil {
		return nil, why
	}
	object := new(T)
	if json.UnmarshalCaseSensitivePreserveInts(rest, object) != nil {
		return nil, why
	}
	logUnreadable(members["metadata"], why)
	return object, nil
}

// unreadable limits the lines of logUnreadable to one a minute.
var unreadable = rate.Sometimes{First: 1, Interval: time.Minute}

func logUnreadable(metadata stdjson.RawMessage, why error) {
	unreadable.Do(func() {
		var object struct{ Namespace, Name string }
		_ = stdjson.Unmarshal(metadata, &object) // T has decoded it
		klog.Background().Error(why, "The status of an object cannot be read and counts as empty. Correct it, or delete the object",
			"object", klog.KRef(object.Namespace, object.Name))
	})
}
