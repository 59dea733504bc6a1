// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the resourcesync binary without its process: the flags, and the parts that
// they start.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/poll"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Version is the version of this module. A release changes it here.
const Version = "0.1.0"

const (
	// defaultURL is search v2 where Red Hat Advanced Cluster Management puts it.
	defaultURL = "https://search-search-api.open-cluster-management.svc:4010/searchapi/graphql"
	// serviceAccount is where the kubelet mounts the credentials of a pod.
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"
	// serviceCA signs the certificates of Services on OpenShift.
	serviceCA = serviceAccount + "/service-ca.crt"
)

// Program describes the binary.
func Program() boot.Program {
	return boot.Program{Name: "resourcesync", Version: Version, MetricsPort: 8444, HealthPort: 8082, LeaseName: ""}
}

// Command holds the binary's flags.
type Command struct {
	directory string
	search    search.Options
	poll      poll.Options
	maxMiB    int64
}

// New returns the command with its defaults.
func New() *Command { return &Command{} }

// BindFlags adds the binary's own flags.
func (c *Command) BindFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.directory, "intermediate-dir", "/var/run/multicluster-integrations", "directory of the intermediate reports, shared with aggregation; created when missing")
	fs.StringVar(&c.search.URL, "search-url", defaultURL, "GraphQL endpoint of search v2; https only")
	fs.StringVar(&c.search.CAFile, "search-ca-file", "", "PEM bundle of CAs that may sign search's certificate, re-read within five minutes; empty: "+serviceCA+" where it is mounted, else the system's CAs")
	fs.StringVar(&c.search.TokenFile, "search-token-file", filepath.Join(serviceAccount, "token"), "file with the bearer token for search, re-read for every request")
	fs.Int64Var(&c.maxMiB, "search-max-answer", 12, "maximum size of an answer of search, in MiB; a batch with a larger answer is divided. Two are read at a time and take some eight times as much memory: raise the container's limit with it")
	fs.DurationVar(&c.poll.Interval, "search-interval", 10*time.Second, "interval between polls of search; a search service that has never answered is polled six times more seldom")
	fs.IntVar(&c.poll.BatchSize, "search-batch-size", 50, "maximum number of clusters in one request")
}

// Validate names every flag with an impossible value.
func (c *Command) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.directory != "", "--intermediate-dir: must not be empty")
	u, err := url.Parse(c.search.URL)
	check(err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil, "--search-url: want https://host[:port]/path, without user or password")
	check(c.search.TokenFile != "", "--search-token-file: must not be empty")
	check(c.maxMiB > 0 && c.maxMiB <= 4096, "--search-max-answer %d: want 1 to 4096", c.maxMiB)
	check(c.poll.Interval >= time.Second, "--search-interval %s: must be at least 1s", c.poll.Interval)
	check(c.poll.BatchSize > 0, "--search-batch-size %d: must be positive", c.poll.BatchSize)
	return errors.Join(errs...)
}

// Run works until ctx ends.
func (c *Command) Run(ctx context.Context, env *boot.Env) error {
	store := intermediate.NewStore(c.directory)
	if err := store.Prepare(); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	mgr, err := boot.NewManager(ctx, env, boot.Kinds{Scheme: scheme, Cache: fleet.CacheOptions(), Warm: fleet.Watched()})
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("directory", newDirectoryCheck(store.Check)); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	options := c.search
	options.FallbackCAFile = serviceCA
	options.MaxBytes = c.maxMiB << 20
	client := search.New(options)
	defer client.Close()
	poller := &poll.Poller{
		Search:  client,
		Fleet:   fleet.NewReader(mgr.GetCache()),
		Files:   store,
		Log:     env.Log.WithName("poll"),
		Options: c.poll,
	}
	if err := mgr.Add(poller); err != nil {
		return fmt.Errorf("add poller: %w", err)
	}
	return mgr.Start(ctx)
}
