// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
)

// folderPrefix begins the name of every fleet's folder.
const folderPrefix = "multicluster-integrations-fleet-"

// Fleet is a running fleet.
type Fleet struct {
	// Hub is the hub cluster.
	Hub *Cluster
	// Managed are the managed clusters, in the order of [Options].
	Managed []*Cluster
	// Git is the repository that the examples name; nil with [Options.HubOnly].
	Git *Repository
	// Search is the stand-in for search v2, which runs in this process. It is nil with
	// [Options.HubOnly].
	Search *search.Server
	// GitProxy is the HTTPS proxy by which this machine reaches [RepositoryURL]; repository
	// servers use it.
	GitProxy string

	// Processes are all that run but Search.
	Processes *Processes
	// Product starts and stops the product's binaries.
	Product *Product

	// etcd is where it listens.
	etcd string
	// redis is one for each Argo CD: of every managed cluster, then of the repository servers.
	redis       []string
	repoServers map[generation]*repoServer
}

// Stop ends every process and removes the folder. It may be called again.
func (f *Fleet) Stop() error {
	f.Processes.cancel(errStopped)
	f.Processes.workers.Wait()
	var searchErr error
	if f.Search != nil {
		searchErr = f.Search.Close()
	}
	return errors.Join(searchErr, f.Processes.supervisor.Close(), f.Processes.ports.release())
}

var errStopped = errors.New("the fleet was stopped")

// Rendered reports whether the fleet runs rendered mode, see [Options].
func (f *Fleet) Rendered() bool { return f.Processes.options.Rendered }

// GitOpsClusters reports whether clusters are registered by GitOpsClusters, see [Options].
func (f *Fleet) GitOpsClusters() bool { return f.Processes.options.GitOpsClusters }

// Cluster returns a managed cluster, or the hub, by its name; nil if there is none.
func (f *Fleet) Cluster(name string) *Cluster {
	for _, c := range append([]*Cluster{f.Hub}, f.Managed...) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// repoServer is a repository server for all clusters of its generation. Its address is set once
// started is closed.
type repoServer struct {
	address string
	redis   string
	started chan struct{}
}

// await returns its address once it runs.
func (s *repoServer) await(ctx context.Context) (address string, err error) {
	select {
	case <-s.started:
		return s.address, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
