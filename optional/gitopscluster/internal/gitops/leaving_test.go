// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// If a Placement drops half of its clusters at once, all of them stay registered until a person confirms
// the removal.
func TestLeaving_holdsBackTooManyClusters(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(6)
	decision := f.placement("all", clusters...)
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 6)
	f.decide(decision, clusters[:3]...)
	at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
	f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonHeldBack)
	if at.Status.Clusters.Leaving != 3 || len(at.Status.Leaving) != 3 || !strings.Contains(at.Status.Message, intent.ConfirmRemovalAnnotation+" to 3") {
		t.Errorf("status is %+v, %s", at.Status.Clusters, at.Status.Message)
	}
	f.registered(clusters...)

	stop() // a restart changes nothing
	f.start()
	probe := f.gitops("probe", "none")
	f.says(probe, v1beta1.ConditionReady, metav1.ConditionFalse, reasonPlacementNotFound)
	f.registered(clusters...)

	confirm := func(n int) {
		testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) {
			o.Annotations = map[string]string{intent.ConfirmRemovalAnnotation: strconv.Itoa(n)}
		})
	}
	confirm(2) // too few, and the message must show the new number
	testkit.Eventually(t, "the message to name the new number", func() error {
		at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
		if !strings.Contains(at.Status.Message, "2 may leave") {
			return fmt.Errorf("it is %s", at.Status.Message)
		}
		return nil
	})
	f.registered(clusters...)
	confirm(3)
	f.registered(clusters[:3]...)
	f.ready(o, 3)
}

// A cluster leaves after the grace period, and may return within it. A restart starts the grace period
// again.
func TestLeaving_waitsForTheGracePeriod(t *testing.T) {
	f := newFleet(t)
	f.options.Grace = time.Hour // longer than any test run
	clusters := f.clusters(3)
	decision := f.placement("all", clusters...)
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 3)
	leaves := func() {
		t.Helper()
		f.decide(decision, clusters[:2]...)
		at := f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonWaiting)
		if len(at.Status.Leaving) != 1 || at.Status.Leaving[0].Cluster != clusters[2] || at.Status.Leaving[0].Since == nil {
			t.Errorf("leaving: %+v", at.Status.Leaving)
		}
	}
	leaves()
	f.decide(decision, clusters...)
	f.ready(o, 3)
	leaves()
	f.registered(clusters...)

	stop()
	f.options.Grace = 2 * time.Second
	began := time.Now()
	f.start()
	f.registered(clusters[:2]...)
	if lasted := time.Since(began); lasted < f.options.Grace {
		t.Errorf("it left after %s", lasted)
	}
	f.ready(o, 2)
}

// agentsStay reports an error unless the agents of these clusters are neither removed nor re-created. first
// has the UIDs of their objects, and gets them at the first call.
func (f *fleet) agentsStay(first map[string]types.UID, when string, clusters ...string) {
	f.t.Helper()
	for _, cluster := range clusters {
		for _, o := range []client.Object{
			&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.WorkName}},
			&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.AddOnName}},
		} {
			if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil || !o.GetDeletionTimestamp().IsZero() {
				f.t.Errorf("%s: %T of %s leaves since %v: %v", when, o, cluster, o.GetDeletionTimestamp(), err)
				continue
			}
			which := fmt.Sprintf("%T %s", o, cluster)
			if first[which] == "" {
				first[which] = o.GetUID()
			}
			if o.GetUID() != first[which] {
				f.t.Errorf("%s: %s was re-created", when, which)
			}
		}
	}
}

