// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// perAccount is how many pages one user may have open.
const perAccount = 8

// streams is for streams of events, which have no time limit as client has one.
var streams = &http.Client{}

// audience plays browsers that have the first page open: each has a stream of events,
// and asks for the parts of the page when it is told that they have changed.
type audience struct {
	cancel context.CancelFunc
	left   sync.WaitGroup

	mu    sync.Mutex
	took  []time.Duration
	bytes int
	err   error
}

// openPages opens the page for so many and returns when each has seen it and is told of changes.
func openPages(ctx context.Context, b *bench, with *env.Process, viewers int) (*audience, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &audience{cancel: cancel}
	address := "http://" + with.Flag("page-bind-address")
	token := ""
	for n := range viewers {
		if n%perAccount == 0 {
			var err error
			if token, err = b.fleet.PageToken(ctx, fmt.Sprintf("%s-%d", env.PageAccount, n/perAccount), time.Hour); err != nil {
				return nil, errors.Join(err, a.leave())
			}
		}
		if err := a.join(ctx, address, token); err != nil {
			return nil, errors.Join(err, a.leave())
		}
	}
	return a, nil
}

// leave ends all and returns what went wrong while they looked.
func (a *audience) leave() error {
	a.cancel()
	a.left.Wait()
	return a.err
}

func (a *audience) join(ctx context.Context, address, token string) error {
	if _, err := visit(ctx, address+"/", token, nil); err != nil {
		return err
	}
	response, err := request(ctx, streams, address+"/events?view=fleet", token, nil)
	if err != nil {
		return err
	}
	a.left.Go(func() {
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "event: changed") {
				a.refresh(ctx, address, token)
			}
		}
	})
	return nil
}

func (a *audience) refresh(ctx context.Context, address, token string) {
	began := time.Now()
	body, err := visit(ctx, address+"/", token, http.Header{"X-Fragment": {"summary,facets,rows"}})
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return // everybody leaves
	}
	a.err = errors.Join(a.err, err)
	a.took, a.bytes = append(a.took, time.Since(began)), a.bytes+len(body)
}

func (a *audience) refreshes() int { return len(a.took) }

// size is that of a refresh in KiB, before compression.
func (a *audience) size() float64 { return float64(a.bytes) / 1024 / float64(max(len(a.took), 1)) }

func (a *audience) times() figure.Distribution { return figure.NewDistribution(a.took) }

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
