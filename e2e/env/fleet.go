// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
)

// folderPrefix is the prefix of the name of every fleet's folder.
const folderPrefix = "multicluster-integrations-fleet-"

// Fleet is a running fleet.
type Fleet struct {
	// Hub is the hub cluster.
	Hub *Cluster
	// Managed are the managed clusters, in the order of [Options].
	Managed []*Cluster
	// Git is the repository in the examples. It is nil with [Options.HubOnly].
	Git *Repository
	// Search is the stand-in for search v2, which runs in this process. It is nil with
	// [Options.HubOnly].
	Search *search.Server
	// GitProxy is the HTTPS proxy through which repository servers reach [RepositoryURL] on this machine.
	GitProxy string

	// Processes are all processes except Search, which runs in this process.
	Processes *Processes
	// Product starts and stops the product's binaries.
	Product *Product

	// etcd is its URL.
	etcd string
	// redis are the addresses for each Argo CD: of the managed clusters, then of the repository servers.
	redis       []string
	repoServers map[generation]*repoServer
}

// Stop ends every process and removes the folder. Further calls have no effect.
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

// GitOpsClusters reports whether gitopscluster registers the clusters, see [Options].
func (f *Fleet) GitOpsClusters() bool { return f.Processes.options.GitOpsClusters }

// Cluster returns a managed cluster, or the hub, by its name, or nil if it does not exist.
func (f *Fleet) Cluster(name string) *Cluster {
	for _, c := range append([]*Cluster{f.Hub}, f.Managed...) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// repoServer is a repository server for all clusters of its generation. Its address is set when started is
// closed.
type repoServer struct {
	address string
	redis   string
	started chan struct{}
}

// await returns the server's address when the server runs.
func (s *repoServer) await(ctx context.Context) (address string, err error) {
	select {
	case <-s.started:
		return s.address, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
