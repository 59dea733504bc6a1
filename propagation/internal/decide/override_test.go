// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestParseOverride(t *testing.T) {
	at := func(d time.Duration) string { return day.Add(d).Format(time.RFC3339) }
	for _, c := range []struct {
		reason, value string
		want          Effect
		refused       string
		until         time.Time // of a refused one
	}{
		{reason: "no annotation", value: ""},
		{reason: "approved for an hour", value: "approve until " + at(time.Hour), want: Approve},
		{reason: "white space does not matter", value: "  hold\tuntil  " + at(time.Hour) + "\n", want: Hold},
		{reason: "undo", value: "undo until " + at(89*24*time.Hour), want: Undo},
		{reason: "another zone", value: "approve until 2026-11-21T15:00:00+02:00", want: Approve},
		{reason: "its time has passed", value: "hold until " + at(-time.Second)},
		{reason: "its time is now", value: "approve until " + at(0)},
		{reason: "an approval is for a day", value: "approve until " + at(25*time.Hour), want: Hold, refused: "too far ahead, so it holds until " + at(time.Hour) + ", and takes effect then", until: day.Add(time.Hour)},
		{reason: "nothing is held for ever", value: "hold until " + at(91*24*time.Hour), want: Hold, refused: "too far ahead, so it holds until " + at(24*time.Hour), until: day.Add(24 * time.Hour)},
		{reason: "no end", value: "approve", want: Hold, refused: "form"},
		{reason: "no word", value: "yes until " + at(time.Hour), want: Hold, refused: `"yes" is no word`},
		{reason: "no time", value: "approve until tomorrow", want: Hold, refused: `"tomorrow" is no time`},
	} {
		got, err := ParseOverride(c.value, "namespace team", day)
		if got.Effect != c.want || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %q is %q, %v; want %q, %q", c.reason, c.value, got.Effect, err, c.want, c.refused)
		}
		if err != nil && !got.Until.Equal(c.until) {
			t.Errorf("%s: %q holds until %s, want %s", c.reason, c.value, got.Until, c.until)
		}
		if err != nil && !strings.Contains(err.Error(), `"undo until <time>"`) {
			t.Errorf("%s: the remedy is missing: %v", c.reason, err)
		}
	}
}

func TestStrongest(t *testing.T) {
	approve, hold, undo := Override{Effect: Approve}, Override{Effect: Hold}, Override{Effect: Undo}
	for _, c := range []struct {
		reason string
		of     []Override
		want   Effect
	}{
		{"nobody has decided", []Override{{}, {}}, None},
		{"an approval", []Override{{}, approve}, Approve},
		{"a hold wins over an approval", []Override{approve, hold}, Hold},
		{"undo holds, too", []Override{hold, undo, approve}, Undo},
	} {
		if got := Strongest(c.of...); got.Effect != c.want {
			t.Errorf("%s: %q", c.reason, got.Effect)
		}
	}
}
