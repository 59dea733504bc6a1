// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// gitopscluster registers exactly the accepted clusters of the Placement, and reports it in the status.
func TestRegistration_coversTheAcceptedClusters(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(4)
	testkit.Edit(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: clusters[2]}}, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = false })
	decision := f.placement("all", clusters[0], clusters[1], clusters[2], "local-cluster", "not-there")
	record, _ := f.start()
	o := f.gitops("fleet", "all")
	at := f.ready(o, 2)
	f.registered(clusters[0], clusters[1])
	for _, kind := range []string{v1beta1.ConditionSpecAccepted, v1beta1.ConditionPlacementResolved, v1beta1.ConditionClustersRegistered} {
		f.says(o, kind, metav1.ConditionTrue, intent.ReasonAsExpected)
	}
	if at.Status.Phase != v1beta1.PhaseSuccessful || at.Status.Message == "" || at.Status.LastUpdateTime == nil || at.Status.Mode != intent.ModeRegistration {
		t.Errorf("status is %+v", at.Status)
	}
	if !slices.Contains(at.Finalizers, intent.GitOpsClusterFinalizer) {
		t.Errorf("finalizers are %v", at.Finalizers)
	}
	if s := f.secrets(f.argocd)[clusters[0]]; s.Name != clusters[0]+"-cluster-secret" || s.Annotations[contract.GitOpsClustersAnnotation] != nameOf(o) {
		t.Errorf("the Secret is %s, held by %s", s.Name, s.Annotations[contract.GitOpsClustersAnnotation])
	}

	// A cluster that is added to the Placement is registered. gitopscluster writes nothing to a hub that is
	// up to date.
	f.decide(decision, clusters[0], clusters[1], clusters[3])
	f.ready(o, 3)
	testkit.Edit(t, hub.client, &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: clusters[2]}}, func(c *clusterv1.ManagedCluster) { c.Spec.HubAcceptsClient = true })
	f.decide(decision, clusters...)
	f.ready(o, 4)
	f.looked("before")
	settled := len(record.written())                                       // includes the status that made it ready
	f.decide(decision, clusters[3], clusters[2], clusters[1], clusters[0]) // a different order
	f.looked("after")
	for _, w := range record.written()[settled:] {
		if !strings.Contains(w, "/before") && !strings.Contains(w, "/after") {
			t.Errorf("a settled hub was written to: %s", w)
		}
	}
}

// looked waits until gitopscluster has finished its earlier reconciliations. It reconciles one
// GitOpsCluster after the other.
func (f *fleet) looked(name string) {
	f.t.Helper()
	f.says(f.gitops(name, "none"), v1beta1.ConditionReady, metav1.ConditionFalse, reasonPlacementNotFound)
}

// A restart writes nothing, and removes no cluster.
func TestRestart_writesNothing(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(3)
	f.placement("all", clusters...)
	_, stop := f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 3)
	before := f.secrets(f.argocd)
	stop()
	record, _ := f.start()
	probe := f.gitops("probe", "none")
	f.says(probe, v1beta1.ConditionReady, metav1.ConditionFalse, reasonPlacementNotFound)
	for name, s := range f.secrets(f.argocd) {
		if s.ResourceVersion != before[name].ResourceVersion {
			t.Errorf("the Secret of %s was written", name)
		}
	}
	for _, w := range record.written() {
		if !strings.Contains(w, "/probe") {
			t.Errorf("a restart wrote %s", w)
		}
	}
}

// After a restart the status of agents stays until the agents are read. The condition about Applications
// stays until the Applications are read.
func TestRestart_leavesTheStatusOfAgents(t *testing.T) {
	f := newFleet(t)
	f.team = f.argocd // only a GitOpsCluster in Argo CD's namespace reports Applications
	f.withPrincipal()
	clusters := f.clusters(1)
	f.available(clusters[0])
	f.placement("all", clusters...)
	f.create(&argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "left"}, Spec: json.RawMessage(`{"project":"other","destination":{"name":"gone"}}`)})
	record, stop := f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.allServed(1)
	f.says(o, v1beta1.ConditionOrphaned, metav1.ConditionTrue, "NoAgent")
	record.settled(t)
	stop()
	f.fails = "list appprojects"
	record, stop = f.start()
	record.settled(t)
	stop()
	if wrote := record.written(); len(wrote) > 0 {
		t.Errorf("a restart wrote %q", wrote)
	}
	if record.counts()[f.fails] == 0 {
		t.Error("nothing failed")
	}
}

