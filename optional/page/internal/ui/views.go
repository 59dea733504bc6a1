// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

// These types are the data of the templates. Paths are addresses of the page itself, from the
// server. All other texts may come from a managed cluster and are shown as text.

// Base is the content of every page.
type Base struct {
	// Page names the template.
	Page, Title string
	User        string
	Nav         []Link
	// Version is the version of the content, or "" for a page that does not change.
	Version string
	Notices []string
	// Leases are the Leases of the controllers that write the content.
	Leases []Lease
	// Now is when the content was read, or nil for a page that does not change.
	Now *When
	// Refresh is the number of seconds until the page refreshes itself. 0 means never.
	Refresh int
}

// Lease is the last renewal of a controller's Lease, or nil.
type Lease struct {
	Controller string
	Renewed    *When
}

// Link is a link.
type Link struct {
	Name, Path string
	Current    bool
	Count      int
	// State is true if the name has a symbol.
	State bool
	// Text has more details than the name.
	Text string
}

// Counts are numbers of Applications.
type Counts struct {
	Applications, Healthy, NotHealthy, OutOfSync, Failed int
	Health                                               []Link
	// Sync has the counts of Applications that are not synced, Operations of running operations.
	Sync, Operations []Link
	// Worst are the counts of healths other than Healthy, without zeros.
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

// Condition is a condition of a row, or an error with its common text.
type Condition struct {
	Type, Message, Path string
	Warning             bool
}

// Table is a list of Applications.
type Table struct {
	Caption string
	Columns []Link
	Rows    []Row
	// Order has the IDs of the rows that belong here now, whichever are shown.
	Order string
}

// Pager has the links to the other pages of a list.
type Pager struct {
	From, To, Total int
	Beyond          bool
}

// Paged is a pager in the form of the templates.
type Paged struct {
	Page           Pager
	Previous, Next string
}

// Search is a search form.
type Search struct {
	Action, Text, Hint, Clear string
	Hidden                    []Hidden
}

// Hidden is a hidden value of a form.
type Hidden struct{ Name, Value string }

// Filter is a group of values by which a list can be filtered.
type Filter struct {
	Name   string
	Values []Link
}

// Group is an error and the numbers of who has it.
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
	// Legend is true if the counts are links. A list with filters does not need them.
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

// Apps is a page of Applications: all of them, or the Applications of an ApplicationSet, of a
// cluster, or with an error.
type Apps struct {
	Base         Base
	Heading, Sub string
	// Only is the ApplicationSet of all rows, or "" if the rows have several.
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
	// Unread is true if the resources are missing because the report could not be read.
	Unread bool
}

// ClusterStatus is OCM's report about a cluster.
type ClusterStatus struct {
	Stale   bool
	Since   *When
	Message string
}

// Resource is a resource that an ApplicationSet deploys.
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

// HubApp is an Application of the hub with a state.
type HubApp struct {
	ID, Path, State, Name, Namespace, Set, Cluster, Message, Kubectl, Health, Sync string
	Since                                                                          *When
}

// Hub is the page of these Applications.
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

// Command is a command for a shell.
type Command struct{ What, Line string }

// Login is the page of the login form.
type Login struct {
	Base             Base
	Problem, Command string
}

// Problem is the page of an error.
type Problem struct {
	Base          Base
	Heading, Text string
}
