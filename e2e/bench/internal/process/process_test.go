// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"
	"time"
)

func TestCPU(t *testing.T) {
	cases := map[string]struct {
		reason string
		stat   string
		want   time.Duration
		fails  bool
	}{
		"plain": {"user and system time add up", "42 (bench) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 100 1 1", 2 * time.Second, false},
		"name":  {"a name may look like fields", "42 (a) b) 9 9) S 1 42 42 0 -1 4194560 1 2 3 4 1 2 0 0", 30 * time.Millisecond, false},
		"short": {"too few fields are no zero", "42 (bench) S 1 42", 0, true},
		"none":  {"no name is no process", "", 0, true},
		"text":  {"a field that is no number is no zero", "42 (bench) S 1 42 42 0 -1 4194560 1 2 3 4 x 50 0", 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := cpu([]byte(c.stat))
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("%s: got %v, %v", c.reason, got, err)
			}
		})
	}
}

func TestOfSelf(t *testing.T) {
	u, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if u.Resident < 1<<20 || u.Peak < u.Resident {
		t.Errorf("this very process: %+v", u)
	}
	if _, err := Of(-1); err == nil {
		t.Error("a process that cannot be has a usage")
	}
}
