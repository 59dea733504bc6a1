// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSealer_opensOnlyItsOwnSessions(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	other, err := New()
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.Seal("a token", now)
	last := "A"
	if strings.HasSuffix(sealed, "A") {
		last = "B"
	}
	for name, test := range map[string]struct {
		why, value string
		sealer     *Sealer
		at         time.Time
		want       string
	}{
		"own":           {"what was sealed is opened", sealed, s, now, "a token"},
		"hours later":   {"a session lasts a working day", sealed, s, now.Add(11 * time.Hour), "a token"},
		"a day later":   {"a cookie that was copied is not for ever", sealed, s, now.Add(24 * time.Hour), ""},
		"other process": {"after a restart one logs in again", sealed, other, now, ""},
		"changed":       {"a byte less or more is not ours", sealed[:len(sealed)-5] + last + sealed[len(sealed)-4:], s, now, ""},
		"cut":           {"nor is a part", sealed[:20], s, now, ""},
		"text":          {"nor is anything else", "a token", s, now, ""},
		"empty":         {"nor is nothing", "", s, now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.sealer.Open(test.value, test.at)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("%s: %q, %v", test.why, got, err)
			}
			if err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v", err)
			}
		})
	}
	if strings.Contains(sealed, "token") || sealed == s.Seal("a token", now) {
		t.Error("the seal shows what is in it")
	}
	if n := len(s.Seal(strings.Repeat("x", MaxToken), now)); n > 4000 {
		t.Errorf("the longest token makes a cookie of %d bytes", n)
	}
}
