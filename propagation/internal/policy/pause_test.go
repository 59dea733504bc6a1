// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
	"time"
)

func TestParsePause(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reason, value, want string
		left                time.Duration
		bad                 bool
	}{
		{reason: "no annotation"},
		{reason: "until somebody ends it", value: "delivery", want: PauseDelivery},
		{reason: "for an hour", value: "sync until 2026-11-21T13:00:00Z", want: PauseSync, left: time.Hour},
		{reason: "another zone", value: " sync  until 2026-11-21T14:00:00+01:00 ", want: PauseSync, left: time.Hour},
		{reason: "its time has passed", value: "sync until 2026-11-21T12:00:00Z"},
		{reason: "the first of all times has passed, too", value: "delivery until 0001-01-01T00:00:00Z"},
		{reason: "however it is written", value: "sync until 0001-01-01T01:00:00+01:00"},
		{reason: "a word that is none keeps things as they are", value: "true", want: PauseDelivery, bad: true},
		{reason: "a time that is none", value: "sync until later", want: PauseDelivery, bad: true},
		{reason: "half a time", value: "delivery until", want: PauseDelivery, bad: true},
		{reason: "another form", value: "delivery for 2026-11-21T13:00:00Z", want: PauseDelivery, bad: true},
	} {
		p := ParsePause(c.value, "Namespace team", now)
		if p.Mode != c.want || (p.Problem != "") != c.bad || p.Left(now) != c.left {
			t.Errorf("%s: %q is %+v", c.reason, c.value, p)
		}
		text := p.Decision("changes wait").Refusal.Text
		if c.want != "" && (!strings.Contains(text, "Namespace team") || c.bad && !strings.Contains(text, "want delivery or sync")) {
			t.Errorf("%s: it says %q", c.reason, text)
		}
	}
}

func TestStrongestPause(t *testing.T) {
	delivery, sync := Pause{Mode: PauseDelivery}, Pause{Mode: PauseSync}
	for _, c := range []struct {
		reason string
		of     []Pause
		want   string
	}{
		{"none", []Pause{{}, {}}, ""},
		{"one", []Pause{{}, delivery, {}}, PauseDelivery},
		{"sync first", []Pause{sync, delivery}, PauseSync},
		{"sync last", []Pause{delivery, sync}, PauseSync},
	} {
		if got := StrongestPause(c.of...); got.Mode != c.want {
			t.Errorf("%s: %q", c.reason, got.Mode)
		}
	}
}
