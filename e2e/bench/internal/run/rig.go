// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/figure"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/hub"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/process"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
)

// Options say what to run.
type Options struct {
	Size Size
	// Progress is told what happens.
	Progress func(line string)
	// Only are the phases to run once the fleet is there, by their keys; none: all.
	Only []string
}

// bench is a run: what is measured, and what the figures share.
type bench struct {
	Options
	began   time.Time
	folder  string
	fleet   *env.Fleet
	hub     *hub.Client
	audit   *audit.Log
	search  *search.Server
	results *figure.Results

	*load
	*product
	// empty is the memory of the binaries before there was an Application.
	empty map[string]process.Usage
	// works that the baseline writes; no binary delivers or mirrors them
	baseline baseline
}

// binaries of the product.
var binaries = []string{env.Propagation, env.Aggregation, env.ResourceSync}

// searchToken is the token of resourcesync for search.
const searchToken = "bench"

// start starts the hub and search; none of the product's binaries runs yet.
func (b *bench) start(ctx context.Context) error {
	policy := filepath.Join(b.folder, "audit-policy.json")
	log := filepath.Join(b.folder, "audit.log")
	rules, err := audit.Policy(env.ProductNamespace, baselineNamespaceNames())
	if err != nil {
		return err
	}
	if err := os.WriteFile(policy, rules, 0o600); err != nil {
		return err
	}
	server := []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log, "--audit-log-maxsize=100000"}
	fleet, err := env.Start(ctx, env.Options{
		HubOnly: true, Product: []string{}, Progress: b.Progress, APIServer: server, APIServerEnvironment: b.Size.APIServer,
	})
	if err != nil {
		return err
	}
	b.fleet = fleet
	b.audit = audit.Open(log)
	if b.hub, err = hub.New(fleet.Hub.Config); err != nil {
		return err
	}
	token := filepath.Join(b.folder, "search.token")
	if err := os.WriteFile(token, []byte(searchToken), 0o600); err != nil {
		return err
	}
	b.search, err = search.Start(ctx, search.Options{
		Dir: b.folder, Source: memory.Fleet{}, Reviewer: access.Tokens{searchToken: {AllManaged: true}},
	})
	b.load = newLoad(b.hub, b.Size)
	b.product = &product{fleet: fleet, search: b.search, tokenFile: token}
	return err
}

func (b *bench) close() error {
	var errs []error
	if b.search != nil {
		errs = append(errs, b.search.Close())
	}
	if b.audit != nil {
		errs = append(errs, b.audit.Close())
	}
	if b.fleet != nil {
		errs = append(errs, b.fleet.Stop())
	}
	return errors.Join(errs...)
}

func (b *bench) say(format string, args ...any) {
	b.Progress(fmt.Sprintf("%6.1fs  ", time.Since(b.began).Seconds()) + fmt.Sprintf(format, args...))
}

// row adds a figure and says it.
func (b *bench) row(r figure.Row) {
	b.results.Rows = append(b.results.Rows, r)
	b.say("  %s: %s %s %s (%s)", r.What, figure.Number(r.Value), r.Unit, r.Verdict(), r.Beside)
}

// baseline is what the API server alone can do: ManifestWorks with the same bytes as propagation's, less
// the labels by which the product would see them.
type baseline struct {
	template map[string]any
	works    int
	created  throughput
	patched  throughput
}

// baselineNamespaces spread the baseline's works as clusters would.
const baselineNamespaces = 10

func baselineNamespaceNames() []string {
	names := make([]string, baselineNamespaces)
	for i := range names {
		names[i] = baselineNamespace(i)
	}
	return names
}

func baselineNamespace(i int) string { return fmt.Sprintf("base-%d", i%baselineNamespaces) }

// awaitNoWrites waits until the product has written nothing for a while.
func (b *bench) awaitNoWrites(ctx context.Context, silence time.Duration) error {
	began := time.Now()
	return env.WaitFor(ctx, patience, "the product to write nothing", func(context.Context) (bool, string) {
		last := b.audit.Last(write)
		if last.Before(began) {
			last = began
		}
		return time.Since(last) > silence, "last write at " + last.String()
	})
}

// awaitStatuses waits until every hub Application has what its managed cluster reported.
func (b *bench) awaitStatuses(ctx context.Context) error {
	if err := b.awaitNoWrites(ctx, silence); err != nil {
		return err
	}
	return env.WaitFor(ctx, patience, "every hub Application to have the reported status", func(ctx context.Context) (bool, string) {
		wrong, example, err := b.wrong(ctx)
		if err != nil {
			return false, err.Error()
		}
		return wrong == 0, fmt.Sprintf("%d of %d differ: %s", wrong, len(b.apps), example)
	})
}

// wrong counts the hub Applications that do not say what was reported.
func (b *bench) wrong(ctx context.Context) (count int, example string, err error) {
	var list struct {
		Items []struct {
			Metadata metadata `json:"metadata"`
			Status   struct {
				Health struct{ Status string }           `json:"health"`
				Sync   struct{ Status, Revision string } `json:"sync"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := b.hub.Get(ctx, simulate.Applications, &list); err != nil {
		return 0, "", err
	}
	said := make(map[string]simulate.Feedback, len(list.Items))
	for i := range list.Items {
		s := &list.Items[i].Status
		said[list.Items[i].Metadata.Name] = simulate.Feedback{Health: s.Health.Status, Sync: s.Sync.Status, Revision: s.Sync.Revision}
	}
	for _, a := range b.apps {
		name := simulate.ApplicationName(a.set, a.cluster)
		want := simulate.Healthy(a.revision)
		if a.revision == "" {
			want = simulate.Feedback{Health: "Unknown", Sync: "Unknown"}
		}
		if got := said[name]; got != want {
			count++
			example = fmt.Sprintf("%s says %+v, want %+v", name, got, want)
		}
	}
	return count, example, nil
}

// write matches requests that change something of the fleet's.
func write(e *audit.Entry) bool { return e.Write(env.ProductNamespace) }

// by matches the successful requests of a binary for a verb and a resource.
func by(account, verb, resource string) func(*audit.Entry) bool {
	return func(e *audit.Entry) bool {
		return e.Account == account && e.Verb == verb && e.Resource == resource && e.Code < 300
	}
}

// await waits until the log has n requests that match since a mark.
func (b *bench) await(ctx context.Context, what string, mark, n int, match func(*audit.Entry) bool) ([]audit.Entry, error) {
	var found []audit.Entry
	err := env.WaitFor(ctx, patience, what, func(context.Context) (bool, string) {
		var err error
		found, err = b.audit.Since(mark, match)
		if err != nil {
			return false, err.Error()
		}
		return len(found) >= n, fmt.Sprintf("%d of %d", len(found), n)
	})
	return found, err
}

// writesSince returns the writes of a binary since a mark, and what the first were.
func (b *bench) writesSince(mark int, account string) (n int, examples map[string]int, err error) {
	found, err := b.audit.Since(mark, func(e *audit.Entry) bool { return e.Account == account && write(e) })
	examples = map[string]int{}
	for i := range found {
		examples[fmt.Sprintf("%s %s %d", found[i].Verb, found[i].Resource, found[i].Code)]++
	}
	return len(found), examples, err
}