// If the agents cannot be evaluated for a while, the status shows the cause and no longer reports them as
// connected. No cluster leaves meanwhile. If gitopscluster no longer works on the namespace of the Argo CD,
// the status shows that as well.
func TestStatus_reportsAgentsThatCannotBeEvaluated(t *testing.T) {
	f, second := newFleet(t), newFleet(t)
	f.team = f.argocd // only a GitOpsCluster in Argo CD's namespace reports Applications
	f.withPrincipal()
	var later atomic.Int64
	f.options.Agents.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	clusters := f.clusters(2)
	for _, cluster := range clusters {
		f.available(cluster)
	}
	decision := f.placement("all", clusters...)
	f.create(&argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "left"}, Spec: json.RawMessage(`{"project":"other","destination":{"name":"gone"}}`)})
	record, stop := f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.allServed(2)
	f.says(o, v1beta1.ConditionOrphaned, metav1.ConditionTrue, "NoAgent")
	record.settled(t)
	stop()

	f.fails = "get configmaps"
	record, stop = f.start()
	record.settled(t)
	if wrote := record.written(); len(wrote) > 0 || record.counts()[f.fails] == 0 {
		t.Errorf("before it lasts, it wrote %q after %d failures", wrote, record.counts()[f.fails])
	}
	later.Store(int64(time.Hour))
	f.decide(decision, clusters[0])
	f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonNotEvaluated)
	for _, kind := range []string{v1beta1.ConditionPrincipalFound, v1beta1.ConditionCertificatesReady, v1beta1.ConditionAgentsDeployed, v1beta1.ConditionAgentsConnected} {
		f.says(o, kind, metav1.ConditionUnknown, intent.ReasonNotEvaluated)
	}
	f.says(o, v1beta1.ConditionOrphaned, metav1.ConditionTrue, "NoAgent")
	at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonNotEvaluated)
	if !strings.Contains(at.Status.Message, "get ConfigMap "+f.argocd+"/argocd-agent-principal-params") || !strings.Contains(at.Status.Message, "injected") {
		t.Errorf("the message is %q", at.Status.Message)
	}
	f.registered(clusters...)
	stop()

	f.fails = ""
	_, stop = f.start()
	f.says(o, v1beta1.ConditionPrincipalFound, metav1.ConditionTrue, intent.ReasonAsExpected)
	f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonAgentLeaving)
	stop()
	f.options.Namespaces = []string{second.argocd}
	f.start()
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonNamespaceNotAllowed)
}

// OCM creates an empty PlacementDecision before it fills it. gitopscluster waits until the Placement's
// condition shows that it selects no cluster, unless OCM's scheduling is disabled for it.
func TestReady_waitsUntilThePlacementIsDecided(t *testing.T) {
	f := newFleet(t)
	f.start()
	clusters := f.clusters(1)
	for name, selects := range map[string][]string{"nobody": {}, "some": clusters} {
		placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name}}
		f.create(placement)
		decision := f.decision(name)
		o := f.gitops(name, name)
		f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, reasonNoDecision)
		f.decide(decision, selects...)
		f.decided(placement)
		f.ready(o, len(selects))
	}
	f.create(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "own", Annotations: map[string]string{clusterv1beta1.PlacementDisableAnnotation: "true"}}})
	f.decision("own")
	f.ready(f.gitops("own", "own"), 0)
}

// A GitOpsCluster of v1alpha1 is registered, and its status can be read in both versions.
func TestRegistration_acceptsV1alpha1(t *testing.T) {
	f := newFleet(t)
	f.options.Namespaces = append(f.options.Namespaces, f.team) // v1alpha1 registers in the object's own namespace
	f.grantSecrets(f.team)
	clusters := f.clusters(1)
	f.placement("placement", clusters...)
	f.start()
	o := &v1alpha1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "alpha"}}
	o.Spec.PlacementRef = corev1.ObjectReference{APIVersion: "cluster.open-cluster-management.io/v1beta1", Kind: "Placement", Name: "placement"}
	o.Spec.ArgoCDAgentAddon = &v1beta1.ArgoCDAgentAddonSpec{Mode: "managed"}
	spec := o.Spec.DeepCopy()
	f.create(o)
	beta := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "alpha"}}
	t.Cleanup(func() { f.release(beta) })
	at := f.ready(beta, 1)
	if diff := cmp.Diff(*spec, at.Spec); diff != "" {
		t.Errorf("read as v1beta1:\n%s", diff)
	}
	// Agents are off here, so the condition reports that the agent field has no effect.
	at = f.says(beta, v1beta1.ConditionSpecAccepted, metav1.ConditionTrue, intent.ReasonSomeFieldsUnused)
	if !strings.Contains(at.Status.Conditions[0].Message, "--agents") {
		t.Errorf("the message is %s", at.Status.Conditions[0].Message)
	}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(at.Status, o.Status); diff != "" {
		t.Errorf("the status read as v1alpha1:\n%s", diff)
	}
	if got := f.secrets(f.team); len(got) != 1 || len(f.secrets(f.argocd)) != 0 {
		t.Errorf("%d Secrets in the object's namespace", len(got))
	}
}

