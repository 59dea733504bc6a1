// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long an event may take on a busy machine.
const patience = 30 * time.Second

type watched struct {
	t    *testing.T
	keys chan Key
}

func startWatch(t *testing.T, s *Store) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{t: t, keys: make(chan Key, 100)}
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, func(namespace, name string) error {
			w.keys <- Key{namespace, name}
			return nil
		}, func(error) {})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
	return w
}

func (w *watched) expect(what string, want Key) {
	w.t.Helper()
	select {
	case got := <-w.keys:
		if got != want {
			w.t.Fatalf("%s: told %s, want %s", what, got, want)
		}
	case <-time.After(patience):
		w.t.Fatalf("%s: nothing told of %s", what, want)
	}
}

func write(t *testing.T, s *Store, k Key, applications int) {
	t.Helper()
	if err := s.Write(&Report{Namespace: k.Namespace, Name: k.Name, Applications: slices.Repeat(sample().Applications[1:], applications)}); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	s := NewStore(t.TempDir())
	a, b := Key{"a", "a"}, Key{strings.Repeat("n", 63), strings.Repeat("b", 253)}
	write(t, s, a, 0)
	w := startWatch(t, s)
	w.expect("there at start", a)
	write(t, s, a, 0)
	w.expect("replaced by the same bytes", a)
	write(t, s, b, 1)
	w.expect("new, with a shortened name", b)
	put(t, s, "README", "a foreign file")
	put(t, s, "a_a.json", "garbage")
	w.expect("damaged", a)
	if err := s.Remove(b.Namespace, b.Name); err != nil {
		t.Fatal(err)
	}
	w.expect("removed, with a shortened name", b)
}

func TestWatchSurvivesItsDirectory(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "not", "yet"))
	a := Key{"a", "a"}
	w := startWatch(t, s)
	for _, round := range []string{"created", "created again"} {
		if err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		write(t, s, a, 0)
		w.expect(round, a)
		if err := os.RemoveAll(s.dir); err != nil {
			t.Fatal(err)
		}
		w.expect("gone after being "+round, a)
	}
}

// What stood in the way of a read may pass without a trace in the file.
func TestWatchTriesAgainWhatCouldNotBeRead(t *testing.T) {
	s := NewStore(t.TempDir())
	a, b := Key{"a", "a"}, Key{"b", "b"}
	write(t, s, a, 0)
	write(t, s, b, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := map[Key]int{}
	var before map[Key]int // what was told when the directory had been listed
	err := s.Watch(ctx, func(namespace, name string) error {
		k := Key{namespace, name}
		told[k]++
		if k == a && told[a] < 2 {
			return syscall.EMFILE
		}
		if k == a {
			cancel()
		}
		return nil
	}, func(err error) {
		if err != nil {
			t.Errorf("the directory was listed with error %v", err)
		}
		before = maps.Clone(told)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[Key]int{a: 1, b: 1}; !maps.Equal(before, want) {
		t.Errorf("told %v before the list was complete, want %v", before, want)
	}
	if want := map[Key]int{a: 2, b: 1}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v: what failed until it does not, and nothing else", told, want)
	}
}
