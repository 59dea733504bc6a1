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

// Names of the product's binaries.
const (
	Propagation  = "propagation"
	ResourceSync = "resourcesync"
	Aggregation  = "aggregation"
	// GitOpsCluster is installed on its own, see [Options.GitOpsClusters].
	GitOpsCluster = "gitopscluster"
	// RenderedMode is the controller of rendered mode, beside the three.
	RenderedMode = "rendered"
	// Placement brings changed decisions to ApplicationSets at once.
	Placement = "placement"
	// Page is the page of the fleet, see [Options.Page].
	Page = "page"
)

// Namespaces that the fleet uses.
const (
	// ArgoCDNamespace is where Argo CD lives, on the hub and on managed clusters.
	ArgoCDNamespace = "argocd"
	// ProductNamespace is where the product's pod would live on the hub.
	ProductNamespace = "multicluster-integrations"
	// agentNamespace is where Open Cluster Management's agents live on a managed cluster.
	agentNamespace = "open-cluster-management-agent"
	// hubNamespace is where its controllers live on the hub.
	hubNamespace = "open-cluster-management-hub"
)

// Options say what to start. The zero value is the whole fleet.
type Options struct {
	// Clusters are the names of the managed clusters; nil: cluster1 and cluster2.
	Clusters []string
	// Old are those of Clusters that run the oldest supported Argo CD and agents of Open
	// Cluster Management, each with CRDs of their own; nil: none. The hub has the newest.
	Old []string
	// HubOnly starts the hub's API server with all CRDs and the product, and
	// nothing else: no managed cluster, no controller but the product's.
	HubOnly bool
	// ArgoCDCRDs is a folder with the hub's CRDs of Argo CD; "": those of the newest
	// parts.
	ArgoCDCRDs string
	// Sources is the root of the checkout whose manifests and binaries (below bin/product) the
	// fleet starts with; "": this one's.
	Sources string
	// Product lists the binaries to start; nil: the three of the pod, and those that are asked for.
	Product []string
	// Replicas is how many of each binary run, as if in that many pods; 0: one.
	Replicas int
	// Arguments are extra command-line arguments by binary; they come last.
	Arguments map[string][]string
	// APIServer are extra command-line arguments of the hub's API server; they come last.
	APIServer []string
	// APIServerEnvironment are further environment variables of the hub's API server, as
	// "NAME=value".
	APIServerEnvironment []string
	// Rendered runs the hub's own Argo CD with the plugin of rendered mode, and no
	// Argo CD on the managed clusters.
	Rendered bool
	// Page starts the page of the fleet, each replica at an address of its own, see
	// [Fleet.Page].
	Page bool
	// ArgoCDAccounts has argocd-server authenticate requests, see [Fleet.StartArgoCDServer].
	ArgoCDAccounts bool
	// DefaultPoll leaves Argo CD's own three minutes between two looks for commits.
	DefaultPoll bool
	// StatusPoll is how often a work agent that cannot watch what it has applied looks for
	// its status; 0: the ten seconds of the agents of Open Cluster Management.
	StatusPoll time.Duration
	// GitOpsClusters has gitopscluster register clusters by GitOpsClusters, and no others, with
	// deploy/components/gitopsclusters.
	GitOpsClusters bool
	// Agents also brings argocd-agent to the clusters of GitOpsClusters that ask for it, with
	// deploy/components/gitopsclusters-agent. Its pods are the caller's to run, see [Cluster.Bind].
	Agents bool
	// NoArgoCD leaves the managed clusters without Argo CD. One that is delivered runs, but for
	// its images.
	NoArgoCD bool
	// AddOnManager starts Open Cluster Management's add-on manager on the hub, with its own
	// account and rights.
	AddOnManager bool
	// Node prepares the hub for a kubelet, which the caller starts with [Fleet.Run]: every
	// admission plugin, the authorizer of nodes, the controllers that Deployments need. It
	// leaves it to the caller to install the product.
	Node bool
	// SaveMemory has Go's garbage collector run twice as often in every process as where
	// nobody sets GOGC: less memory, for a quarter more processor time.
	SaveMemory bool
	// Progress is told what happens while the fleet starts; nil: nothing is.
	Progress func(line string)
}

// withDefaults fills in what the caller left open and checks the rest.
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

// check returns what is wrong with the names in o.
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

// part returns the path of a real part, or an error that says how to build it.
func part(name string) (string, error) {
	path := filepath.Join(testkit.Root(), "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built, run `make tools` first: %w", name, err)
	}
	return path, nil
}

// generations lists those that the fleet runs, the newest first.
func (o Options) generations() []generation {
	if len(o.Old) > 0 {
		return []generation{newest, oldest}
	}
	return []generation{newest}
}
