// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Client sends requests to the binaries' own endpoints on loopback.
var Client = &http.Client{Timeout: time.Minute}

// Product is the product's binaries, and the servers that they use.
type Product struct {
	Fleet  *env.Fleet
	Search *search.Server
	// tokenFile holds resourcesync's token for search.
	tokenFile string
}

// Launch starts binaries for the first time.
func (p *Product) Launch(ctx context.Context, names ...string) {
	for _, name := range names {
		must.OK(p.Fleet.Product.StartProductOn(ctx, p.Fleet.Hub, name, 0, p.arguments(name)...))
	}
}

// arguments returns the flags that the benchmark needs in addition to the shipped ones.
func (p *Product) arguments(name string) []string {
	if name == env.ResourceSync {
		// resourcesync's own metric has the duration of a poll
		return []string{"--metrics-secure=false", "--search-url=" + p.Search.URL(), "--search-ca-file=" + p.Search.CAFile(), "--search-token-file=" + p.tokenFile}
	}
	// On a fully loaded machine a leader may fail to renew in time, and then rightly exits. The interval of
	// renewals is unchanged.
	return []string{"--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=110s"}
}

// Process returns the first process of a binary.
func (p *Product) Process(name string) *env.Process {
	return must.Get(p.Fleet.Processes.Get(name + "-0"))
}

// Halt stops binaries and waits until they have exited.
func (p *Product) Halt(ctx context.Context, names ...string) {
	for _, name := range names {
		must.OK(p.Process(name).Stop(ctx))
	}
}

// readyPause is the interval of readiness checks, and so the resolution of the figures.
const readyPause = 5 * time.Millisecond

// Resume starts binaries again and waits until they are ready. It returns the duration.
func (p *Product) Resume(ctx context.Context, names ...string) time.Duration {
	began := time.Now()
	for _, name := range names {
		must.OK(p.Process(name).Start(ctx))
	}
	for _, name := range names {
		url := "http://" + p.Process(name).Flag("health-probe-bind-address") + "/readyz"
		must.OK(testkit.WaitFor(ctx, Patience, readyPause, name+" to be ready", func(ctx context.Context) error {
			_, err := Visit(ctx, url, "", nil)
			return err
		}))
	}
	return time.Since(began)
}

// Visit reads a page, with a token unless it is "".
func Visit(ctx context.Context, url, token string, header http.Header) ([]byte, error) {
	response, err := request(ctx, Client, url, token, header)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

func request(ctx context.Context, by *http.Client, url, token string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	return Authorized(by, r, token)
}

// Authorized sends a request with a token, "" for none. A status other than 200 is an error.
func Authorized(by *http.Client, r *http.Request, token string) (*http.Response, error) {
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := by.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", r.URL, response.Status), response.Body.Close())
	}
	return response, nil
}

// Usages returns the resource usage of binaries.
func (p *Product) Usages(names ...string) map[string]process.Usage {
	all := map[string]process.Usage{}
	for _, name := range names {
		all[name] = must.Get(process.Of(p.Process(name).PID()))
	}
	return all
}

// ServerUsage returns the resource usage of the hub's API server.
func (p *Product) ServerUsage() process.Usage {
	return must.Get(process.Of(must.Get(p.Fleet.Processes.Get("hub-apiserver")).PID()))
}

// Metrics returns the values, at one moment, of metrics without labels. The binary must serve them without
// TLS.
func (p *Product) Metrics(ctx context.Context, binary string, names ...string) ([]float64, error) {
	body, err := Visit(ctx, "http://"+p.Process(binary).Flag("metrics-bind-address")+"/metrics", "", nil)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[name] = value
		}
	}
	values := make([]float64, len(names))
	for i, name := range names {
		if values[i], err = strconv.ParseFloat(found[name], 64); err != nil {
			return nil, fmt.Errorf("metric %s of %s: %w", name, binary, err)
		}
	}
	return values, nil
}
