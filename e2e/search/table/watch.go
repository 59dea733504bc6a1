// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Operations of an event.
const (
	Insert = "INSERT"
	Update = "UPDATE"
	Delete = "DELETE"
)

// subscriberBuffer is the number of events that wait for a slow reader; the
// service drops what comes after, without a word.
const subscriberBuffer = 100

// Event is a change of a row.
type Event struct {
	UID       string
	Operation string
	// New and Old are the row after and before, with the stored JSON types; nil
	// where there was none.
	New, Old Item
	// Time is the time of the change.
	Time time.Time
}

// feed hands events to subscribers.
type feed struct {
	mu          sync.Mutex
	subscribers map[*subscriber]bool
}

type subscriber struct {
	matches func(*entry) bool
	events  chan Event
}

// Watch returns the changes of rows that match, and a function that ends them.
// A row that stops matching sends nothing, and events that no client fetches are
// dropped. A nil query matches everything.
func (t *Table) Watch(q *Query) (<-chan Event, func(), error) {
	matches := func(*entry) bool { return true }
	if q != nil {
		for _, filter := range q.Filters {
			if err := filter.watchable(); err != nil {
				return nil, nil, err
			}
		}
		if len(q.Filters) > 0 || len(q.Keywords) > 0 {
			var err error
			if matches, err = q.watchMatcher(); err != nil {
				return nil, nil, err
			}
		}
	}
	s := &subscriber{matches: matches, events: make(chan Event, subscriberBuffer)}
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	if t.feed.subscribers == nil {
		t.feed.subscribers = map[*subscriber]bool{}
	}
	t.feed.subscribers[s] = true
	return s.events, func() {
		t.feed.mu.Lock()
		defer t.feed.mu.Unlock()
		delete(t.feed.subscribers, s)
	}, nil
}

// Watchers returns the number of watches that have not been ended.
func (t *Table) Watchers() int {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	return len(t.feed.subscribers)
}

// watchable refuses what the subscription refuses.
func (f Filter) watchable() error {
	values := make([]string, 0, len(f.Values))
	for _, value := range f.Values {
		if value == nil {
			return errInternal
		}
		values = append(values, *value)
	}
	of := func(text string) string { return fmt.Sprintf("{Property: %s Values: %s} ", f.Property, text) }
	if len(values) == 0 {
		return errors.New("invalid filter. Values are required. " + of("[]"))
	}
	for _, value := range values {
		if f.Property != "label" {
			continue
		}
		if !strings.Contains(value, "=") {
			return errors.New("invalid filter. Value must be a key=value pair. " + of(value))
		}
		if strings.ContainsAny(value[:1], "!<>=") {
			return errors.New("invalid filter. Operators are not supported for label values. " + of(value))
		}
	}
	return nil
}

// watchMatcher is matcher over what an event carries: it has no cluster, so a
// filter on the cluster matches nothing. A wildcard does not go beyond a line.
func (q Query) watchMatcher() (func(*entry) bool, error) {
	q.Filters = slices.Clone(q.Filters)
	for i, filter := range q.Filters {
		if filter.Property == keyCluster {
			return func(*entry) bool { return false }, nil
		}
		q.Filters[i].oneLine = true
	}
	return q.matcher()
}

// tell hands an event about e to whom it concerns.
func (f *feed) tell(e *entry, event func() Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var told *Event
	for s := range f.subscribers {
		if !s.matches(e) {
			continue
		}
		if told == nil {
			made := event()
			made.Time = time.Now()
			told = &made
		}
		select {
		case s.events <- *told:
		default:
		}
	}
}
