// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Results are the results of a run.
type Results struct {
	Size string `json:"size"`
	// Commit is the commit of the binaries.
	Commit string `json:"commit"`
	// Machine is the processor count and the load at the start.
	Machine Machine `json:"machine"`
	// APIServer is the environment of the API server where it differs from Go's defaults. A smaller heap
	// costs processor time.
	APIServer []string `json:"apiServerEnvironment,omitempty"`
	Fleet     Fleet    `json:"fleet"`
	Rows      []Row    `json:"rows"`
	Costs     []Cost   `json:"costs,omitempty"`
}

// Machine describes the machine of the run.
type Machine struct {
	Processors int     `json:"processors"`
	LoadBefore float64 `json:"loadBefore"`
}

// Fleet is the size of the simulated fleet.
type Fleet struct {
	Clusters     int `json:"clusters"`
	Sets         int `json:"applicationSets"`
	Applications int `json:"applications"`
}

// Cost is the cost of the binaries at one size of the fleet.
type Cost struct {
	Applications int `json:"applications"`
	// CPU is milliseconds of processor time per status change, by binary.
	CPU map[string]float64 `json:"cpuMsPerChange"`
	// Memory is the resident set in MiB, by binary.
	Memory map[string]float64 `json:"memoryMiB"`
}

// Missed returns the rows that do not reach their target.
func (r *Results) Missed() []Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Verdict() != "missed" })
}

// Regressions returns the missed rows that do not depend on the speed of the machine: ratios to a limit of
// the same machine, and counts.
func (r *Results) Regressions() []Row {
	return slices.DeleteFunc(r.Missed(), func(row Row) bool { return row.Unit != "×" && row.Unit != "" })
}

// JSON returns the results as the content of a file.
func (r *Results) JSON() ([]byte, error) {
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the results: %w", err)
	}
	return append(out, '\n'), nil
}
