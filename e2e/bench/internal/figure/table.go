// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table formats rows as a Markdown table with one line each, which is also readable on a terminal.
func Table(rows []Row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	line := func(cells ...string) { _, _ = fmt.Fprintf(w, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	line("what", "value", "target", "", "beside")
	line("---", "---", "---", "---", "---")
	for _, r := range rows {
		line(r.What, r.value(), r.target(), r.Verdict(), r.Beside)
	}
	_ = w.Flush() // a builder takes all
	return b.String()
}
