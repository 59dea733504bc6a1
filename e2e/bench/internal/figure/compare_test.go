// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"strings"
	"testing"
)

func TestWorse(t *testing.T) {
	cases := map[string]struct {
		reason      string
		before, now Row
		worse       bool
	}{
		"slower":        {"a throughput below the noise", Row{Value: 0.8, Unit: "×", Comparison: AtLeast}, Row{Value: 0.5, Unit: "×"}, true},
		"noisy":         {"or within it", Row{Value: 0.8, Unit: "×", Comparison: AtLeast}, Row{Value: 0.7, Unit: "×"}, false},
		"better":        {"more is no harm", Row{Value: 0.5, Unit: "×", Comparison: AtLeast}, Row{Value: 2, Unit: "×"}, false},
		"dearer":        {"a cost above the noise", Row{Value: 1, Unit: "×", Comparison: AtMost}, Row{Value: 1.4, Unit: "×"}, true},
		"known noise":   {"a row may have a noise of its own", Row{Value: 1, Unit: "×", Comparison: AtMost, Noise: 1.8}, Row{Value: 1.7, Unit: "×"}, false},
		"noise of now":  {"which older results do not say", Row{Value: 1, Unit: "×", Comparison: AtMost}, Row{Value: 1.7, Unit: "×", Noise: 1.8}, false},
		"memory":        {"memory differs little between runs", Row{Value: 100, Unit: "MiB", Comparison: AtMost}, Row{Value: 113, Unit: "MiB"}, true},
		"little memory": {"a tenth is noise", Row{Value: 100, Unit: "MiB", Comparison: AtMost}, Row{Value: 110, Unit: "MiB"}, false},
		"nothing":       {"what was nothing stays nothing", Row{Value: 0, Comparison: AtMost}, Row{Value: 1}, true},
		"one write":     {"a burst may need one write more", Row{Value: 2, Comparison: AtMost}, Row{Value: 3}, false},
		"two writes":    {"not two", Row{Value: 2, Comparison: AtMost}, Row{Value: 4}, true},
		"seconds":       {"seconds are the machine's", Row{Value: 1, Unit: "s", Comparison: AtMost}, Row{Value: 9, Unit: "s"}, false},
		"informative":   {"no side is the better one", Row{Value: 1, Unit: "×"}, Row{Value: 9, Unit: "×"}, false},
		"not a number":  {"a broken ratio is worse than any", Row{Value: 1, Unit: "×", Comparison: AtMost}, Row{Value: nan(), Unit: "×"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.before.What, c.now.What = "it", "it"
			if got := Worse(&Results{Rows: []Row{c.before}}, &Results{Rows: []Row{c.now, {What: "new", Value: 7, Comparison: AtMost}}}); (len(got) == 1) != c.worse {
				t.Errorf("%s: worse are %v", c.reason, got)
			}
		})
	}
}

func TestCompareText(t *testing.T) {
	before := &Results{Commit: "abc", Rows: []Row{{What: "speed", Value: 0.8, Unit: "×", Comparison: AtLeast, Target: 0.7}, {What: "writes", Comparison: AtMost}}}
	same := CompareText(before, before)
	if !strings.HasPrefix(same, "No ratio") || !strings.Contains(same, "abc") {
		t.Errorf("nothing differs: %s", same)
	}
	text := CompareText(before, &Results{Rows: []Row{{What: "speed", Value: 0.4, Unit: "×"}}})
	for _, want := range []string{"speed", "0.4 ×", "it was 0.8 ×", "writes", "not measured"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said:\n%s", want, text)
		}
	}
}
