// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
)

// compare uses only the committed results of the same size and fleet. The committed results are not worse
// than themselves.
func TestCompare_usesCommittedResultsOfTheSameSize(t *testing.T) {
	for _, size := range []string{"standard", "large"} {
		data, err := os.ReadFile("results/" + size + ".json")
		if err != nil {
			t.Fatal(err)
		}
		r := &figure.Results{}
		if err := json.Unmarshal(data, r); err != nil {
			t.Fatal(err)
		}
		if worse, err := compare("results", r); err != nil || worse != 0 {
			t.Errorf("%s: %d figures are worse than themselves (%v)", size, worse, err)
		}
		for i := range r.Rows {
			r.Rows[i].Value *= 3
		}
		if worse, err := compare("results", r); err != nil || worse == 0 {
			t.Errorf("%s: three times everything is not worse (%v)", size, err)
		}
		r.Fleet.Applications++
		if worse, err := compare("results", r); err != nil || worse != 0 {
			t.Errorf("%s: compared with a fleet of another size: %d worse (%v)", size, worse, err)
		}
	}
	if worse, err := compare(t.TempDir(), &figure.Results{Size: "standard"}); err != nil || worse != 0 {
		t.Errorf("without committed results: %d worse (%v)", worse, err)
	}
}
