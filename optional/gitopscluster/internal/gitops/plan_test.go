// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// lines returns the requests of a plan, one in a line.
func lines(plan []v1beta1.PlannedWrite) []string {
	var list []string
	for _, p := range plan {
		list = append(list, fmt.Sprintf("%s %ss %s/%s", p.Verb, strings.ToLower(p.Kind), p.Namespace, p.Name))
	}
	slices.Sort(list)
	return list
}

// done returns the recorded requests as lines, without those for the status. The path of a create request
// has no name, so done adds it.
func (f *fleet) done(record *recorder, from int) []string {
	var list []string
	created := slices.Sorted(func(yield func(string) bool) {
		for _, s := range f.secrets(f.argocd) {
			if !yield(nameOf(s)) {
				return
			}
		}
	})
	for _, w := range record.written()[from:] {
		switch {
		case strings.Contains(w, "/status "):
		case strings.HasPrefix(w, "create secrets "):
			list = append(list, "create secrets "+created[0])
			created = created[1:]
		default:
			list = append(list, w)
		}
	}
	slices.Sort(list)
	return list
}

// A dry run lists exactly the writes that follow without it: at creation, when clusters leave, and at
// deletion.
func TestDryRun_listsTheWritesOfARealRun(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(3)
	decision := f.placement("all", clusters...)
	record, _ := f.start()
	dry := func(o *v1beta1.GitOpsCluster) { o.Annotations = map[string]string{intent.DryRunAnnotation: "true"} }
	wet := func(o *v1beta1.GitOpsCluster) {
		o.Annotations = map[string]string{intent.ConfirmRemovalAnnotation: "3"}
	}
	o := f.gitops("fleet", "all", dry)
	planned := func(n int) []string {
		t.Helper()
		var at *v1beta1.GitOpsCluster
		testkit.Eventually(t, "the plan", func() error {
			if at = f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDryRun); at.Status.Planned != n || len(at.Status.Plan) != n {
				return fmt.Errorf("it has %d lines: %v", at.Status.Planned, at.Status.Plan)
			}
			return nil
		})
		for _, p := range at.Status.Plan {
			if p.Why == "" {
				t.Errorf("nothing says why: %+v", p)
			}
		}
		return lines(at.Status.Plan)
	}
	plan := planned(4) // a finalizer and three Secrets
	if done := f.done(record, 0); len(done) > 0 {
		t.Errorf("a dry run wrote %q", done)
	}
	if status, err := Preview(context.Background(), hub.client, o, f.options); err != nil || !cmp.Equal(lines(status.Plan), plan) {
		t.Errorf("the preview says %q, %v", lines(status.Plan), err)
	}
	from := len(record.written())
	testkit.Edit(t, hub.client, o, wet)
	f.ready(o, 3)
	if diff := cmp.Diff(plan, f.done(record, from)); diff != "" {
		t.Errorf("first (-planned +done):\n%s", diff)
	}

	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) {
		dry(o)
		o.Annotations[intent.ConfirmRemovalAnnotation] = "3"
	})
	f.decide(decision, clusters[0])
	plan = planned(2)
	f.registered(clusters...)
	from = len(record.written())
	testkit.Edit(t, hub.client, o, wet)
	f.ready(o, 1)
	if diff := cmp.Diff(plan, f.done(record, from)); diff != "" {
		t.Errorf("leaving (-planned +done):\n%s", diff)
	}

	testkit.Edit(t, hub.client, o, dry)
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDryRun)
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	f.registered(clusters[0])
	var at v1beta1.GitOpsCluster
	testkit.Eventually(t, "the plan of the end", func() error {
		at = *f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDeleting)
		if at.Status.Planned != 2 {
			return fmt.Errorf("it is %v", at.Status.Plan)
		}
		return nil
	})
	from = len(record.written())
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Annotations = nil })
	f.gone(o)
	if diff := cmp.Diff(lines(at.Status.Plan), f.done(record, from)); diff != "" {
		t.Errorf("end (-planned +done):\n%s", diff)
	}
}
