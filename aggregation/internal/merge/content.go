// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package merge

import (
	"slices"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// Content is the content of a report.
type Content struct {
	// Rows are sorted by [Compare].
	Rows      []*Row
	Resources ResourceList
	Summary   v1alpha1.ReportSummary

	// RowsLeftOut and ResourcesLeftOut count rows and resources that did not fit. The summary
	// includes them.
	RowsLeftOut, ResourcesLeftOut int
}

// Statuses returns the content as the API spells it.
func (c *Content) Statuses() v1alpha1.AppSetStatuses {
	s := v1alpha1.AppSetStatuses{Resources: c.Resources.refs, Summary: c.Summary}
	if len(c.Rows) > 0 {
		s.ClusterConditions = make([]v1alpha1.ClusterCondition, len(c.Rows))
	}
	for i, r := range c.Rows {
		s.ClusterConditions[i] = r.ClusterCondition
	}
	return s
}

// Equal reports whether two contents are equal, except for the numbers of left out rows and
// resources.
func (c *Content) Equal(o *Content) bool {
	return c.Summary == o.Summary &&
		slices.Equal(c.Resources.refs, o.Resources.refs) && slices.EqualFunc(c.Rows, o.Rows, (*Row).Equal)
}

// Bytes returns the size of the content as JSON. It is exact for a content with rows and resources,
// and slightly larger otherwise.
func (c *Content) Bytes() int {
	n := frameBytes(c.Summary) + c.Resources.bytes
	for _, r := range c.Rows {
		n += r.bytes + 1
	}
	return n
}

// frameBytes is the size of the JSON around rows and resources. Each list has one comma less than
// members, which the sum of Bytes counts.
func frameBytes(s v1alpha1.ReportSummary) int {
	return len(`{"resources":[],"clusterConditions":[],"summary":}`) + jsonBytes(s) - 2
}

// Truncate returns the content of a report with at most budget bytes as JSON. The rows are sorted
// by [Compare]. If not everything fits, it first shortens messages. Then it leaves out rows,
// healthy ones before others and from the end. Resources never use more than a quarter.
func Truncate(rows []*Row, resources ResourceList, budget int) Content {
	c := Content{Rows: rows, Resources: resources, Summary: Summarize(rows)}
	if c.Bytes() <= budget {
		return c
	}
	rest := budget - frameBytes(c.Summary)
	c.Resources = resources.truncate(rest / 4)
	c.ResourcesLeftOut = len(resources.refs) - len(c.Resources.refs)
	c.Rows = truncateRows(rows, rest-c.Resources.bytes)
	c.RowsLeftOut = len(rows) - len(c.Rows)
	return c
}
