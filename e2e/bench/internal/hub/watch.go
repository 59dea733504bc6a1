// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Event is one event of a watch, its object as bytes.
type Event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Watch reports every change of the objects at path from now on, with the moment
// at which it arrived, until ctx ends. It returns once the server has answered.
func (c *Client) Watch(ctx context.Context, path string, report func(Event, time.Time)) (ended <-chan error, err error) {
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := c.Get(ctx, path+"?limit=1", &list); err != nil {
		return nil, err
	}
	query := url.Values{"watch": {"1"}, "resourceVersion": {list.Metadata.ResourceVersion}, "timeoutSeconds": {"3600"}}
	response, err := c.send(ctx, http.MethodGet, path+"?"+query.Encode(), "application/json", "", nil) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		defer func() { _ = response.Body.Close() }()
		decoder := json.NewDecoder(response.Body)
		for {
			var e Event
			if err := decoder.Decode(&e); err != nil {
				if ctx.Err() != nil {
					err = nil
				} else {
					err = fmt.Errorf("watch %s: %w", path, err)
				}
				done <- err
				return
			}
			report(e, time.Now())
		}
	}()
	return done, nil
}
