// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

// What the templates are filled with. Paths are addresses of the page itself, made by
// the server; every other text may come from a managed cluster and is shown as text.

// Base is what every page has.
type Base struct {
	// Page names the template.
	Page, Title string
	User        string
	Nav         []Link
	// Version is that of what is shown; empty: the page does not change.
	Version string
	Notices []string
	// Leases are of the controllers that write what is shown.
	Leases []Lease
	// Now is when it was read; nil: it is always the same.
	Now *When
	// Refresh is after how many seconds the page asks again; 0: never.
	Refresh int
}

// Lease is when a controller last said that it works; nil: it never did.
type Lease struct {
	Controller string
	Renewed    *When
}

// Link is a link.
type Link struct {
	Name, Path string
	Current    bool
	Count      int
	// State: the name is one that has a shape.
	State bool
	// Text says more than the name.
	Text string
}

// Counts are numbers of Applications.
type Counts struct {
	Applications, Healthy, NotHealthy, OutOfSync, Failed int
	Health                                               []Link
	// Sync and Operations are what is not as it should be, or under way.
	Sync, Operations []Link
	// Worst are the healths that something has, but for Healthy.
	Worst []Link
	Bar   []Segment
}

// Segment is a part of a bar of 1000.
type Segment struct {
	Class    string
	X, Width int
}

// Row is an Application on a cluster.
type Row struct {
	ID, Path, Name, SetName, Cluster, ClusterPath string
	Health, Sync, Phase, Revision, State          string
	Stale                                         bool
	Since, Started                                *When
	Condition                                     *Condition
	More                                          int
}

// Condition is one of a row, or an error and what it has in common.
type Condition struct {
	Type, Message, Path string
	Warning             bool
}

// Table is a list of Applications.
type Table struct {
	Caption string
	Columns []Link
	Rows    []Row
	// Order holds the IDs of the rows that belong here now, whichever are shown.
	Order string
}

// Pager leads through a list.
type Pager struct {
	From, To, Total int
	Beyond          bool
}

// Paged is a pager as templates want it.
type Paged struct {
	Page           Pager
	Previous, Next string
}

// Search is a form.
type Search struct {
	Action, Text, Hint, Clear string
	Hidden                    []Hidden
}

// Hidden is a value that a form keeps.
type Hidden struct{ Name, Value string }

// Filter is a group of values that a list can be narrowed to.
type Filter struct {
	Name   string
	Values []Link
}

// Group is an error and how many have it.
type Group struct {
	Hash, Path, Type, Text string
	Warning                bool
	Count, Sets, Clusters  int
}

// Groups are errors, in order.
type Groups struct {
	Order string
	List  []Group
}

// Counted is an ApplicationSet or a cluster.
type Counted struct {
	ID, Path, Name, Namespace string
	Counts                    Counts
	Clusters                  int
	Stale                     bool
	Since                     *When
}

// Fleet is the first page.
type Fleet struct {
	Base   Base
	Counts Counts
	// Legend: the counts are links. Where a list can be filtered, the filters are.
	Legend                        bool
	Sets, Clusters, StaleClusters int
	Hub                           []Link
	Errors                        Groups
	MoreErrors                    int
	Search                        Search
	Rows                          []Counted
	Order                         string
	Pager                         Paged
}

// Apps is a page of Applications: all, those of an ApplicationSet, of a cluster, or
// with an error.
type Apps struct {
	Base         Base
	Heading, Sub string
	// Only is the ApplicationSet of all rows; empty: they are of several.
	Only      string
	Cluster   *ClusterStatus
	Error     *Condition
	Counts    Counts
	Legend    bool
	Revisions []Link
	Hub       []Link
	Facets    []Filter
	Search    Search
	Table     Table
	Pager     Paged
	Resources []Resource
	// Unread: the resources are missing, since the report could not be read.
	Unread bool
}

// ClusterStatus is what OCM reports about a cluster.
type ClusterStatus struct {
	Stale   bool
	Since   *When
	Message string
}

// Resource is what an ApplicationSet deploys.
type Resource struct{ APIVersion, Kind, Namespace, Name string }

// List is a page with one list of clusters.
type List struct {
	Base   Base
	Search Search
	Rows   []Counted
	Order  string
	Pager  Paged
}

// Errors is the page of all errors.
type Errors struct {
	Base   Base
	Errors Groups
	Pager  Paged
}

// HubApp is an Application of the hub that has something to say.
type HubApp struct {
	ID, Path, State, Name, Namespace, Set, Cluster, Message, Kubectl, Health, Sync string
	Since                                                                          *When
}

// Hub is the page of these.
type Hub struct {
	Base   Base
	States []Link
	Rows   []HubApp
	Order  string
	Pager  Paged
}

// App is one Application on one cluster.
type App struct {
	Base                                         Base
	Name, SetName, SetPath, Cluster, ClusterPath string
	Health, Sync, Phase, Revision, Work, State   string
	Stale                                        bool
	Since, Started, StateSince                   *When
	Conditions                                   []Condition
	Kubectl                                      []Command
	Links                                        []Link
}

// Command is a line for a shell.
type Command struct{ What, Line string }

// Login asks for a token.
type Login struct {
	Base             Base
	Problem, Command string
}

// Problem says what is not possible.
type Problem struct {
	Base          Base
	Heading, Text string
}
