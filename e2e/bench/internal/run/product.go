// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// client is for the binaries' own endpoints on loopback.
var client = &http.Client{Timeout: time.Minute}

// launch starts a binary for the first time.
func (b *bench) launch(ctx context.Context, name string) error {
	arguments, err := b.arguments(name)
	if err != nil {
		return err
	}
	_, err = b.fleet.StartProduct(ctx, name, arguments...)
	return err
}

// arguments are what the bench needs beyond the shipped flags.
func (b *bench) arguments(name string) ([]string, error) {
	var arguments []string
	if name != env.ResourceSync {
		// On a machine that is full to the brim a leader may not get a renewal through
		// in time, and then rightly ends. It renews as often as ever.
		arguments = append(arguments, "--leader-elect-lease-duration=120s", "--leader-elect-renew-deadline=110s")
	}
	if name == env.ResourceSync {
		// its own metric tells how long a poll takes
		arguments = append(arguments, "--metrics-secure=false",
			"--search-url="+b.search.URL(), "--search-ca-file="+b.search.CAFile(), "--search-token-file="+b.tokenFile())
	}
	if b.Profiles != "" {
		port, err := b.fleet.FreePort()
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, "--pprof-bind-address="+net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	return arguments, nil
}

func (b *bench) process(name string) (*env.Process, error) { return b.fleet.Process(name + "-0") }

// halt stops binaries and waits for their end.
func (b *bench) halt(ctx context.Context, names ...string) error {
	for _, name := range names {
		p, err := b.process(name)
		if err != nil {
			return err
		}
		if err := p.Stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// resume starts binaries again and waits until they are ready. It returns how long
// that took.
func (b *bench) resume(ctx context.Context, names ...string) (time.Duration, error) {
	began := time.Now()
	for _, name := range names {
		p, err := b.process(name)
		if err != nil {
			return 0, err
		}
		if err := p.Start(ctx); err != nil {
			return 0, err
		}
	}
	for _, name := range names {
		if err := b.ready(ctx, name); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// readyPause is how often readiness is asked for; figures are no finer than this.
const readyPause = 5 * time.Millisecond

func (b *bench) ready(ctx context.Context, name string) error {
	p, err := b.process(name)
	if err != nil {
		return err
	}
	url := "http://" + p.Flag("health-probe-bind-address") + "/readyz"
	return testkit.WaitFor(ctx, patience, readyPause, name+" to be ready", func(ctx context.Context) error {
		_, err := get(ctx, url)
		return err
	})
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// usage reads what a binary has used.
func (b *bench) usage(name string) (process.Usage, error) {
	p, err := b.process(name)
	if err != nil {
		return process.Usage{}, err
	}
	return process.Of(p.PID())
}

// usages reads what several binaries have used.
func (b *bench) usages(names ...string) (map[string]process.Usage, error) {
	all := map[string]process.Usage{}
	for _, name := range names {
		u, err := b.usage(name)
		if err != nil {
			return nil, err
		}
		all[name] = u
	}
	return all, nil
}

// metrics returns the values, at one moment, of metrics without labels of a binary
// that serves them in plain text.
func (b *bench) metrics(ctx context.Context, binary string, names ...string) ([]float64, error) {
	p, err := b.process(binary)
	if err != nil {
		return nil, err
	}
	body, err := get(ctx, "http://"+p.Flag("metrics-bind-address")+"/metrics")
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

// apiServer is the API server to [bench.profile].
const apiServer = "kube-apiserver"

// sample returns a CPU profile of a binary or of the API server.
func (b *bench) sample(ctx context.Context, binary string, seconds int) ([]byte, error) {
	path := fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds)
	if binary == apiServer {
		return b.hub.Do(ctx, http.MethodGet, path, "", nil)
	}
	p, err := b.process(binary)
	if err != nil {
		return nil, err
	}
	return get(ctx, "http://"+p.Flag("pprof-bind-address")+path)
}

// profile takes a CPU profile of a binary while a phase runs, if profiles are
// wanted; the returned function waits for it.
func (b *bench) profile(ctx context.Context, binary, phase string, seconds int) (wait func()) {
	if b.Profiles == "" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		body, err := b.sample(ctx, binary, seconds)
		if err == nil {
			err = os.WriteFile(filepath.Join(b.Profiles, fmt.Sprintf("%s-%s-%s.pprof", b.Size.Name, phase, binary)), body, 0o600)
		}
		if err != nil {
			b.say("no profile of %s: %v", binary, err)
		}
	}()
	return func() { <-done }
}
