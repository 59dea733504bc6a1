// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// state is the content of all reports at one time.
type state []intermediate.Application

func (s state) apps() int { return len(s) }

func (s state) resources() int {
	n := 0
	for _, app := range s {
		n += len(app.Resources)
	}
	return n
}

// stale counts the Applications with old data.
func (s state) stale() int {
	n := 0
	for _, app := range s {
		if app.StaleSince != nil {
			n++
		}
	}
	return n
}

// held counts the resources that resourcesync keeps although search does not return them any more.
func (s state) held() int {
	n := 0
	for _, app := range s {
		n += len(app.HeldResources)
	}
	return n
}

// of returns the Applications on clusters.
func (s state) of(clusters ...string) state {
	return slices.DeleteFunc(slices.Clone(s), func(a intermediate.Application) bool { return !slices.Contains(clusters, a.Cluster) })
}

// but returns the Applications on other clusters.
func (s state) but(cluster string) state {
	return slices.DeleteFunc(slices.Clone(s), func(a intermediate.Application) bool { return a.Cluster == cluster })
}

func (s state) String() string {
	return fmt.Sprintf("%d Applications, %d of them stale, with %d resources", s.apps(), s.stale(), s.resources())
}

// witness reads the reports continuously, like aggregation, and records the first violation of its rule.
type witness struct {
	store *intermediate.Store
	stop  context.CancelFunc
	ended chan struct{}

	mu     sync.Mutex
	now    state
	rule   func(state) error
	broken error
}

// observe starts a witness, which stops when the test ends.
func observe(t *testing.T, dir string) *witness {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &witness{store: intermediate.NewStore(dir), stop: stop, ended: make(chan struct{})}
	go w.watch(ctx)
	t.Cleanup(func() {
		w.stop()
		<-w.ended
		if w.broken != nil {
			t.Error(w.broken)
		}
	})
	return w
}

func (w *witness) watch(ctx context.Context) {
	defer close(w.ended)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.look()
		}
	}
}

// look reads all reports and checks them against the rule.
func (w *witness) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, err := w.read()
	if err == nil {
		w.now = seen
		if w.rule != nil {
			err = w.rule(seen)
		}
	}
	if err != nil && w.broken == nil {
		w.broken = fmt.Errorf("at %s: %w", time.Now().Format("15:04:05.000"), err)
	}
}

func (w *witness) read() (state, error) {
	var seen state
	for i := range fleet.Sets {
		report, err := w.store.Read(memory.Namespace, memory.SetName(i))
		if errors.Is(err, intermediate.ErrNone) {
			if w.rule != nil {
				return nil, fmt.Errorf("the report of %s is gone", memory.SetName(i))
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		seen = append(seen, report.Applications...)
	}
	return seen, nil
}

// always sets the rule for every state from now on.
func (w *witness) always(rule func(state) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule = rule
}

// eventually waits until the reports pass done.
func (w *witness) eventually(t *testing.T, what string, done func(state) bool) {
	t.Helper()
	testkit.Eventually(t, "reports in which "+what, func() error {
		w.mu.Lock()
		now, broken := w.now, w.broken
		w.mu.Unlock()
		if broken != nil {
			t.Fatalf("while waiting for %s: %v", what, broken)
		}
		if !done(now) {
			return fmt.Errorf("there are %s", now)
		}
		return nil
	})
}

// whole is the rule that no known data is lost: all Applications of the fleet have all their resources.
func whole(s state) error {
	if s.apps() != fleet.Clusters*fleet.Sets || s.resources() != fleet.Clusters*fleet.Sets*fleet.Resources {
		return fmt.Errorf("known data is lost: %s", s)
	}
	return nil
}

// aged is the rule that stale data has the right age. It is the time of the last good answer, which arrived
// between from and to. A report rounds to the second.
func aged(from, to time.Time) func(state) error {
	return func(s state) error {
		for _, app := range s {
			if app.StaleSince == nil {
				continue
			}
			if since := *app.StaleSince; since.Before(from.Truncate(time.Second)) || since.After(to) {
				return fmt.Errorf("%s/%s is said to be stale since %s, its last good answer came between %s and %s",
					app.Cluster, app.Name, since, from, to)
			}
		}
		return nil
	}
}

// fresh is the rule that no data is stale.
func fresh(s state) error {
	if s.stale() > 0 {
		return fmt.Errorf("something is stale: %s", s)
	}
	return nil
}

// all combines rules.
func all(rules ...func(state) error) func(state) error {
	return func(s state) error {
		for _, rule := range rules {
			if err := rule(s); err != nil {
				return err
			}
		}
		return nil
	}
}
