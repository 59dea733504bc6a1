// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub is a client of an API server with as little overhead as possible. So its rate is the server's
// limit, and its cost does not disturb other measurements.
package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// Workers is the number of parallel requests. More requests do not make an API server with etcd on the same
// machine faster.
const Workers = 32

// metadataOnly requests the metadata of a list's objects.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Client sends bytes. It has no rate limit, no retries and no decoding.
type Client struct {
	base string
	http *http.Client
}

// New returns a client for the server of config. It uses no compression, like the product.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return &Client{base: config.Host, http: client}, nil
}

// send returns the body of a successful response, and the caller closes it. Other responses are errors.
func (c *Client) send(ctx context.Context, method, path, accept string, body []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // only to show it
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return response.Body, nil
}

func (c *Client) decode(ctx context.Context, method, path, accept string, body []byte, out any) error {
	answer, err := c.send(ctx, method, path, accept, body)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Close() }()
	if err := json.NewDecoder(answer).Decode(out); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}

// Discard sends a request, drops the answer and returns the answer's size.
func (c *Client) Discard(ctx context.Context, method, path string, body []byte) (int64, error) {
	answer, err := c.send(ctx, method, path, "application/json", body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Close() }()
	return io.Copy(io.Discard, answer)
}

// Do sends a request and decodes the answer into out.
func (c *Client) Do(ctx context.Context, method, path string, body []byte, out any) error {
	return c.decode(ctx, method, path, "application/json", body, out)
}

// Create posts an object.
func (c *Client) Create(ctx context.Context, path string, body []byte) error {
	_, err := c.Discard(ctx, http.MethodPost, path, body)
	return err
}

// Merge sends a merge patch.
func (c *Client) Merge(ctx context.Context, path string, body []byte) error {
	_, err := c.Discard(ctx, http.MethodPatch, path, body)
	return err
}

// Get reads an object or a list into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.Do(ctx, http.MethodGet, path, nil, out)
}

// Metadata reads the metadata of a list's objects into out.
func (c *Client) Metadata(ctx context.Context, path string, out any) error {
	return c.decode(ctx, http.MethodGet, path, metadataOnly, nil, out)
}

// Event is one event of a watch, its object as bytes.
type Event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Watch reports every change of the objects at path from now on, with its time of arrival, until ctx ends.
// Watch returns when the server has answered.
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
	answer, err := c.send(ctx, http.MethodGet, path+"?"+query.Encode(), "application/json", nil)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		defer func() { _ = answer.Close() }()
		for decoder := json.NewDecoder(answer); ; {
			var e Event
			if err := decoder.Decode(&e); err != nil {
				if ctx.Err() == nil {
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

// Parallel runs work for 0 to n-1, [Workers] at a time, and returns the first error. After an error it starts
// no further work.
func Parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(Workers)
	for i := 0; i < n && running.Err() == nil; i++ {
		group.Go(func() error {
			if err := running.Err(); err != nil { // an error occurred while this one waited
				return err
			}
			return work(running, i)
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}
