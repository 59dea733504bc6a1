// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/testkit/supervisor"
)

// Start starts a fleet and returns when all of it is ready. After a failure only the logs remain, and the
// error has their path. The caller must call Stop. If the program ends without Stop, the fleet ends as well.
func Start(ctx context.Context, options Options) (_ *Fleet, err error) {
	defer must.Return(&err)
	options = must.Get(options.withDefaults())
	log.SetLogger(logr.Discard()) // errors contain the text that clients would log
	w := must.Get(supervisor.Start("", folderPrefix))
	all := &Processes{options: options, folder: w.Folder(), supervisor: w, began: time.Now(), processes: map[string]*Process{}}
	f := &Fleet{Processes: all, Product: &Product{processes: all}, repoServers: map[generation]*repoServer{}}
	f.Processes.ctx, f.Processes.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	starting, done := f.Processes.bind(ctx)
	defer done()
	if err := f.start(starting); err != nil {
		if ctx.Err() != nil { // the caller gave up: no logs are needed
			return nil, errors.Join(fmt.Errorf("start the fleet: %w", context.Cause(ctx)), f.Stop())
		}
		if failure := f.Processes.Err(); failure != nil {
			err = failure // other errors only report that they were cancelled
		}
		kept, keepErr := f.Processes.KeepLogs()
		return nil, errors.Join(fmt.Errorf("start the fleet: %w\n  all logs: %s", err, kept), keepErr, f.Stop())
	}
	f.Processes.progress("ready")
	return f, nil
}

// start starts everything: etcd first, then all clusters in parallel. Managed clusters wait for the hub only
// to register.
func (f *Fleet) start(ctx context.Context) (err error) {
	defer must.Return(&err)
	must.OK(f.Processes.makeFolders())
	must.OK(f.makeClusters())
	must.OK(f.startBacking(ctx))
	if !f.Processes.options.HubOnly {
		if err := f.serveRepository(ctx); err != nil {
			return fmt.Errorf("serve %s: %w", RepositoryURL, err)
		}
	}
	f.Processes.progress("etcd is up")
	hubOpen := make(chan struct{})
	stages := []stage{func(ctx context.Context) error { return f.startHub(ctx, hubOpen) }}
	for g, server := range f.repoServers {
		stages = append(stages, func(ctx context.Context) error { return f.startRepoServer(ctx, g, server) })
	}
	for _, c := range f.Managed {
		stages = append(stages, func(ctx context.Context) error { return f.startManaged(ctx, c, hubOpen) })
	}
	return parallel(ctx, stages...)
}

func (f *Fleet) makeClusters() (err error) {
	defer must.Return(&err)
	for _, name := range append([]string{"hub"}, f.Processes.options.Clusters...) {
		port := must.Get(f.Processes.FreePort())
		c := must.Get(newCluster(name, f.Processes.folder, port))
		if slices.Contains(f.Processes.options.Old, name) {
			c.parts = oldest
		}
		if f.Hub == nil {
			f.Hub, f.Product.hub = c, c
		} else {
			f.Managed = append(f.Managed, c)
		}
	}
	return nil
}

// startHub starts the hub and closes open when managed clusters may register.
func (f *Fleet) startHub(ctx context.Context, open chan<- struct{}) (err error) {
	defer must.Return(&err)
	controllers := hubControllers
	if f.Processes.options.Node {
		controllers = slices.Concat(hubControllers, nodeControllers)
	}
	must.OK(f.startControlPlane(ctx, f.Hub, controllers))
	must.OK(parallel(ctx,
		func(ctx context.Context) error { return f.Hub.install(ctx, newest.crds("ocm-hub")) },
		func(ctx context.Context) error { return f.Hub.install(ctx, f.Processes.options.ArgoCDCRDs) },
		func(ctx context.Context) error {
			if f.Processes.options.Node {
				return nil
			}
			return f.Hub.Install(ctx, f.Processes.options.Sources, f.Processes.options.components()...)
		},
		func(ctx context.Context) error { return f.Hub.applyInstall(ctx, "namespaces-hub.yaml", "ocm-hub.yaml") },
	))
	f.Processes.progress("hub: CRDs are served, the product has its rights")
	if f.Processes.options.HubOnly {
		return f.Product.startProduct(ctx)
	}
	return parallel(ctx,
		func(ctx context.Context) error { return f.startOCMHub(ctx, open) },
		f.startApplicationSets,
		func(ctx context.Context) error {
			if !f.Processes.options.Rendered {
				return nil
			}
			return RenderedHub{f}.Start(ctx)
		},
		func(ctx context.Context) error {
			if err := f.startSearch(ctx); err != nil {
				return err
			}
			return f.Product.startProduct(ctx)
		},
	)
}

func (f *Fleet) startManaged(ctx context.Context, c *Cluster, hubOpen <-chan struct{}) (err error) {
	defer must.Return(&err)
	must.OK(f.startControlPlane(ctx, c, managedControllers))
	must.OK(parallel(ctx,
		func(ctx context.Context) error { return c.install(ctx, c.parts.crds("ocm-managed")) },
		func(ctx context.Context) error {
			if f.Processes.options.Rendered || f.Processes.options.NoArgoCD {
				return nil
			}
			return c.install(ctx, c.parts.crds("argocd", "application-crd.yaml"), c.parts.crds("argocd", "appproject-crd.yaml"))
		},
		func(ctx context.Context) error {
			files := []string{"namespaces-managed.yaml", "ocm-managed.yaml"}
			if f.Processes.options.Agents || f.Processes.options.NoArgoCD {
				files = append(files, "klusterlet.yaml")
			}
			return c.applyInstall(ctx, files...)
		},
	))
	if f.Processes.options.NoArgoCD {
		c.playArgoCD(f)
	}
	must.OK(parallel(ctx,
		func(ctx context.Context) error { return f.Processes.startNode(ctx, c) },
		func(ctx context.Context) error {
			if f.Processes.options.Rendered || f.Processes.options.NoArgoCD {
				return nil
			}
			return f.startApplications(ctx, c)
		},
		func(ctx context.Context) error { return f.register(ctx, c, hubOpen) },
	))
	f.Processes.progress("%s: registered, and all that runs on it is up", c.Name)
	return nil
}
