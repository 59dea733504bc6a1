// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The log appears late and its lines come in pieces; none is lost or read twice.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := Follow(t.Context(), path)
	line := event("ResponseComplete", "create", `"objectRef":{"resource":"manifestworks","name":"w"},`, "/x") + "\n"
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i, piece := range []string{line, line[:40], line[40:] + line} {
		if _, err := file.WriteString(piece); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the entries", func() error {
			if got, want := l.Mark(), []int{1, 1, 3}[i]; got != want {
				return fmt.Errorf("there are %d, want %d", got, want)
			}
			return nil
		})
	}
	creates := func(e *Entry) bool { return e.Verb == "create" }
	found, err := l.Since(1, creates)
	if err != nil || len(found) != 2 {
		t.Errorf("since the first: %d, %v", len(found), err)
	}
	if l.Last(creates).IsZero() || !l.Last(func(*Entry) bool { return false }).IsZero() {
		t.Error("the last request is not found, or one that is not there")
	}
}

// A log that cannot be understood is an error, not an idle fleet.
func TestFollowSaysWhatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte("not json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := Follow(t.Context(), path)
	testkit.Until(t, "the error", func() bool {
		_, err := l.Since(0, func(*Entry) bool { return true })
		return err != nil
	})
}
