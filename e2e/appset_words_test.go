// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// worded is an ApplicationSet for one cluster, with one Application for each listed part. Its tests check
// that Argo CD's own safety settings also apply to delivered Applications.

const worded = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: NAME, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [ELEMENTS]}}]
  syncPolicy: POLICY
  template:
    metadata:
      name: 'NAME-{{.part}}'
      labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
      annotations: {apps.open-cluster-management.io/ocm-managed-cluster: CLUSTER, argocd.argoproj.io/skip-reconcile: "true"}
    spec:
      project: guestbook
      revisionHistoryLimit: LIMIT
      source: {repoURL: "https://github.com/argoproj/argocd-example-apps.git", targetRevision: main, path: 'NAME-{{.part}}'}
      destination: {server: https://kubernetes.default.svc, namespace: guestbook}
      syncPolicy: {automated: {prune: true}}
`

// wordedSet is an ApplicationSet of these tests.
type wordedSet struct {
	t             *testing.T
	name, cluster string
	policy        string
	annotations   map[string]string
}

func newWordedSet(t *testing.T, word, cluster, policy string, parts ...string) *wordedSet {
	t.Helper()
	s := &wordedSet{t: t, name: word + "-" + cluster, cluster: cluster, policy: policy}
	content := map[string]string{}
	for _, part := range parts {
		content[s.app(part)+"/config.yaml"] = strings.ReplaceAll(survivor, "NAME", s.app(part))
	}
	if _, err := fleet.Git.Commit(t.Context(), "Have a word: "+s.name, content); err != nil {
		t.Fatal(err)
	}
	afterwards(t, "delete what "+s.name+" left", s.remove)
	return s
}

func (s *wordedSet) app(part string) string { return s.name + "-" + part }

// apply applies the ApplicationSet with the listed parts and with a revisionHistoryLimit in its template.
func (s *wordedSet) apply(limit int, parts ...string) {
	s.t.Helper()
	elements := make([]string, 0, len(parts))
	for _, part := range parts {
		elements = append(elements, "{part: "+part+"}")
	}
	text := strings.NewReplacer("NAME", s.name, "CLUSTER", s.cluster, "POLICY", s.policy, "ELEMENTS", strings.Join(elements, ", "), "LIMIT", fmt.Sprint(limit)).Replace(worded)
	set := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &set.Object); err != nil {
		s.t.Fatal(err)
	}
	set.SetAnnotations(s.annotations)
	if err := fleet.Hub.Apply(s.t.Context(), set); err != nil {
		s.t.Fatal(err)
	}
}

func (s *wordedSet) delete(ctx context.Context) error {
	set := argocd.ApplicationSetMetadata()
	set.Namespace, set.Name = env.ArgoCDNamespace, s.name
	return client.IgnoreNotFound(fleet.Hub.Client.Delete(ctx, set))
}

// remove deletes the objects that a test has left on the hub and on the cluster.
func (s *wordedSet) remove(ctx context.Context) error {
	if err := s.delete(ctx); err != nil {
		return err
	}
	for _, c := range []*env.Cluster{fleet.Hub, fleet.Cluster(s.cluster)} {
		var list argocd.ApplicationList
		if err := c.Client.List(ctx, &list, client.InNamespace(env.ArgoCDNamespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if a := &list.Items[i]; strings.HasPrefix(a.Name, s.name+"-") {
				if err := client.IgnoreNotFound(c.Client.Delete(ctx, a)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// awaitRuns waits until a part is healthy and returns the UIDs of its workload.
func (s *wordedSet) awaitRuns(part string) map[string]string {
	s.t.Helper()
	await(s.t, s.app(part)+" to run", func() (bool, string) {
		found := running(s.t, s.cluster, s.app(part))
		return len(found) == 4, fmt.Sprint(found)
	})
	awaitWell(s.t, "hub", s.app(part))
	return running(s.t, s.cluster, s.app(part))
}

func hubApplicationGone(t *testing.T, name string) (bool, string) {
	t.Helper()
	a := &argocd.Application{}
	err := fleet.Hub.Client.Get(t.Context(), client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, a)
	return apierrors.IsNotFound(err), fmt.Sprintf("%v %v %s", err, a.Finalizers, a.Status)
}

// With preserveResourcesOnDeletion, Argo CD deletes the Applications and keeps their resources. The same
// holds on the managed cluster when the hub has the setting.
func TestDeletion_keepsPreservedResources(t *testing.T) {
	alongside(t)
	onEachCluster(t, func(t *testing.T, cluster string) {
		s := newWordedSet(t, "preserved", cluster, "{preserveResourcesOnDeletion: true}", "one")
		s.apply(3, "one")
		before := s.awaitRuns("one")
		afterwards(t, "delete what was preserved of "+s.app("one"), func(ctx context.Context) error {
			left := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "guestbook", Name: s.app("one")}}
			return client.IgnoreNotFound(fleet.Cluster(cluster).Client.Delete(ctx, left))
		})
		if err := s.delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, "the Applications to be gone", func() (bool, string) {
			if gone, saw := hubApplicationGone(t, s.app("one")); !gone {
				return false, saw
			}
			_, exists := running(t, cluster, s.app("one"))["Application"]
			return !exists, "the cluster has it"
		})
		awaitNoWork(t, cluster, s.app("one"))
		after := running(t, cluster, s.app("one"))
		delete(before, "Application")
		if fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("what was to be preserved has changed from %v to %v", before, after)
		}
	})
}

// applicationsSync restricts the operations of the ApplicationSet controller on Applications. Propagation
// changes or deletes the delivered Applications only as far as the policy permits.
func TestApplicationsSync_limitsWhatPropagationChanges(t *testing.T) {
	alongside(t)
	limitOf := func(t *testing.T, cluster, name string) string {
		t.Helper()
		_, after, _ := strings.Cut(string(managed(t, cluster, name).Spec), `"revisionHistoryLimit":`)
		return after[:min(1, len(after))]
	}
	for policy, want := range map[string]struct {
		limit string // of part one after a change of the template
		stays bool   // whether part one stays when it is not generated any more
	}{
		"create-only":   {"3", true},
		"create-update": {"7", true},
		"create-delete": {"3", false},
		"sync":          {"7", false},
	} {
		t.Run(policy, func(t *testing.T) {
			alongside(t)
			onEachCluster(t, func(t *testing.T, cluster string) {
				s := newWordedSet(t, policy, cluster, "{applicationsSync: "+policy+"}", "one", "two", "three")
				s.apply(3, "one")
				before := s.awaitRuns("one")
				s.apply(7, "one", "two") // part two shows that the controller has reconciled
				s.awaitRuns("two")
				await(t, "the template's change to count as it may", func() (bool, string) {
					got := limitOf(t, cluster, s.app("one"))
					return got == want.limit && limitOf(t, cluster, s.app("two")) == "7", got
				})
				s.apply(7, "two", "three")
				s.awaitRuns("three")
				if want.stays {
					if after := running(t, cluster, s.app("one")); fmt.Sprint(after) != fmt.Sprint(before) {
						t.Errorf("what was not to be deleted has changed from %v to %v", before, after)
					}
					return
				}
				await(t, "what is not generated any more to be pruned", func() (bool, string) {
					left := running(t, cluster, s.app("one"))
					return len(left) == 0, fmt.Sprint(left)
				})
			})
		})
	}
}

// With Delete=confirm the cluster's Argo CD waits for an approval. The hub reports that it waits for the
// cluster, and the workload stays until then.
func TestDeletion_waitsForTheApprovalOfDeleteConfirm(t *testing.T) {
	const confirm = "metadata: {annotations: {argocd.argoproj.io/sync-options: Delete=confirm}, name:"
	alongside(t)
	onEachCluster(t, func(t *testing.T, cluster string) {
		s := newWordedSet(t, "confirmed", cluster, "{}", "one")
		dear := strings.ReplaceAll(strings.Replace(survivor, "metadata: {name:", confirm, 1), "NAME", s.app("one"))
		if _, err := fleet.Git.Commit(t.Context(), "Hold dear", map[string]string{s.app("one") + "/config.yaml": dear}); err != nil {
			t.Fatal(err)
		}
		s.apply(3, "one")
		before := s.awaitRuns("one")
		if err := s.delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, "the copy to be asked to go", func() (bool, string) {
			existing := managed(t, cluster, s.app("one"))
			return existing.DeletionTimestamp != nil, fmt.Sprint(existing.Finalizers)
		})
		awaitCondition(t, s.app("one"), "not deleted yet: waiting for cluster")
		if after := running(t, cluster, s.app("one")); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Fatalf("what waits for a person has changed from %v to %v", before, after)
		}
		approve := fmt.Sprintf(`{"metadata":{"annotations":{"argocd.argoproj.io/deletion-approved":%q}}}`, time.Now().UTC().Format(time.RFC3339))
		existing := managed(t, cluster, s.app("one"))
		if err := fleet.Cluster(cluster).Client.Patch(t.Context(), existing, client.RawPatch("application/merge-patch+json", []byte(approve))); err != nil {
			t.Fatal(err)
		}
		await(t, "all of it to go", func() (bool, string) {
			left := running(t, cluster, s.app("one"))
			gone, saw := hubApplicationGone(t, s.app("one"))
			return len(left) == 0 && gone, fmt.Sprint(left, saw)
		})
	})
}

// The annotation deletion-policy of an ApplicationSet applies when the ApplicationSet is deleted and
// Kubernetes' garbage collector deletes all its Applications.
func TestHandOver_releasesAnApplicationSet(t *testing.T) {
	alongside(t)
	onEachCluster(t, func(t *testing.T, cluster string) {
		s := newWordedSet(t, "released", cluster, "{}", "one", "two")
		s.annotations = map[string]string{contract.DeletionPolicyAnnotation: "orphan"}
		s.apply(3, "one", "two")
		before := fmt.Sprint(s.awaitRuns("one"), s.awaitRuns("two"))
		if err := s.delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"one", "two"} {
			await(t, "the hub to let it go", func() (bool, string) { return hubApplicationGone(t, s.app(part)) })
			awaitNoWork(t, cluster, s.app(part))
		}
		if after := fmt.Sprint(running(t, cluster, s.app("one")), running(t, cluster, s.app("two"))); after != before {
			t.Errorf("what was to stay has changed from %v to %v", before, after)
		}
	})
}