// The agent of a cluster with another writer's Secret has the same protection as other agents. It stays
// while the decisions are unknown, for the grace period, if too many would leave, and while the deletion of
// its GitOpsCluster waits. It leaves at once if the cluster is no longer accepted.
func TestLeaving_protectsAgentsOnTakenClusters(t *testing.T) {
	f, ctx := newFleet(t), t.Context()
	f.withPrincipal()
	f.options.Grace = time.Hour // longer than any test run
	clusters := f.clusters(5)
	for i, cluster := range clusters {
		f.available(cluster)
		if i > 0 {
			f.create(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "theirs-" + cluster, Labels: map[string]string{argocd.SecretTypeLabel: argocd.SecretTypeCluster}},
				StringData: map[string]string{"name": cluster, "server": "https://theirs"},
			})
		}
	}
	decision := f.placement("all", clusters...)
	record, stop := f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.carry("192.0.2.1", clusters...)
	first := map[string]types.UID{}
	f.agentsStay(first, "at first", clusters...)

	if err := hub.client.Delete(ctx, decision); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionPlacementResolved, metav1.ConditionFalse, reasonNoDecision)
	record.settled(t)
	f.agentsStay(first, "without decisions", clusters...)
	decision = f.decision("all", clusters[:4]...)
	at := f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonWaiting)
	if len(at.Status.Leaving) != 1 || at.Status.Leaving[0].Cluster != clusters[4] {
		t.Errorf("leaving: %+v", at.Status.Leaving)
	}
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "theirs-" + clusters[4]}}
	if err := hub.client.Delete(ctx, theirs); err != nil {
		t.Fatal(err)
	}
	record.settled(t)
	f.agentsStay(first, "for the grace period", clusters...)
	if got := f.secrets(f.argocd); len(got) != 1 || got[clusters[0]] == nil {
		t.Errorf("a cluster that is not selected got a Secret: there are %d", len(got))
	}
	f.decide(decision, clusters[:2]...)
	f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonHeldBack)
	testkit.Edit(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: clusters[3]}}, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	f.gone(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: clusters[3], Name: agent.WorkName}})
	record.settled(t)
	f.agentsStay(first, "if too many would leave", clusters[0], clusters[1], clusters[2], clusters[4])

	stop()
	f.options.Grace = 0
	f.decide(decision, clusters[:3]...)
	record, _ = f.start()
	f.gone(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: clusters[4], Name: agent.WorkName}})
	f.agentsStay(first, "though another one has left", clusters[:3]...)
	f.registered(clusters[0])

	f.pulled("app", clusters[0])
	if err := hub.client.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
	record.settled(t)
	f.agentsStay(first, "while the deletion waits", clusters[:3]...)
}

// If every cluster is registered, and another writer's Secret of a cluster with an agent is deleted, the
// cluster gets a Secret of ours that names no GitOpsCluster. Its agent stays protected.
func TestLeaving_protectsAgentsOfClustersThatAreRegisteredAnyway(t *testing.T) {
	f := newFleet(t)
	f.withPrincipal()
	f.options.Every = true
	f.options.Grace = time.Hour // longer than any test run
	cluster := f.clusters(1)[0]
	f.available(cluster)
	theirs := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "theirs-" + cluster, Labels: map[string]string{argocd.SecretTypeLabel: argocd.SecretTypeCluster}},
		StringData: map[string]string{"name": cluster, "server": "https://theirs"},
	}
	f.create(theirs)
	decision := f.placement("all", cluster)
	record, stop := f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.carry("192.0.2.1", cluster)
	first := map[string]types.UID{}
	f.agentsStay(first, "at first", cluster)

	if err := hub.client.Delete(t.Context(), decision); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionPlacementResolved, metav1.ConditionFalse, reasonNoDecision)
	if err := hub.client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	f.registered(cluster)
	record.settled(t)
	f.agentsStay(first, "without decisions", cluster)
	if holders := clustersecret.Holders(f.secrets(f.argocd)[cluster]); len(holders) > 0 {
		t.Errorf("a cluster that is not selected got the holders %q", holders)
	}
	status, err := Preview(t.Context(), hub.client, o, f.options)
	if err != nil || slices.ContainsFunc(status.Plan, func(w v1beta1.PlannedWrite) bool { return w.Name == clustersecret.Name(cluster) }) {
		t.Errorf("the plan is %+v, %v", status.Plan, err)
	}
	other := f.clusters(1)[0]
	f.available(other)
	f.decision("all", other)
	at := f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonWaiting)
	if len(at.Status.Leaving) != 1 || at.Status.Leaving[0].Cluster != cluster {
		t.Errorf("leaving: %+v", at.Status.Leaving)
	}
	record.settled(t)
	f.agentsStay(first, "for the grace period", cluster)

	stop()
	f.options.Grace = 0
	f.start()
	f.gone(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.WorkName}})
}

