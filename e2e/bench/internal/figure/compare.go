// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import "fmt"

// usualNoise is the factor by which repeated runs differ, by unit. Other units depend on the speed of the
// machine, and [Worse] does not compare them.
var usualNoise = map[string]float64{
	"×":   1.35,
	"MiB": 1.12,
	"KB":  1.15, // memory of the Applications, without the program's own memory
	"":    1,
}

// Worse returns the rows of now that are worse than the rows of before, beyond the noise of repeated runs.
// It compares ratios, counts and memory, which mean the same on every machine. Beside has the earlier
// value. A row that before does not have is new and not worse. Worse also returns each row that now does
// not have, because nothing measures it any more.
func Worse(before, now *Results) []Row {
	found := map[string]Row{}
	for _, r := range now.Rows {
		found[r.What] = r
	}
	var worse []Row
	for _, was := range before.Rows {
		r, measured := found[was.What]
		was.Noise = max(was.Noise, r.Noise) // older results do not have it
		_, comparable := usualNoise[was.Unit]
		switch {
		case !comparable || was.Comparison == Informative:
		case !measured:
			was.Beside = "not measured; it was " + was.value()
			worse = append(worse, was)
		case r.worseThan(was):
			r.Comparison, r.Target, r.Beside = was.Comparison, was.bound(), "it was "+was.value()
			worse = append(worse, r)
		}
	}
	return worse
}

// bound is the value that a later run may reach before it counts as worse than r.
func (r Row) bound() float64 {
	noise := r.Noise
	if noise == 0 {
		noise = usualNoise[r.Unit]
	}
	switch {
	case r.Comparison == AtLeast:
		return r.Value / noise
	case r.Unit == "" && r.Value > 0:
		return r.Value*noise + 1 // the start of a batch may cost one more write
	}
	return r.Value * noise
}

func (r Row) worseThan(was Row) bool {
	r.Comparison, r.Target = was.Comparison, was.bound()
	return r.Verdict() == "missed"
}

// CompareText describes the result of [Worse].
func CompareText(before, now *Results) string {
	worse := Worse(before, now)
	if len(worse) == 0 {
		return fmt.Sprintf("No ratio, count or memory is worse than in the results of %s, beyond the noise of repeated runs.", before.Commit)
	}
	return fmt.Sprintf("Worse than in the results of %s, beyond the noise of repeated runs:\n%s", before.Commit, Table(worse))
}