// An invalid or forbidden spec is reported with its cause and remedy. gitopscluster writes nothing but the
// status.
func TestRefusal_reportsCauseAndRemedy(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(1)
	f.placement("all", clusters...)
	record, _ := f.start()
	cases := map[string]struct {
		reason, why, remedy string
		change              func(*v1beta1.GitOpsCluster)
	}{
		"elsewhere": {intent.ReasonNamespaceNotAllowed, "an Argo CD that gitopscluster was not told of", "--argocd-namespace", func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoServer.ArgoNamespace = "default" }},
		"dry": {intent.ReasonBadAnnotation, "what was to prevent writes must not be misread", "correct or remove", func(o *v1beta1.GitOpsCluster) {
			o.Annotations = map[string]string{intent.DryRunAnnotation: "yes please"}
		}},
		"confirm": {intent.ReasonBadAnnotation, "nor what lets clusters go", "correct or remove", func(o *v1beta1.GitOpsCluster) {
			o.Annotations = map[string]string{intent.ConfirmRemovalAnnotation: "all"}
		}},
		"port": {intent.ReasonBadField, "a port is a number", "1 to 65535", func(o *v1beta1.GitOpsCluster) {
			yes := true
			o.Spec.GitOpsAddon = &v1beta1.GitOpsAddonSpec{Enabled: &yes, ArgoCDAgent: &v1beta1.ArgoCDAgentSpec{Enabled: &yes, ServerPort: "https"}}
		}},
	}
	for name, c := range cases {
		o := f.gitops(name, "all", c.change)
		at := f.says(o, v1beta1.ConditionSpecAccepted, metav1.ConditionFalse, c.reason)
		f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, c.reason)
		if !strings.Contains(at.Status.Message, c.remedy) || at.Status.Phase != v1beta1.PhaseFailed {
			t.Errorf("%s: %s: the status is %s, %s", name, c.why, at.Status.Phase, at.Status.Message)
		}
	}
	for _, w := range record.written() {
		if !strings.HasPrefix(w, "patch gitopsclusters/status ") {
			t.Errorf("something was written for what is not accepted: %s", w)
		}
	}
}

// Neither the status, an Event nor the log has data of a Secret.
func TestSecret_isNotLoggedOrReported(t *testing.T) {
	const token = "very-s3cret"
	f := newFleet(t)
	clusters := f.clusters(1)
	f.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "by-hand", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}},
		StringData: map[string]string{"name": clusters[0], "server": "https://theirs", "config": token},
	})
	f.placement("all", clusters...)
	f.start()
	o := f.gitops("fleet", "all", func(o *v1beta1.GitOpsCluster) { o.Annotations = map[string]string{intent.DryRunAnnotation: "true"} })
	at := f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDryRun)
	var events corev1.EventList
	testkit.Eventually(t, "an Event", func() error {
		if err := hub.client.List(context.Background(), &events); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Name == o.Name && e.InvolvedObject.Namespace == f.team
		}) {
			return errors.New("none yet")
		}
		return nil
	})
	for what, in := range map[string]any{"status": at.Status, "events": events.Items, "log": logs.text()} {
		text, err := json.Marshal(in)
		if err != nil || strings.Contains(string(text), token) || len(text) < 3 {
			t.Errorf("%s: %v, %.200s", what, err, text)
		}
	}
}

// All clusters stay registered while a Placement or its decisions are missing.
func TestRegistration_keepsClustersWithoutDecisions(t *testing.T) {
	f := newFleet(t)
	clusters := f.clusters(2)
	decision := f.placement("all", clusters...)
	f.start()
	o := f.gitops("fleet", "all")
	f.ready(o, 2)
	ctx := context.Background()
	if err := hub.client.Delete(ctx, decision); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, reasonNoDecision)
	placement := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "all"}}
	testkit.EditStatus(t, hub.client, placement, func(p *clusterv1beta1.Placement) {
		p.Status.Conditions = []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionFalse, Reason: unboundReason, LastTransitionTime: metav1.Now()}}
	})
	f.says(o, v1beta1.ConditionPlacementResolved, metav1.ConditionFalse, reasonNoSetBinding)
	if err := hub.client.Delete(ctx, placement); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, reasonPlacementNotFound)
	f.registered(clusters...)
	f.placement("all", clusters[0])
	testkit.Eventually(t, "the cluster that is out to leave", func() error {
		if got := f.secrets(f.argocd); len(got) != 1 || got[clusters[0]] == nil {
			return fmt.Errorf("%d are there", len(got))
		}
		return nil
	})
}
