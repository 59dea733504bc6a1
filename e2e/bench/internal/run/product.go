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

// launch starts a binary for the first time.
func (p *product) launch(ctx context.Context, name string) error {
	_, err := p.fleet.StartProduct(ctx, name, p.arguments(name)...)
	return err
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

func (p *product) process(name string) (*env.Process, error) { return p.fleet.Process(name + "-0") }

// halt stops binaries and waits for their end.
func (p *product) halt(ctx context.Context, names ...string) error {
	for _, name := range names {
		running, err := p.process(name)
		if err != nil {
			return err
		}
		if err := running.Stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resume starts binaries again and waits until they are ready. It returns how long
// that took.
func (p *product) resume(ctx context.Context, names ...string) (time.Duration, error) {
	began := time.Now()
	for _, name := range names {
		running, err := p.process(name)
		if err != nil {
			return 0, err
		}
		if err := running.Start(ctx); err != nil {
			return 0, err
		}
	}
	for _, name := range names {
		if err := p.ready(ctx, name); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// readyPause is how often readiness is asked for; figures are no finer than this.
const readyPause = 5 * time.Millisecond

func (p *product) ready(ctx context.Context, name string) error {
	running, err := p.process(name)
	if err != nil {
		return err
	}
	url := "http://" + running.Flag("health-probe-bind-address") + "/readyz"
	return testkit.WaitFor(ctx, patience, readyPause, name+" to be ready", func(ctx context.Context) error {
		_, err := get(ctx, url)
		return err
	})
}

func get(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := authorized(client, r, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
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

// usage reads what a binary has used.
func (p *product) usage(name string) (process.Usage, error) {
	running, err := p.process(name)
	if err != nil {
		return process.Usage{}, err
	}
	return process.Of(running.PID())
}

// usages reads what several binaries have used.
func (p *product) usages(names ...string) (map[string]process.Usage, error) {
	all := map[string]process.Usage{}
	for _, name := range names {
		u, err := p.usage(name)
		if err != nil {
			return nil, err
		}
		all[name] = u
	}
	return all, nil
}

// metrics returns the values, at one moment, of metrics without labels of a binary
// that serves them in plain text.
func (p *product) metrics(ctx context.Context, binary string, names ...string) ([]float64, error) {
	running, err := p.process(binary)
	if err != nil {
		return nil, err
	}
	body, err := get(ctx, "http://"+running.Flag("metrics-bind-address")+"/metrics")
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
		if found[name] == "" {
			return nil, fmt.Errorf("%s has no metric %s", binary, name)
		}
		if values[i], err = strconv.ParseFloat(found[name], 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// serverUsage reads what the hub's API server has used.
func (p *product) serverUsage() (process.Usage, error) {
	running, err := p.fleet.Process("hub-apiserver")
	if err != nil {
		return process.Usage{}, err
	}
	return process.Of(running.PID())
}
