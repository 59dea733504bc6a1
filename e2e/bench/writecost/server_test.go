// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package writecost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// server is a measured API server.
type server struct {
	base   string
	config *rest.Config
	http   *http.Client
	pid    int
}

func start(b *testing.B) *server {
	b.Helper()
	fleet, err := env.Start(b.Context(), env.Options{HubOnly: true, Product: []string{}, APIServer: []string{"--profiling=true"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := fleet.Stop(); err != nil {
			b.Error(err)
		}
	})
	p, err := fleet.Processes.Get("hub-apiserver")
	if err != nil {
		b.Fatal(err)
	}
	s := &server{base: fleet.Hub.Config.Host, config: fleet.Hub.Config, pid: p.PID()}
	if s.http, err = connection(s.config); err != nil {
		b.Fatal(err)
	}
	return s
}

// connection returns a client with a separate connection, as each process has.
func connection(config *rest.Config) (*http.Client, error) {
	secured, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: secured, ForceAttemptHTTP2: true})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// used returns the processor time of the server so far.
func (s *server) used(b *testing.B) time.Duration {
	b.Helper()
	u, err := process.Of(s.pid)
	if err != nil {
		b.Fatal(err)
	}
	return u.CPU
}

// allocated returns how many bytes the server has allocated so far.
func (s *server) allocated(b *testing.B) float64 {
	b.Helper()
	metrics, err := s.do(b.Context(), call{method: http.MethodGet, path: "/metrics", accept: "text/plain"})
	if err != nil {
		b.Fatal(err)
	}
	_, line, _ := bytes.Cut(metrics, []byte("\ngo_memstats_alloc_bytes_total "))
	value, _, _ := bytes.Cut(line, []byte("\n"))
	bytes, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// call is a request.
type call struct {
	method, path, contentType, accept string
	body                              []byte
}

const (
	jsonType     = "application/json"
	mergePatch   = "application/merge-patch+json"
	jsonPatch    = "application/json-patch+json"
	applyPatch   = "application/apply-patch+yaml"
	metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)

func (s *server) do(ctx context.Context, c call) ([]byte, error) {
	response, err := send(ctx, s.http, s.base, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

func send(ctx context.Context, by *http.Client, base string, c call) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, c.method, base+c.path, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", c.accept)
	if c.accept == "" {
		request.Header.Set("Accept", jsonType)
	}
	if c.contentType != "" {
		request.Header.Set("Content-Type", c.contentType)
	}
	response, err := by.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024)) // only to show it
		return nil, fmt.Errorf("%s %s: %s: %s", c.method, c.path, response.Status, text)
	}
	return response, nil
}

// version returns the resource version of an answer: an object, or its metadata in protobuf.
func version(answer []byte) (string, error) {
	var m metav1.PartialObjectMetadata
	if payload, ok := bytes.CutPrefix(answer, []byte("k8s\x00")); ok {
		var u runtime.Unknown
		if err := u.Unmarshal(payload); err != nil {
			return "", err
		}
		err := m.Unmarshal(u.Raw)
		return m.ResourceVersion, err
	}
	err := json.Unmarshal(answer, &m)
	return m.ResourceVersion, err
}
