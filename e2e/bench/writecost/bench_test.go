// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package writecost

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	writers = 4 // in parallel
	each    = 5 // objects of a writer
	times   = 2 // number of writes of each object in a turn
)

// BenchmarkWrite compares the ways to write.
func BenchmarkWrite(b *testing.B) {
	s := start(b)
	s.install(b)
	wanted := regexp.MustCompile(os.Getenv("WRITECOST"))
	chosen := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w.name != unit && !wanted.MatchString(w.name) })
	objects := map[string][]*object{}
	for _, w := range chosen {
		for n := len(objects[w.objects]); n < writers*each; n++ {
			o, err := s.prepare(b.Context(), w.objects, n)
			if err != nil {
				b.Fatal(err)
			}
			objects[w.objects] = append(objects[w.objects], o)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	costs := map[string]*cost{}
	round := func() {
		for _, i := range random.Perm(len(chosen)) {
			w := chosen[i]
			if costs[w.name] == nil {
				costs[w.name] = &cost{}
			}
			s.turn(b, w, objects[w.objects], costs[w.name])
		}
	}
	round() // fills caches, opens connections and compiles schemas
	clear(costs)
	for b.Loop() {
		round()
	}
	fmt.Print("\n", table(chosen, costs)) // the log of a benchmark has at most ten lines
	s.profiles(b, chosen, objects)
}

var revisions atomic.Int64

// cost is the cost of many turns of a way. The server also collects garbage in turns of other ways, so a
// single turn shows little. The allocated bytes show the later cost of the collection.
type cost struct {
	writes    int
	cpu       time.Duration
	allocated float64
}

// turn writes each object some times and adds the server's cost.
func (s *server) turn(b *testing.B, w way, objects []*object, to *cost) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var seen []*atomic.Int64
	for range w.watchers {
		seen = append(seen, s.watch(ctx, b, w.watched))
	}
	scrape := -s.allocated(b)
	allocated := s.allocated(b)
	scrape += allocated // the allocation of reading the metrics
	before := s.used(b)
	s.write(ctx, b, w, objects)
	for _, n := range seen {
		testkit.Until(b, "the watchers to have seen every write", func() bool { return n.Load() >= int64(len(objects)*times) })
	}
	to.cpu += s.used(b) - before
	to.allocated += s.allocated(b) - allocated - scrape
	to.writes += len(objects) * times
}

func (s *server) write(ctx context.Context, b *testing.B, w way, objects []*object) {
	b.Helper()
	var group sync.WaitGroup
	for part := range slices.Chunk(objects, each) {
		group.Go(func() {
			for range times {
				for _, o := range part {
					if err := s.once(ctx, w, o); err != nil {
						b.Errorf("%s: %v", w.name, err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func (s *server) once(ctx context.Context, w way, o *object) (err error) {
	o.writes++
	answer, err := s.do(ctx, w.to(o, simulate.Revision(int(revisions.Add(1)))))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(answer), "k8s") {
		o.body = answer
	}
	o.version, err = version(answer)
	return err
}

// watch follows objects from now on over a separate connection, and counts events.
func (s *server) watch(ctx context.Context, b *testing.B, what call) *atomic.Int64 {
	b.Helper()
	own, err := connection(s.config)
	if err != nil {
		b.Fatal(err)
	}
	list, err := s.do(ctx, call{method: http.MethodGet, path: what.path + "?limit=1"})
	if err != nil {
		b.Fatal(err)
	}
	from, err := version(list)
	if err != nil {
		b.Fatal(err)
	}
	what.path += "?watch=1&resourceVersion=" + from
	response, err := send(ctx, own, s.base, what) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		b.Fatal(err)
	}
	var events atomic.Int64
	go func() {
		defer own.CloseIdleConnections()
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewReader(response.Body); ; events.Add(1) {
			if _, err := lines.ReadBytes('\n'); err != nil {
				return
			}
		}
	}()
	return &events
}

// profiles saves a CPU profile of the server for each way, during turns of that way alone.
func (s *server) profiles(b *testing.B, chosen []way, objects map[string][]*object) {
	folder := os.Getenv("WRITECOST_PROFILES")
	for _, w := range chosen {
		if folder == "" {
			return
		}
		const seconds = 10
		done := make(chan error, 1)
		go func() {
			profile, err := s.do(b.Context(), call{method: http.MethodGet, path: fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), accept: "*/*"})
			done <- cmp.Or(err, os.WriteFile(filepath.Join(folder, strings.NewReplacer(" ", "-", "/", "", ":", "", "'", "", ",", "").Replace(w.name)+".pprof"), profile, 0o600))
		}()
		for ended := false; !ended; {
			s.turn(b, w, objects[w.objects], &cost{})
			select {
			case err := <-done:
				if err != nil {
					b.Error(err)
				}
				ended = true
			default:
			}
		}
	}
}

// table returns the cost of each way, and its ratio to the unit's cost.
func table(chosen []way, costs map[string]*cost) string {
	var out strings.Builder
	per := func(name string) (cpu, allocated float64) {
		c := costs[name]
		return c.cpu.Seconds() * 1000 / float64(c.writes), c.allocated / 1024 / float64(c.writes)
	}
	cpu, allocated := per(unit)
	for _, w := range chosen {
		c, a := per(w.name)
		_, _ = fmt.Fprintf(&out, "%-30s %6.2f ms  %5.2f x  %7.0f KiB %5.2f x, %d writes\n", w.name, c, c/cpu, a, a/allocated, costs[w.name].writes)
	}
	return out.String()
}
