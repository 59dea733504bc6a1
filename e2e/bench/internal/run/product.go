// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

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

// client is for the binaries' own endpoints on loopback.
var client = &http.Client{Timeout: time.Minute}

// product is the product's binaries, and the servers below them.
type product struct {
	fleet  *env.Fleet
	search *search.Server
	// tokenFile holds resourcesync's token for search.
	tokenFile string
}

// launch starts binaries for the first time.
func (p *product) launch(ctx context.Context, names ...string) {
	for _, name := range names {
		must.OK(p.fleet.Product.StartProductOn(ctx, p.fleet.Hub, name, 0, p.arguments(name)...))
	}
}

// arguments are what the bench needs beyond the shipped flags.
func (p *product) arguments(name string) []string {
	if name == env.ResourceSync {
		// its own metric tells how long a poll takes
		return []string{"--metrics-secure=false", "--search-url=" + p.search.URL(), "--search-ca-file=" + p.search.CAFile(), "--search-token-file=" + p.tokenFile}
	}
	// On a machine that is full to the brim a leader may not get a renewal through
	// in time, and then rightly ends. It renews as often as ever.
	return []string{"--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=110s"}
}

func (p *product) process(name string) *env.Process {
	return must.Get(p.fleet.Processes.Get(name + "-0"))
}

// halt stops binaries and waits for their end.
func (p *product) halt(ctx context.Context, names ...string) {
	for _, name := range names {
		must.OK(p.process(name).Stop(ctx))
	}
}

// readyPause is how often readiness is asked for; figures are no finer than this.
const readyPause = 5 * time.Millisecond

// resume starts binaries again and waits until they are ready. It returns how long
// that took.
func (p *product) resume(ctx context.Context, names ...string) time.Duration {
	began := time.Now()
	for _, name := range names {
		must.OK(p.process(name).Start(ctx))
	}
	for _, name := range names {
		url := "http://" + p.process(name).Flag("health-probe-bind-address") + "/readyz"
		must.OK(testkit.WaitFor(ctx, patience, readyPause, name+" to be ready", func(ctx context.Context) error {
			_, err := visit(ctx, url, "", nil)
			return err
		}))
	}
	return time.Since(began)
}

// visit reads a page, with a token unless it is "".
func visit(ctx context.Context, url, token string, header http.Header) ([]byte, error) {
	response, err := request(ctx, client, url, token, header)
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
	return authorized(by, r, token)
}

// authorized sends a request with a token, "" for none. An answer that is not 200 is an error.
func authorized(by *http.Client, r *http.Request, token string) (*http.Response, error) {
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

// usages reads what binaries have used.
func (p *product) usages(names ...string) map[string]process.Usage {
	all := map[string]process.Usage{}
	for _, name := range names {
		all[name] = must.Get(process.Of(p.process(name).PID()))
	}
	return all
}

// serverUsage reads what the hub's API server has used.
func (p *product) serverUsage() process.Usage {
	return must.Get(process.Of(must.Get(p.fleet.Processes.Get("hub-apiserver")).PID()))
}

// metrics returns the values, at one moment, of metrics without labels of a binary
// that serves them in plain text.
func (p *product) metrics(ctx context.Context, binary string, names ...string) ([]float64, error) {
	body, err := visit(ctx, "http://"+p.process(binary).Flag("metrics-bind-address")+"/metrics", "", nil)
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
