// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"
)

// The operations of a patch change the right label or annotation, whatever its key is, and whether or not the
// map exists.
func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		reason        string
		current, want map[string]string
		others        bool
		patch         string
	}{
		"same":    {reason: "nothing differs", current: map[string]string{"a/b": "1", "x": "theirs"}, want: map[string]string{"a/b": "1"}},
		"changed": {reason: "a slash in a key is no step", current: map[string]string{"a/b": "1"}, want: map[string]string{"a/b": "2"}, patch: `[{"op":"add","path":"/m/a~1b","value":"2"}]`},
		"tilde":   {reason: "nor is a tilde an escape", current: map[string]string{"x": ""}, want: map[string]string{"c~d": ""}, patch: `[{"op":"add","path":"/m/c~0d","value":""}]`},
		"removed": {reason: "what is not wanted goes", current: map[string]string{"a/b": "1"}, patch: `[{"op":"remove","path":"/m/a~1b"}]`},
		"no map":  {reason: "a map that is not there is made first", want: map[string]string{"a/b": "1"}, patch: `[{"op":"add","path":"/m","value":{}},{"op":"add","path":"/m/a~1b","value":"1"}]`},
		"no keys": {reason: "and not for nothing"},
		"others":  {reason: "a map with keys of others only is there, and not made anew", others: true, want: map[string]string{"a/b": "1"}, patch: `[{"op":"add","path":"/m/a~1b","value":"1"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if patch := changes("/m", c.others || len(c.current) > 0, c.current, c.want, []string{"a/b", "c~d"}); patch != nil {
				raw, err := json.Marshal(patch)
				if err != nil {
					t.Fatal(err)
				}
				got = string(raw)
			}
			if got != c.patch {
				t.Errorf("%s: %s, want %s", c.reason, got, c.patch)
			}
		})
	}
}