// A GitOpsCluster keeps its finalizer until its Secrets are deleted. Clusters of other GitOpsClusters stay.
func TestDeletion_waitsForTheSecrets(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(4)
	f.placement("some", clusters[:3]...)
	f.placement("other", clusters[3])
	f.start()
	o, other := f.gitops("fleet", "some"), f.gitops("other", "other")
	f.ready(o, 3)
	f.ready(other, 1)
	stay := f.secrets(f.argocd)[clusters[0]]
	testkit.Edit(t, hub.client, stay, func(s *corev1.Secret) { s.Finalizers = []string{"test.example.com/hold"} })
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDeleting)
	if !slices.Contains(at.Finalizers, intent.GitOpsClusterFinalizer) {
		t.Error("it let go of its finalizer while a Secret is there")
	}
	f.registered(clusters[0], clusters[3])
	testkit.Edit(t, hub.client, stay, func(s *corev1.Secret) { s.Finalizers = nil })
	f.gone(o)
	f.registered(clusters[3])
	f.ready(other, 1)
}

// The deletion of a GitOpsCluster waits while clusters that would lose their Secret have pulled
// Applications. Without the Secret, generators would delete these Applications and their workloads. Another
// GitOpsCluster that holds the Secret ends the wait, and so does a confirmation of the right number. A
// restart does not.
func TestDeletion_waitsForPulledApplications(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(3)
	f.placement("all", clusters...)
	f.placement("first", clusters[0])
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 3)
	for i, cluster := range clusters[:2] {
		f.pulled(fmt.Sprintf("app-%d", i), cluster)
	}
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	held := func(names ...string) {
		t.Helper()
		names = slices.Sorted(slices.Values(names))
		testkit.Eventually(t, "the deletion to wait for "+strings.Join(names, ", "), func() error {
			at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
			if !strings.Contains(at.Status.Message, ": "+strings.Join(names, ", ")+". ") || !strings.Contains(at.Status.Message, fmt.Sprintf("%s to %d", intent.ConfirmRemovalAnnotation, len(names))) {
				return fmt.Errorf("the message is %q", at.Status.Message)
			}
			return nil
		})
		f.registered(clusters...)
	}
	held(clusters[:2]...)
	stop()
	f.start()
	confirm := func(n int) {
		t.Helper()
		testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) {
			o.Annotations = map[string]string{intent.ConfirmRemovalAnnotation: strconv.Itoa(n)}
		})
	}
	confirm(1)
	held(clusters[:2]...)
	f.ready(f.gitops("other", "first"), 1)
	f.gone(o) // one cluster remains to be confirmed, and the annotation confirms one
	f.registered(clusters[0])
}

// While a deletion waits for a confirmation, every event of the hub causes a pass. Only one pass in
// thirty seconds lists the pulled Applications.
func TestDeletion_listsPulledApplicationsOnce(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(4)
	f.placement("all", clusters[:2]...)
	decision := f.placement("other", clusters[2])
	record, _ := f.start()
	o, other := f.gitops("fleet", "all"), f.gitops("other", "other")
	f.ready(o, 2)
	f.ready(other, 1)
	f.pulled("app", clusters[0])
	began := time.Now()
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
	for i := range 10 {
		n := 1 + (i+1)%2
		f.decide(decision, clusters[2:2+n]...)
		f.ready(other, n)
	}
	allowed := 1 + int(time.Since(began)/pulledInterval)
	if n := record.counts()["list applications"]; n < 1 || n > allowed {
		t.Errorf("Applications were listed %d times, want at most %d", n, allowed)
	}
	f.registered(clusters[:3]...)
}

