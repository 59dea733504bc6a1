// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hub talks to an API server with as little work of its own as possible:
// what it reaches is the server's own limit, and what it costs does not blur what
// is measured beside it.
package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

// Workers is how many requests are in flight at a time. More do not make an API
// server with its etcd on the same machine any faster.
const Workers = 32

// Client sends bytes. It has no rate limit, no retries and no decoding.
type Client struct {
	base string
	http *http.Client
}

// New returns a client for the server of config. As for the product, nothing is compressed.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	return &Client{base: config.Host, http: client}, nil
}

// Do sends a request and returns the body of the answer, which is an error unless
// its status is one of success.
func (c *Client) Do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	response, err := c.send(ctx, method, path, "application/json", contentType, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// Discard sends a request and drops the answer; it returns its size.
func (c *Client) Discard(ctx context.Context, method, path, contentType string, body []byte) (int64, error) {
	response, err := c.send(ctx, method, path, "application/json", contentType, body)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.Copy(io.Discard, response.Body)
}

func (c *Client) send(ctx context.Context, method, path, accept, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
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
	return response, nil
}

// Create posts an object.
func (c *Client) Create(ctx context.Context, path string, body []byte) error {
	_, err := c.Discard(ctx, http.MethodPost, path, "application/json", body)
	return err
}

// Merge sends a merge patch.
func (c *Client) Merge(ctx context.Context, path string, body []byte) error {
	_, err := c.Discard(ctx, http.MethodPatch, path, "application/merge-patch+json", body)
	return err
}

// Get reads an object or a list into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	body, err := c.Do(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}

// metadataOnly asks for the metadata of a list's objects.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// Metadata reads the metadata of a list's objects into out.
func (c *Client) Metadata(ctx context.Context, path string, out any) error {
	response, err := c.send(ctx, http.MethodGet, path, metadataOnly, "", nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return fmt.Errorf("decode the metadata of %s: %w", path, err)
	}
	return nil
}

// Parallel runs work for 0 to n-1, [Workers] at a time, and returns the first
// error after which nothing new is begun.
func Parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(Workers)
	for i := 0; i < n && running.Err() == nil; i++ {
		group.Go(func() error {
			if err := running.Err(); err != nil { // it ended while this one waited for its turn
				return err
			}
			return work(running, i)
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}
