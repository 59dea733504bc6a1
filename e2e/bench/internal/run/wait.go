// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/audit"
	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const (
	// patience bounds a wait that ought to end: the longest is for 30,000 ManifestWorks.
	patience = 10 * time.Minute
	// silence is how long the product writes nothing before a fleet is idle. Once nothing
	// changes any more, no report is held back for as long.
	silence = 4 * time.Second
)

func decode(body []byte, out any) error {
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decode the API server's answer: %w", err)
	}
	return nil
}

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
