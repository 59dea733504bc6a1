// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	// Changes while the page is looked at.
	pageRate    = 20
	pageChanges = 15 * pageRate
	// atRest is the processor time that a standby without work uses at most while [silence] lasts.
	atRest = 50 * time.Millisecond
	// perAccount is how many pages one user may have open.
	perAccount = 8
)

// sides are two standbys of aggregation that follow the same changes.
type sides struct {
	with, without *env.Process
	// one is what a refresh costs in milliseconds of processor time while one looks.
	one float64
}

// page measures what the page costs aggregation: a standby with it beside one without,
// with nobody, one and ten looking at the first page.
func page(ctx context.Context, b *bench) {
	must.OK(b.product.fleet.Hub.Install(ctx, testkit.Root(), "page"))
	arguments, s := b.product.arguments(env.Aggregation), &sides{}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(must.Get(b.product.fleet.Processes.FreePort())))
	s.without = must.Get(b.product.fleet.Product.StartStandby(ctx, env.Aggregation, 1, arguments...))
	s.with = must.Get(b.product.fleet.Product.StartStandby(ctx, env.Aggregation, 2, append(arguments, "--page-secure=false", "--page-bind-address="+address)...))
	s.awaitRead(ctx)
	for _, n := range []int{0, 1, 10} {
		watchPage(ctx, b, s, n)
	}
	must.OK(errors.Join(s.with.Stop(ctx), s.without.Stop(ctx)))
	b.awaitStatuses(ctx)
}

// usages are of the side with the page and of that without.
func (s *sides) usages() (both [2]process.Usage) {
	return [2]process.Usage{must.Get(process.Of(s.with.PID())), must.Get(process.Of(s.without.PID()))}
}

// awaitRead waits until both have read the fleet, which the page does once it is ready:
// until they use next to nothing.
func (s *sides) awaitRead(ctx context.Context) {
	last, since := s.usages(), time.Now()
	must.OK(env.WaitFor(ctx, patience, "both standbys to have read the fleet", func(context.Context) (bool, string) {
		now := s.usages()
		for i := range now {
			if now[i].CPU > last[i].CPU+atRest {
				last, since = now, time.Now()
			}
		}
		return time.Since(since) > silence, fmt.Sprintf("they used %s and %s", now[0].CPU, now[1].CPU)
	}))
}

// watchPage makes changes while viewers look and makes the rows of what that cost.
func watchPage(ctx context.Context, b *bench, s *sides, viewers int) {
	a := openPages(ctx, b, s.with, viewers)
	before, began := s.usages(), time.Now()
	b.load.sendPaced(ctx, b.load.draw(b.load.apps, pageChanges), pageRate)
	took, after := time.Since(began), s.usages()
	must.OK(a.leave())
	if viewers > 0 && len(a.took) == 0 {
		must.OK(fmt.Errorf("%d looking: no event came of any of %d changes", viewers, pageChanges))
	}
	with, without := after[0].CPU-before[0].CPU, after[1].CPU-before[1].CPU
	beside := fmt.Sprintf("%s against %s in %s, at %d changes/s", with, without, round(took), pageRate)
	b.row(atMost(1.25, "×", fmt.Sprintf("page, %d looking: memory of aggregation against one without the page", viewers),
		float64(after[0].Resident)/float64(after[1].Resident), "%.1f MiB against %.1f MiB resident, both standbys at %d Applications",
		mebibytes(after[0].Resident), mebibytes(after[1].Resident), len(b.load.apps)))
	if viewers == 0 {
		// A change is an event of the ManifestWork and, for the page, one of the Application.
		b.row(atMost(2, "×", "page, nobody looking: CPU of aggregation against one without the page", float64(with)/float64(max(without, 1)), "%s", beside))
	} else {
		times := figure.NewDistribution(a.took)
		b.row(atMost(5, "%", fmt.Sprintf("page, %d looking: CPU of aggregation beyond one without the page", viewers),
			100*float64(with-without)/float64(took), "of a core; %s; %d refreshes of %.0f KiB, p50/p99 %.0f/%.0f ms",
			beside, len(a.took), float64(a.bytes)/1024/float64(len(a.took)), times.Percentile(50), times.Percentile(99)))
		each := float64(with-without) / float64(time.Millisecond) / float64(len(a.took))
		if viewers == 1 {
			s.one = each
		} else {
			b.row(atMost(1.25, "×", fmt.Sprintf("page: CPU of a refresh, %d looking against one", viewers), each/max(s.one, 0.1),
				"%.1f ms against %.1f ms: what all see is put together once", each, s.one))
		}
	}
	b.awaitNoWrites(ctx, silence)
}

// streams is for streams of events, which have no time limit as client has one.
var streams = &http.Client{}

// audience plays browsers that have the first page open: each has a stream of events,
// and asks for the parts of the page when an event says that they have changed.
type audience struct {
	cancel context.CancelFunc
	left   sync.WaitGroup

	mu    sync.Mutex
	took  []time.Duration
	bytes int // before compression
	err   error
}

// openPages opens the page for so many and returns when each has seen it and gets events.
func openPages(ctx context.Context, b *bench, with *env.Process, viewers int) *audience {
	ctx, cancel := context.WithCancel(ctx)
	a := &audience{cancel: cancel}
	address, token := "http://"+with.Flag("page-bind-address"), ""
	for n := range viewers {
		if n%perAccount == 0 {
			token = must.Get(b.product.fleet.Product.PageToken(ctx, fmt.Sprintf("%s-%d", env.PageAccount, n/perAccount), time.Hour))
		}
		must.Get(visit(ctx, address+"/", token, nil))
		response := must.Get(request(ctx, streams, address+"/events?view=fleet", token, nil)) //nolint:bodyclose // the goroutine below closes it
		a.left.Go(func() {
			defer func() { _ = response.Body.Close() }()
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "event: changed") {
					a.refresh(ctx, address, token)
				}
			}
		})
	}
	return a
}

// leave ends all and returns what went wrong while they looked.
func (a *audience) leave() error {
	a.cancel()
	a.left.Wait()
	return a.err
}

func (a *audience) refresh(ctx context.Context, address, token string) {
	began := time.Now()
	body, err := visit(ctx, address+"/", token, http.Header{"X-Fragment": {"summary,facets,rows"}})
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() == nil { // else all leave
		a.err = errors.Join(a.err, err)
		a.took, a.bytes = append(a.took, time.Since(began)), a.bytes+len(body)
	}
}
