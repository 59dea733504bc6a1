// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	at := func(d time.Duration) string { return start.Add(d).Format(time.RFC3339) }
	for _, c := range []struct {
		reason, value string
		want          Word
		refused       string
	}{
		{reason: "no annotation", value: ""},
		{reason: "approved for an hour", value: "approve until " + at(time.Hour), want: Approve},
		{reason: "white space does not matter", value: "  hold\tuntil  " + at(time.Hour) + "\n", want: Hold},
		{reason: "undo", value: "undo until " + at(89*24*time.Hour), want: Undo},
		{reason: "another zone", value: "approve until 2026-11-21T15:00:00+02:00", want: Approve},
		{reason: "its time has passed", value: "hold until " + at(-time.Second)},
		{reason: "its time is now", value: "approve until " + at(0)},
		{reason: "an approval is for a day", value: "approve until " + at(25*time.Hour), want: Hold, refused: "too far ahead"},
		{reason: "nothing is held for ever", value: "hold until " + at(91*24*time.Hour), want: Hold, refused: "too far ahead"},
		{reason: "no end", value: "approve", want: Hold, refused: "form"},
		{reason: "no word", value: "yes until " + at(time.Hour), want: Hold, refused: `"yes" is no word`},
		{reason: "no time", value: "approve until tomorrow", want: Hold, refused: `"tomorrow" is no time`},
	} {
		got, err := Parse(c.value, "namespace team", start)
		if got.Word != c.want || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %q is %q, %v; want %q, %q", c.reason, c.value, got.Word, err, c.want, c.refused)
		}
		if err != nil && !strings.Contains(err.Error(), `"undo until <time>"`) {
			t.Errorf("%s: the remedy is missing: %v", c.reason, err)
		}
	}
}

func TestStrongest(t *testing.T) {
	approve, hold, undo := Decision{Word: Approve}, Decision{Word: Hold}, Decision{Word: Undo}
	for _, c := range []struct {
		reason string
		of     []Decision
		want   Word
	}{
		{"nobody has decided", []Decision{{}, {}}, None},
		{"an approval", []Decision{{}, approve}, Approve},
		{"a hold wins over an approval", []Decision{approve, hold}, Hold},
		{"undo holds, too", []Decision{hold, undo, approve}, Undo},
	} {
		if got := Strongest(c.of...); got.Word != c.want {
			t.Errorf("%s: %q", c.reason, got.Word)
		}
	}
}

func TestEffective(t *testing.T) {
	approve, hold := Decision{Word: Approve}, Decision{Word: Hold}
	for _, c := range []struct {
		reason     string
		set        Decision
		gone       bool
		namespaces []Decision
		want       Word
	}{
		{"the ApplicationSet's hold wins over an approval", hold, false, []Decision{{}, approve}, Hold},
		{"but not once it is gone", hold, true, []Decision{{}, approve}, Approve},
		{"it counts then, too", hold, true, []Decision{{}, {}}, Hold},
		{"so does its approval", approve, true, nil, Approve},
		{"which a hold of the administrator's ends", approve, true, []Decision{hold, approve}, Hold},
	} {
		if got := Effective(c.set, c.gone, c.namespaces...); got.Word != c.want {
			t.Errorf("%s: %q", c.reason, got.Word)
		}
	}
}
