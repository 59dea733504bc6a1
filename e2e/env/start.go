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

// Start starts a fleet and returns when all of it is ready. On failure nothing is
// left but the logs, whose place the error tells. The caller must call Stop; if
// the program ends without it, the fleet ends as well.
func Start(ctx context.Context, options Options) (_ *Fleet, err error) {
	defer must.Return(&err)
	options = must.Get(options.withDefaults())
	log.SetLogger(logr.Discard()) // what clients would log, errors tell
	w := must.Get(supervisor.Start("", folderPrefix))
	all := &processes{options: options, folder: w.Folder(), supervisor: w, began: time.Now(), processes: map[string]*Process{}}
	f := &Fleet{processes: all, product: &product{processes: all}, repoServers: map[generation]*repoServer{}}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	starting, done := f.bind(ctx)
	defer done()
	if err := f.start(starting); err != nil {
		if ctx.Err() != nil { // the caller gave up: no logs are needed
			return nil, errors.Join(fmt.Errorf("start the fleet: %w", context.Cause(ctx)), f.Stop())
		}
		if failure := f.Err(); failure != nil {
			err = failure // all that was waiting then only says that it was cut off
		}
		kept, keepErr := f.KeepLogs()
		return nil, errors.Join(fmt.Errorf("start the fleet: %w\n  all logs: %s", err, kept), keepErr, f.Stop())
	}
	f.progress("ready")
	return f, nil
}

// start brings everything up: etcd first, then every cluster at the same
// time. Managed clusters wait for the hub only where they register.
func (f *Fleet) start(ctx context.Context) (err error) {
	defer must.Return(&err)
	must.OK(f.makeFolders())
	must.OK(f.makeClusters())
	must.OK(f.startBacking(ctx))
	if !f.options.HubOnly {
		if err := f.serveRepository(ctx); err != nil {
			return fmt.Errorf("serve %s: %w", RepositoryURL, err)
		}
	}
	f.progress("etcd is up")
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
	for _, name := range append([]string{"hub"}, f.options.Clusters...) {
		port := must.Get(f.FreePort())
		c := must.Get(newCluster(name, f.folder, port))
		if slices.Contains(f.options.Old, name) {
			c.parts = oldest
		}
		if f.Hub == nil {
			f.Hub, f.hub = c, c
		} else {
			f.Managed = append(f.Managed, c)
		}
	}
	return nil
}

// startHub closes open once managed clusters may register.
func (f *Fleet) startHub(ctx context.Context, open chan<- struct{}) (err error) {
	defer must.Return(&err)
	controllers := hubControllers
	if f.options.Node {
		controllers = slices.Concat(hubControllers, nodeControllers)
	}
	must.OK(f.startControlPlane(ctx, f.Hub, controllers))
	must.OK(parallel(ctx,
		func(ctx context.Context) error { return f.Hub.install(ctx, newest.crds("ocm-hub")) },
		func(ctx context.Context) error { return f.Hub.install(ctx, f.options.ArgoCDCRDs) },
		func(ctx context.Context) error {
			if f.options.Node {
				return nil
			}
			return f.Hub.Install(ctx, f.options.Sources, f.options.components()...)
		},
		func(ctx context.Context) error { return f.Hub.applyInstall(ctx, "namespaces-hub.yaml", "ocm-hub.yaml") },
	))
	f.progress("hub: CRDs are served, the product has its rights")
	if f.options.HubOnly {
		return f.startProduct(ctx)
	}
	return parallel(ctx,
		func(ctx context.Context) error { return f.startOCMHub(ctx, open) },
		f.startApplicationSets,
		func(ctx context.Context) error {
			if !f.options.Rendered {
				return nil
			}
			return f.startRendered(ctx)
		},
		func(ctx context.Context) error {
			if err := f.startSearch(ctx); err != nil {
				return err
			}
			return f.startProduct(ctx)
		},
	)
}

func (f *Fleet) startManaged(ctx context.Context, c *Cluster, hubOpen <-chan struct{}) (err error) {
	defer must.Return(&err)
	must.OK(f.startControlPlane(ctx, c, managedControllers))
	must.OK(parallel(ctx,
		func(ctx context.Context) error { return c.install(ctx, c.parts.crds("ocm-managed")) },
		func(ctx context.Context) error {
			if f.options.Rendered || f.options.NoArgoCD {
				return nil
			}
			return c.install(ctx, c.parts.crds("argocd", "application-crd.yaml"), c.parts.crds("argocd", "appproject-crd.yaml"))
		},
		func(ctx context.Context) error {
			files := []string{"namespaces-managed.yaml", "ocm-managed.yaml"}
			if f.options.Agents || f.options.NoArgoCD {
				files = append(files, "klusterlet.yaml")
			}
			return c.applyInstall(ctx, files...)
		},
	))
	if f.options.NoArgoCD {
		c.playArgoCD(f)
	}
	must.OK(parallel(ctx,
		func(ctx context.Context) error { return f.startNode(ctx, c) },
		func(ctx context.Context) error {
			if f.options.Rendered || f.options.NoArgoCD {
				return nil
			}
			return f.startApplications(ctx, c)
		},
		func(ctx context.Context) error { return f.register(ctx, c, hubOpen) },
	))
	f.progress("%s: registered, and all that runs on it is up", c.Name)
	return nil
}
