// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func all(types.NamespacedName) bool { return true }

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "argocd", Name: name}
}

func open(t *testing.T, h *Hub, wants func(types.NamespacedName) bool) *Stream {
	t.Helper()
	s, err := h.Open("viewer", wants)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// marks counts what a stream gets for some time.
func marks(t *testing.T, s *Stream, during time.Duration) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	for {
		if _, err := s.Next(ctx); err != nil {
			return n
		}
		n++
	}
}

func TestHub_loneChangeIsSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(nil)
		s := open(t, h, all)
		start := time.Now()
		h.Changed(key("a"))
		if _, err := s.Next(t.Context()); err != nil || time.Since(start) > 0 {
			t.Errorf("told after %s, %v", time.Since(start), err)
		}
	})
}

func TestHub_stormIsSentOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(nil)
		s := open(t, h, all)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					h.Changed(key("a"))
				case <-ctx.Done():
					return
				}
			}
		}()
		if n := marks(t, s, 10*time.Second); n < 9 || n > 11 {
			t.Errorf("%d marks in ten seconds", n)
		}
	})
}

// The last change of a storm is sent, too.
func TestHub_losesNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(nil)
		s := open(t, h, all)
		h.Changed(key("a"))
		if n := marks(t, s, time.Millisecond); n != 1 {
			t.Fatalf("%d marks", n)
		}
		h.Changed(key("a"))
		if n := marks(t, s, 5*time.Second); n != 1 {
			t.Errorf("%d marks for a change within the second", n)
		}
		if n := marks(t, s, 5*time.Second); n != 0 {
			t.Errorf("%d marks for nothing", n)
		}
	})
}

func TestHub_streamGetsWhatItWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(nil)
		a := open(t, h, func(k types.NamespacedName) bool { return k.Name == "a" })
		h.Changed(key("b"))
		if n := marks(t, a, 3*time.Second); n != 0 {
			t.Errorf("%d marks of another's change", n)
		}
		h.Changed(key("a"))
		if n := marks(t, a, 3*time.Second); n != 1 {
			t.Errorf("%d marks of its own", n)
		}
	})
}

// A moment is over when its end is sent, or when no stream is open. What is about to
// be sent is sent to who comes before that, too.
func TestMoments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(nil)
		h.Changed(key("a"))
		if m := h.Moment(); m != 0 {
			t.Errorf("moment %d of nobody", m)
		}
		s := open(t, h, func(k types.NamespacedName) bool { return k.Name == "a" })
		before := h.Moment()
		h.Changed(key("b"))
		if m := h.Moment(); m != before+1 {
			t.Errorf("moment %d after %d and a change that nobody is told of", m, before)
		}
		h.Changed(key("a"))
		if n := marks(t, s, time.Millisecond); n != 1 || h.Moment() != before+2 {
			t.Errorf("moment %d after %d marks", h.Moment(), n)
		}
		h.Changed(key("a"))
		h.Changed(key("a"))
		late := open(t, h, all)
		if m := h.Moment(); m != before+2 {
			t.Errorf("moment %d before its end is told", m)
		}
		if n := marks(t, late, 5*time.Second); n != 1 || h.Moment() != before+3 {
			t.Errorf("who came late was told %d times, moment %d", n, h.Moment())
		}
		if n := marks(t, s, time.Millisecond); n != 1 {
			t.Errorf("%d marks for two changes", n)
		}
	})
}

func TestLimits(t *testing.T) {
	ended := 0
	h := New(func() { ended++ })
	var streams []*Stream
	for n := range MaxStreams {
		s, err := h.Open(fmt.Sprint(n/MaxUserStreams), all)
		if err != nil {
			t.Fatalf("stream %d: %v", n, err)
		}
		streams = append(streams, s)
	}
	if _, err := h.Open("one more", all); !errors.Is(err, ErrTooMany) {
		t.Errorf("beyond all: %v", err)
	}
	for _, s := range streams[MaxUserStreams:] {
		s.Close()
	}
	if _, err := h.Open("0", all); !errors.Is(err, ErrTooMany) {
		t.Errorf("beyond one user's: %v", err)
	}
	if ended != 0 {
		t.Error("the last stream has not ended")
	}
	for _, s := range streams[:MaxUserStreams] {
		s.Close()
	}
	if ended != 1 || h.Streams() != 0 || len(h.users) != 0 {
		t.Errorf("ended %d times, %d streams, %d users", ended, h.Streams(), len(h.users))
	}
}
