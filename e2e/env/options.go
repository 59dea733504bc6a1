// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// These are the names of the product's binaries.
const (
	Propagation  = "propagation"
	ResourceSync = "resourcesync"
	Aggregation  = "aggregation"
	// GitOpsCluster is installed separately (see [Options.GitOpsClusters]).
	GitOpsCluster = "gitopscluster"
	// RenderedMode is the controller of rendered mode, in addition to the three.
	RenderedMode = "rendered"
	// Placement reports changed decisions to ApplicationSets at once.
	Placement = "placement"
	// Page is the page of the fleet, see [Options.Page].
	Page = "page"
)

// These are the namespaces of the fleet.
const (
	// ArgoCDNamespace is the namespace of Argo CD, on the hub and on managed clusters.
	ArgoCDNamespace = "argocd"
	// ProductNamespace is the namespace of the product on the hub.
	ProductNamespace = "multicluster-integrations"
	// agentNamespace is the namespace of Open Cluster Management's agents on a managed cluster.
	agentNamespace = "open-cluster-management-agent"
	// hubNamespace is the namespace of Open Cluster Management's controllers on the hub.
	hubNamespace = "open-cluster-management-hub"
)

// Options are the settings of a fleet. The zero value starts the whole fleet.
type Options struct {
	// Clusters are the names of the managed clusters. nil means cluster1 and cluster2.
	Clusters []string
	// Old are the Clusters with the oldest supported Argo CD and agents of Open Cluster Management,
	// each with its own CRDs. The hub has the newest ones.
	Old []string
	// HubOnly starts only the hub's API server with all CRDs, and the product. There are no managed clusters
	// and no other controllers.
	HubOnly bool
	// ArgoCDCRDs is a folder with the hub's CRDs of Argo CD. If it is empty, the hub has the newest ones.
	ArgoCDCRDs string
	// Sources is the root of the checkout with the manifests and binaries (below bin/product) of
	// the fleet. If it is empty, this checkout is used.
	Sources string
	// Product lists the binaries to start. nil means the three of the pod and those that other options
	// need.
	Product []string
	// Replicas is the number of replicas of each binary, as if in separate pods. 0 means one.
	Replicas int
	// Arguments are extra command-line arguments by binary, after all others.
	Arguments map[string][]string
	// APIServer are extra command-line arguments of the hub's API server, after all others.
	APIServer []string
	// APIServerEnvironment are further environment variables of the hub's API server, as
	// "NAME=value".
	APIServerEnvironment []string
	// Rendered runs the hub's own Argo CD with the plugin of rendered mode, and no Argo CD on the managed
	// clusters.
	Rendered bool
	// Page starts the replicas of the page, each at a separate address (see [Product.Page]).
	Page bool
	// ArgoCDAccounts makes argocd-server authenticate requests (see [Fleet.StartArgoCDServer]).
	ArgoCDAccounts bool
	// DefaultPoll keeps Argo CD's default of three minutes between two checks for commits.
	DefaultPoll bool
	// StatusPoll is the interval at which a work agent reads the status of applied objects that it cannot
	// watch. 0 keeps the default of Open Cluster Management, ten seconds.
	StatusPoll time.Duration
	// GitOpsClusters makes gitopscluster register the clusters of GitOpsClusters only, with
	// deploy/components/gitopsclusters.
	GitOpsClusters bool
	// Agents also delivers argocd-agent to the clusters of GitOpsClusters that enable it, with
	// deploy/components/gitopsclusters-agent. The caller runs its pods (see [Cluster.Bind]).
	Agents bool
	// NoArgoCD leaves the managed clusters without Argo CD. A delivered Argo CD runs, but without its images.
	NoArgoCD bool
	// AddOnManager starts Open Cluster Management's add-on manager on the hub, with its own account and
	// permissions.
	AddOnManager bool
	// Node prepares the hub for a kubelet that the caller starts: with every admission plugin, the authorizer
	// of nodes, and the controllers that Deployments need. The caller installs the product.
	Node bool
	// SaveMemory makes Go's garbage collector run twice as often in every process without GOGC. The
	// fleet then needs less memory and a quarter more processor time.
	SaveMemory bool
	// Progress receives a line for each step while the fleet starts. It may be nil.
	Progress func(line string)
}

// withDefaults sets the defaults and checks the other options.
func (o Options) withDefaults() (Options, error) {
	if o.Clusters == nil && !o.HubOnly {
		o.Clusters = []string{"cluster1", "cluster2"}
	}
	if o.Product == nil {
		o.Product = []string{Propagation, ResourceSync, Aggregation}
		if o.Rendered {
			o.Product = append(o.Product, RenderedMode)
		}
	}
	o.GitOpsClusters = o.GitOpsClusters || o.Agents
	if o.GitOpsClusters && !slices.Contains(o.Product, GitOpsCluster) {
		o.Product = append(slices.Clone(o.Product), GitOpsCluster)
	}
	if o.Page && !slices.Contains(o.Product, Page) {
		o.Product = append(slices.Clone(o.Product), Page)
	}
	if err := o.check(); err != nil {
		return o, err
	}
	if o.ArgoCDCRDs == "" {
		o.ArgoCDCRDs = newest.crds("argocd")
	}
	if o.Sources == "" {
		o.Sources = testkit.Root()
	}
	if o.StatusPoll == 0 {
		o.StatusPoll = 10 * time.Second
	}
	o.Replicas = max(o.Replicas, 1)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o, nil
}

// check returns an error if a name in o is invalid.
func (o Options) check() error {
	for _, name := range o.Product {
		if !slices.Contains([]string{Propagation, ResourceSync, Aggregation, GitOpsCluster, RenderedMode, Placement, Page}, name) {
			return fmt.Errorf("no binary is called %q", name)
		}
	}
	if o.HubOnly && len(o.Clusters) > 0 {
		return fmt.Errorf("a hub only, and %d managed clusters: choose one", len(o.Clusters))
	}
	for _, name := range o.Old {
		if !slices.Contains(o.Clusters, name) {
			return fmt.Errorf("%s is to run the oldest parts, but no managed cluster is called so", name)
		}
	}
	return nil
}

// part returns the path of a real component, or an error with the command that builds it.
func part(name string) (string, error) {
	path := filepath.Join(testkit.Root(), "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built, run `make tools` first: %w", name, err)
	}
	return path, nil
}

// generations lists the generations in the fleet, the newest first.
func (o Options) generations() []generation {
	if len(o.Old) > 0 {
		return []generation{newest, oldest}
	}
	return []generation{newest}
}
