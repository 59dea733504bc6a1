// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The group may read a report, because the containers of the pod may run as different users of one group.
func TestWrite_allowsTheGroupToRead(t *testing.T) {
	s := NewStore(t.TempDir())
	for range 2 { // created, then replaced
		if err := s.Write(sample()); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(s.dir, "argocd_guestbook.json"))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o640 {
			t.Errorf("mode %o, want 640", got)
		}
	}
}

func TestWrite_refusesALargeReport(t *testing.T) {
	s := NewStore(t.TempDir())
	if err := s.Write(sample()); err != nil {
		t.Fatal(err)
	}
	r := sample()
	r.Applications[0].Conditions[0].Message = strings.Repeat("x", MaxReportBytes)
	if err := s.Write(r); err == nil || !strings.Contains(err.Error(), "argocd/guestbook") {
		t.Errorf("got %v", err)
	}
	if got, err := s.Read("argocd", "guestbook"); err != nil || len(got.Applications) != 2 {
		t.Errorf("the report before: %+v, %v", got, err)
	}
}

func TestLastSuccess(t *testing.T) {
	s := NewStore(t.TempDir())
	if at, err := s.LastSuccess(); err != nil || !at.IsZero() {
		t.Errorf("before the first: %v, %v", at, err)
	}
	want := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for range 2 {
		want = want.Add(10 * time.Second)
		if err := s.SetLastSuccess(want); err != nil {
			t.Fatal(err)
		}
		if at, err := s.LastSuccess(); err != nil || !at.Equal(want) {
			t.Errorf("got %v, %v; want %v", at, err, want)
		}
	}
	if keys, err := s.List(); err != nil || len(keys) != 0 {
		t.Errorf("it is no report: %v, %v", keys, err)
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if at, err := s.LastSuccess(); err != nil || !at.Equal(want) {
		t.Errorf("a new writer forgets it: %v, %v", at, err)
	}
	gone := NewStore(filepath.Join(s.dir, "none"))
	if err := gone.SetLastSuccess(want); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}
