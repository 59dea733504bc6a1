// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A status that comes between two leaders does not wait for the first look at the others.
func TestNewLeaderBeginsWithNewFeedback(t *testing.T) {
	const applications = 40
	f := newFleet(t)
	cluster := f.cluster().Name
	works := make([]*workv1.ManifestWork, applications)
	for i := range works {
		works[i] = f.work(f.app(fmt.Sprintf("app-%d", i), cluster), cluster)
	}
	var read reads
	standby := testkit.NewStandby(t, hub.config, f.namespace)
	mgr, _ := newManager(t, hub.config, Options{Concurrency: 1}, read.wrap, standby.Elect)
	testkit.Run(t, mgr)
	changed, name := works[applications/2], fmt.Sprintf("app-%d", applications/2)
	standby.Knows(changed)
	report(t, changed, healthy...)
	standby.Knows(changed)
	standby.Lead()
	testkit.Until(t, "the leader to look at everything", func() bool { return len(read.first(applications)) == applications })
	if diff := cmp.Diff([]string{name}, read.first(1)); diff != "" {
		t.Errorf("begun with (-want +got):\n%s", diff)
	}
}

// reads are the Applications that were read, each once, in order.
type reads struct {
	mu    sync.Mutex
	names []string
	seen  map[string]bool
}

func (r *reads) wrap(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*argocd.Application); ok {
				r.note(key.Name)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

func (r *reads) note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[name] {
		r.seen[name] = true
		r.names = append(r.names, name)
	}
}

func (r *reads) first(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.names[:min(n, len(r.names))]...)
}