// counting counts the lists of a reader.
type counting struct {
	client.Reader
	lists int
}

func (c *counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, options...)
}

// A remembered list only makes a deletion wait longer. It counts for the same clusters and for thirty
// seconds. A deletion begins after a new list.
func TestUnconfirmed_remembersAWait(t *testing.T) {
	f := newFleet(t)
	first, second, other := unique("pulled"), unique("pulled"), unique("pulled")
	f.pulled("first", first)
	f.pulled("second", second)
	live := &counting{Reader: hub.client}
	r := &Reconciler{client: hub.client, live: live, options: f.options, assignments: NewAssignments(""), waits: map[types.NamespacedName]wait{}}
	o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "fleet"}}
	is := found{intent: intent.Intent{ArgoNamespace: f.argocd}, held: map[string]bool{first: true},
		secrets: map[string]*corev1.Secret{first: {}, second: {}, other: {}}}
	waits := func(when string, lists int, want ...string) {
		t.Helper()
		slices.Sort(want)
		got, err := r.unconfirmed(t.Context(), o, is)
		if err != nil || !slices.Equal(got, want) || live.lists != lists {
			t.Errorf("%s: it waits for %q after %d lists, want %q after %d; %v", when, got, live.lists, want, lists, err)
		}
	}
	waits("at first", 1, first)
	waits("in the next pass", 1, first)
	is.held = map[string]bool{first: true, second: true}
	waits("with one more cluster", 2, first, second)
	is.intent.Confirmed = 1
	waits("with too low a number confirmed", 2, first, second)
	is.intent.Confirmed = 2
	is.held[other] = true
	waits("with both confirmed", 3)
	is.intent.Confirmed = 1
	waits("with a lower number again", 4, first, second)
	r.waits[key(o)] = wait{time.Now().Add(-pulledInterval), is.held, []string{first, second}}
	for _, name := range []string{"first", "second"} {
		if err := hub.client.Delete(t.Context(), &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	waits("after thirty seconds", 5)
}

// pulled creates a pulled Application of a cluster in Argo CD's namespace.
func (f *fleet) pulled(name, cluster string) {
	f.t.Helper()
	f.create(&argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: name, Labels: map[string]string{contract.PullLabel: "true"}, Annotations: map[string]string{contract.ClusterAnnotation: cluster}},
		Spec:       json.RawMessage(`{"project":"default","source":{"repoURL":"https://example.com/x.git"},"destination":{"server":"https://kubernetes.default.svc"}}`),
	})
}

// Existing Secrets without a GitOpsCluster stay while Argo CD's namespace has no GitOpsCluster. The first
// one there removes them, after a confirmation if they are too many.
func TestRegistration_movesFromAllToGitOpsClusters(t *testing.T) {
	f := newFleet(t)
	f.options.Every = true
	clusters := f.clusters(4)
	f.placement("two", clusters[0], clusters[1])
	_, stop := f.start()
	f.registered(clusters...)
	stop()
	f.options.Every = false
	f.start()
	if at := f.ready(f.gitops("tenant", "two"), 2); at.Status.Clusters.Leaving != 0 {
		t.Errorf("a GitOpsCluster of another namespace has %d clusters leave that no one else holds", at.Status.Clusters.Leaving)
	}
	f.registered(clusters...)
	f.team = f.argocd
	f.placement("two", clusters[0], clusters[1])
	o := f.gitops("fleet", "two")
	at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonHeldBack)
	if at.Status.Clusters.Leaving != 2 {
		t.Errorf("%d are leaving", at.Status.Clusters.Leaving)
	}
	f.registered(clusters...)
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) {
		o.Annotations = map[string]string{intent.ConfirmRemovalAnnotation: "2"}
	})
	f.registered(clusters[0], clusters[1])
	f.ready(o, 2)
}
