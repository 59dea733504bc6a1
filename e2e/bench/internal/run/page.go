// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/rig"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	// These are the rate and number of changes while the page is open.
	pageRate    = 20
	pageChanges = 15 * pageRate
	// pollEvery is the poll interval of the page's script.
	pollEvery = 1500 * time.Millisecond
	// atRest is the highest processor time that a process without work uses in [rig.Silence].
	atRest = 50 * time.Millisecond
	// perAccount is the number of open pages of one user.
	perAccount = 8
)

// looked is the page's process, with a figure for a later measurement.
type looked struct {
	page *env.Process
	// one is the processor time of a refresh with one viewer, in milliseconds.
	one float64
}

// page measures the cost of the page without viewers, and with one and ten viewers of the first
// page.
func page(ctx context.Context, b *rig.Rig) {
	must.OK(b.Product.Fleet.Hub.Install(ctx, testkit.Root(), "page"))
	began := time.Now()
	l := &looked{page: must.Get(b.Product.Fleet.Product.StartPage(ctx))}
	b.Row(rig.AtMost(10, "s", "page: ready after a cold start", time.Since(began).Seconds(), "%d Applications", len(b.Load.Apps)))
	l.awaitRead(ctx)
	for _, n := range []int{0, 1, 10} {
		watchPage(ctx, b, l, n)
	}
	must.OK(l.page.Stop(ctx))
	b.AwaitStatuses(ctx)
}

func (l *looked) usage() process.Usage { return must.Get(process.Of(l.page.PID())) }

// awaitRead waits until the page has read the fleet and is idle.
func (l *looked) awaitRead(ctx context.Context) {
	last, since := l.usage(), time.Now()
	must.OK(env.WaitFor(ctx, rig.Patience, "the page to have read the fleet", func(context.Context) (bool, string) {
		if now := l.usage(); now.CPU > last.CPU+atRest {
			last, since = now, time.Now()
		}
		return time.Since(since) > rig.Silence, fmt.Sprintf("it used %s", last.CPU)
	}))
}

// watchPage sends changes while viewers have the page open, and adds the rows about the cost.
func watchPage(ctx context.Context, b *rig.Rig, l *looked, viewers int) {
	a := openPages(ctx, b, l.page, viewers)
	before, began := l.usage(), time.Now()
	b.Load.SendPaced(ctx, b.Load.Draw(b.Load.Apps, pageChanges), pageRate)
	took, after := time.Since(began), l.usage()
	must.OK(a.leave())
	if viewers > 0 && len(a.took) == 0 {
		must.OK(fmt.Errorf("%d looking: no page has changed by any of %d changes", viewers, pageChanges))
	}
	cpu := after.CPU - before.CPU
	used := fmt.Sprintf("%s in %s, at %d changes/s", cpu, rig.Round(took), pageRate)
	aggregation := must.Get(process.Of(b.Product.Process(env.Aggregation).PID()))
	b.Row(rig.AtMost(1, "×", fmt.Sprintf("page, %d looking: memory against aggregation's", viewers),
		float64(after.Resident)/float64(aggregation.Resident), "%.1f MiB against %.1f MiB resident, at %d Applications",
		rig.Mebibytes(after.Resident), rig.Mebibytes(aggregation.Resident), len(b.Load.Apps)))
	share := 100 * float64(cpu) / float64(took)
	if viewers == 0 {
		b.Row(rig.AtMost(3, "%", "page, nobody looking: CPU", share, "of a core; %s", used))
	} else {
		times := figure.NewDistribution(a.took)
		b.Row(rig.AtMost(8, "%", fmt.Sprintf("page, %d looking: CPU", viewers), share,
			"of a core; %s; %d refreshes of %.0f KiB, p50/p99 %.0f/%.0f ms",
			used, len(a.took), float64(a.bytes)/1024/float64(len(a.took)), times.Percentile(50), times.Percentile(99)))
		each := float64(cpu) / float64(time.Millisecond) / float64(len(a.took))
		if viewers == 1 {
			l.one = each
		} else {
			b.Row(rig.AtMost(1.25, "×", fmt.Sprintf("page: CPU of a refresh, %d looking against one", viewers), each/max(l.one, 0.1),
				"%.1f ms against %.1f ms: what all see is put together once", each, l.one))
		}
	}
	b.AwaitNoWrites(ctx, rig.Silence)
}

// audience acts as browsers that have the first page open. Each requests the changed parts of the page until
// it leaves.
type audience struct {
	cancel context.CancelFunc
	left   sync.WaitGroup

	mu    sync.Mutex
	took  []time.Duration // of the refreshes with a changed page
	bytes int             // before compression
	err   error
}

// openPages opens the page for a number of viewers. It returns when each viewer has received the page.
func openPages(ctx context.Context, b *rig.Rig, page *env.Process, viewers int) *audience {
	ctx, cancel := context.WithCancel(ctx)
	a := &audience{cancel: cancel}
	address, token := "http://"+page.Flag("page-bind-address"), ""
	for n := range viewers {
		if n%perAccount == 0 {
			token = must.Get(b.Product.Fleet.Product.PageToken(ctx, fmt.Sprintf("%s-%d", env.PageAccount, n/perAccount), time.Hour))
		}
		must.Get(rig.Visit(ctx, address+"/", token, nil))
		a.left.Go(func() {
			for version := ""; clock.Sleep(ctx, pollEvery); {
				version = a.refresh(ctx, address, token, version)
			}
		})
	}
	return a
}

// leave stops all viewers and returns their errors.
func (a *audience) leave() error {
	a.cancel()
	a.left.Wait()
	return a.err
}

// refresh requests the changes since a version and returns the current version.
func (a *audience) refresh(ctx context.Context, address, token, version string) string {
	began := time.Now()
	next, body, err := poll(ctx, address+"/", token, version)
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil { // the viewers have left
		return version
	}
	if a.err = errors.Join(a.err, err); err != nil || body == nil {
		return version
	}
	a.took, a.bytes = append(a.took, time.Since(began)), a.bytes+len(body)
	return next
}

// poll reads the parts of a page unless they still have the given version.
func poll(ctx context.Context, url, token, version string) (next string, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	r.Header = http.Header{"X-Fragment": {"notices,summary,facets,rows,leases"}, "If-None-Match": {version}, "Authorization": {"Bearer " + token}}
	response, err := rig.Client.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusNotModified:
		return version, nil, nil
	case http.StatusOK:
		body, err = io.ReadAll(response.Body)
		return response.Header.Get("ETag"), body, err
	}
	return "", nil, fmt.Errorf("%s answers %s", url, response.Status)
}
