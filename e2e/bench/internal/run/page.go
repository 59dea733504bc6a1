// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// Changes while the page is looked at.
const (
	pageRate    = 20
	pageChanges = 15 * pageRate
	// atRest is the processor time that a standby without work uses at most while [silence] lasts.
	atRest = 50 * time.Millisecond
)

// sides are two standbys of aggregation that follow the same changes.
type sides struct {
	with, without *env.Process
	// one is what a refresh costs in milliseconds of processor time while one looks.
	one float64
}

// page measures what the page costs aggregation: a standby with it beside one without,
// with nobody, one and ten looking at the first page.
func page(ctx context.Context, b *bench) (err error) {
	s, err := startSides(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.with.Stop(ctx), s.without.Stop(ctx)) }()
	for _, n := range []int{0, 1, 10} {
		if err := watchPage(ctx, b, s, n); err != nil {
			return fmt.Errorf("%d looking: %w", n, err)
		}
	}
	return b.awaitStatuses(ctx)
}

func startSides(ctx context.Context, b *bench) (s *sides, err error) {
	s = &sides{}
	if err := b.fleet.GrantPage(ctx); err != nil {
		return s, err
	}
	port, err := b.fleet.FreePort()
	if err != nil {
		return s, err
	}
	arguments := b.arguments(env.Aggregation)
	if s.without, err = b.fleet.StartStandby(ctx, env.Aggregation, 1, arguments...); err != nil {
		return s, err
	}
	arguments = append(arguments, "--page-secure=false", "--page-bind-address="+net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if s.with, err = b.fleet.StartStandby(ctx, env.Aggregation, 2, arguments...); err != nil {
		return s, err
	}
	return s, s.awaitRead(ctx)
}

// awaitRead waits until both have read the fleet, which the page does once it is ready:
// until they use next to nothing.
func (s *sides) awaitRead(ctx context.Context) error {
	last, err := s.usages()
	if err != nil {
		return err
	}
	since := time.Now()
	return env.WaitFor(ctx, patience, "both standbys to have read the fleet", func(context.Context) (bool, string) {
		now, err := s.usages()
		if err != nil {
			return false, err.Error()
		}
		for i := range now {
			if now[i].CPU > last[i].CPU+atRest {
				last, since = now, time.Now()
			}
		}
		return time.Since(since) > silence, fmt.Sprintf("they used %s and %s", now[0].CPU, now[1].CPU)
	})
}

// watchPage makes changes while viewers look and makes the rows of what that cost.
func watchPage(ctx context.Context, b *bench, s *sides, viewers int) error {
	a, err := openPages(ctx, b, s.with, viewers)
	if err != nil {
		return err
	}
	before, err := s.usages()
	if err != nil {
		return errors.Join(err, a.leave())
	}
	began := time.Now()
	changes := b.draw(b.apps, pageChanges)
	err = paced(ctx, len(changes), pageRate, func(ctx context.Context, i int) error { return b.send(ctx, changes[i]) })
	took := time.Since(began)
	after, usageErr := s.usages()
	if err := errors.Join(err, usageErr, a.leave()); err != nil {
		return err
	}
	if viewers > 0 && a.refreshes() == 0 {
		return fmt.Errorf("nobody was told of any of %d changes", len(changes))
	}
	pageRows(b, s, viewers, a, before, after, took)
	return b.awaitNoWrites(ctx, silence)
}

// usages are of the side with the page and of that without.
func (s *sides) usages() (both [2]process.Usage, err error) {
	for i, p := range []*env.Process{s.with, s.without} {
		var one error
		both[i], one = process.Of(p.PID())
		err = errors.Join(err, one)
	}
	return both, err
}

// pageRows makes the rows of one number of viewers.
func pageRows(b *bench, s *sides, viewers int, a *audience, before, after [2]process.Usage, took time.Duration) {
	with, without := after[0].CPU-before[0].CPU, after[1].CPU-before[1].CPU
	beside := fmt.Sprintf("%s against %s in %s, at %d changes/s", with, without, round(took), pageRate)
	b.row(figure.Row{
		What:  fmt.Sprintf("page, %d looking: memory of aggregation against one without the page", viewers),
		Value: float64(after[0].Resident) / float64(after[1].Resident), Unit: "×", Comparison: figure.AtMost, Target: 1.25,
		Beside: fmt.Sprintf("%.1f MiB against %.1f MiB resident, both standbys at %d Applications", mebibytes(after[0].Resident), mebibytes(after[1].Resident), len(b.apps)),
	})
	if viewers == 0 {
		// A change is an event of the ManifestWork and, for the page, one of the Application.
		b.row(figure.Row{
			What:  "page, nobody looking: CPU of aggregation against one without the page",
			Value: float64(with) / float64(max(without, 1)), Unit: "×", Comparison: figure.AtMost, Target: 2, Beside: beside,
		})
		return
	}
	b.row(figure.Row{
		What:  fmt.Sprintf("page, %d looking: CPU of aggregation beyond one without the page", viewers),
		Value: 100 * float64(with-without) / float64(took), Unit: "%", Comparison: figure.AtMost, Target: 5,
		Beside: fmt.Sprintf("of a core; %s; %d refreshes of %.0f KiB, p50/p99 %.0f/%.0f ms", beside, a.refreshes(), a.size(), a.times().Percentile(50), a.times().Percentile(99)),
	})
	each := float64(with-without) / float64(time.Millisecond) / float64(a.refreshes())
	if viewers == 1 {
		s.one = each
		return
	}
	b.row(figure.Row{
		What: fmt.Sprintf("page: CPU of a refresh, %d looking against one", viewers), Value: each / max(s.one, 0.1), Unit: "×", Comparison: figure.AtMost, Target: 1.25,
		Beside: fmt.Sprintf("%.1f ms against %.1f ms: what all see is put together once", each, s.one),
	})
}
