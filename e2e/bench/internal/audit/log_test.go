// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"path/filepath"
	"testing"
)

// The log file appears late and its lines arrive in pieces. The reader loses no line and reads none twice.
func TestLog_readsEachLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	l := Open(path)
	defer l.Close()
	if l.Mark() != 0 {
		t.Error("a log that is not there has entries")
	}
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
		if got, want := l.Mark(), []int{1, 1, 3}[i]; got != want {
			t.Errorf("after piece %d there are %d entries, want %d", i, got, want)
		}
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

// A log that is not JSON is an error and not an idle fleet.
func TestLog_rejectsALineThatIsNotJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte("not json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := Open(path)
	defer l.Close()
	if _, err := l.Since(0, func(*Entry) bool { return true }); err == nil {
		t.Error("no error")
	}
}
