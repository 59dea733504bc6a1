// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// soon is the longest time until a change is reported, which is the time to the next scan.
const soon = scanEvery + time.Millisecond

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
	case <-time.After(soon):
		w.t.Fatalf("%s: nothing told of %s", what, want)
	}
}

func write(t *testing.T, s *Store, k Key, applications int) {
	t.Helper()
	if err := s.Write(&Report{Namespace: k.Namespace, Name: k.Name, Applications: slices.Repeat(sample().Applications[1:], applications)}); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) { synctest.Test(t, testWatch) }

func testWatch(t *testing.T) {
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

func TestWatch_survivesItsDirectory(t *testing.T) { synctest.Test(t, testDirectory) }

func testDirectory(t *testing.T) {
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

// Watch retries a failed read, because its cause may end without a change of the file.
func TestWatch_retriesAFailedRead(t *testing.T) { synctest.Test(t, testTriesAgain) }

func testTriesAgain(t *testing.T) {
	s := NewStore(t.TempDir())
	a, b := Key{"a", "a"}, Key{"b", "b"}
	write(t, s, a, 0)
	write(t, s, b, 0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := map[Key]int{}
	var before map[Key]int // the reported keys when the directory had been listed
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

// Watch scans an idle directory of a hundred reports every second. With 1 ms an operation, that is 0.1 % of a
// core.
func BenchmarkScan_idle(b *testing.B) {
	s := NewStore(b.TempDir())
	for i := range 100 {
		if err := s.Write(&Report{Namespace: "argocd", Name: fmt.Sprintf("set-%d", i)}); err != nil {
			b.Fatal(err)
		}
	}
	told := 0
	w := &watch{store: s, changed: func(string, string) error { told++; return nil }, seen: map[string]fileState{}}
	if err := w.scan(); err != nil || told != 100 {
		b.Fatalf("told of %d reports, %v", told, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.scan(); err != nil || told != 100 {
			b.Fatalf("told of %d reports, %v", told, err)
		}
	}
}
