// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestBurst_needsFewWrites(t *testing.T) {
	const apps = 200
	w := newWorld(t)
	through := &tap{}
	start(t, through, "--intermediate-dir="+t.TempDir())
	w.applicationSet("guestbook")
	cluster := w.cluster("cluster1", metav1.ConditionTrue)
	all := make(chan app, apps)
	for i := range apps {
		a := app{"guestbook", fmt.Sprintf("app-%03d", i), cluster}
		w.deliver(a)
		all <- a
	}
	close(all)
	testkit.Eventually(t, "all rows", func() error {
		if r, err := w.read("guestbook"); err != nil || r.Statuses.Summary.NotHealthy != "200" {
			return fmt.Errorf("%+v: %w", r.Statuses.Summary, err)
		}
		return nil
	})
	before := len(through.writesOf(w.namespace, "guestbook"))
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for a := range all {
				w.report(a, healthy())
			}
		})
	}
	workers.Wait()
	testkit.Eventually(t, "every row healthy", func() error {
		if r, err := w.read("guestbook"); err != nil || r.Statuses.Summary.Healthy != "200" {
			return fmt.Errorf("%+v: %w", r.Statuses.Summary, err)
		}
		return nil
	})
	// The duration of a burst depends on the machine, so this limit is wide. Tests with an
	// artificial clock check the pace itself.
	if writes := len(through.writesOf(w.namespace, "guestbook")) - before; writes > apps/5 {
		t.Errorf("%d writes for %d changes", writes, apps)
	} else {
		t.Logf("%d writes for %d changes", writes, apps)
	}
}
