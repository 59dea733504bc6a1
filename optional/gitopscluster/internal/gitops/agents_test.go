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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// withPrincipal adds a principal with a load balancer to the fleet's Argo CD.
func (f *fleet) withPrincipal() {
	f.t.Helper()
	f.options.Agents = &agents.Options{}
	meta := metav1.ObjectMeta{Namespace: f.argocd, Name: "argocd-agent-principal"}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}}
	f.create(service)
	testkit.EditStatus(f.t, hub.client, service, func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	})
	params := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "argocd-agent-principal-params"}, Data: map[string]string{"principal.listen.host": "0.0.0.0"}}
	f.create(params)
	f.create(&argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "default"}, Spec: json.RawMessage(`{"destinations":[{"server":"*","namespace":"*"}]}`)})
	labels := map[string]string{"app": "p"}
	f.create(&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "p", Image: "quay.io/argoprojlabs/argocd-agent:v0.9.0", Args: []string{"principal", "--auth=" + principal.AuthValue, "--destination-based-mapping"},
			Env: []corev1.EnvVar{{Name: "ARGOCD_PRINCIPAL_LISTEN_HOST", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: params.Name}, Key: "principal.listen.host",
			}}}},
		}}}},
	}})
}

// gitopscluster deletes the CertificateSigningRequest of a cluster without an agent. The permissions of the
// shipped roles suffice for that.
func TestRequestWithoutAddOn_isDeleted(t *testing.T) {
	f := newFleet(t)
	f.options.Agents = &agents.Options{Now: func() time.Time { return time.Now().Add(10 * time.Minute) }}
	clusters := f.clusters(1)
	f.start()
	f.gone(f.request(clusters[0]))
}

// available creates a cluster's Namespace and makes the cluster available.
func (f *fleet) available(cluster string) {
	f.t.Helper()
	f.namespace(cluster)
	f.availability(cluster, metav1.ConditionTrue)
}

func (f *fleet) availability(cluster string, is metav1.ConditionStatus) {
	f.t.Helper()
	c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}
	testkit.EditStatus(f.t, hub.client, c, func(c *clusterv1.ManagedCluster) {
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: is, Reason: "x", LastTransitionTime: metav1.Now()}}
	})
}

func withAgent(o *v1beta1.GitOpsCluster) {
	yes := true
	o.Spec.GitOpsAddon = &v1beta1.GitOpsAddonSpec{Enabled: &yes, ArgoCDAgent: &v1beta1.ArgoCDAgentSpec{Enabled: &yes}}
}

// keyGone acts as a work agent that no longer finds the key.
func keyGone(t *testing.T, cluster string) {
	t.Helper()
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: agent.LeavingWorkName}}
	testkit.Eventually(t, "the look for the key", func() error { return hub.client.Get(context.Background(), client.ObjectKeyFromObject(w), w) })
	testkit.Eventually(t, "the end of the add-on", func() error {
		err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: agent.AddOnName}, &addonv1alpha1.ManagedClusterAddOn{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	testkit.EditStatus(t, hub.client, w, func(w *workv1.ManifestWork) {
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "x", ObservedGeneration: w.Generation, LastTransitionTime: metav1.Now()}}
		w.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: agentNamespaceOf(w), Name: agent.ClientSecretName},
			Conditions: []metav1.Condition{
				{Type: workv1.ManifestApplied, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: metav1.Now()},
				{Type: workv1.ManifestAvailable, Status: metav1.ConditionFalse, Reason: "ResourceNotAvailable", LastTransitionTime: metav1.Now()},
			},
		}}
	})
}

// agentNamespaceOf returns the namespace of the object in the ManifestWork that checks the key.
func agentNamespaceOf(w *workv1.ManifestWork) string {
	var o metav1.PartialObjectMetadata
	if len(w.Spec.Workload.Manifests) == 0 || json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, &o) != nil {
		return ""
	}
	return o.Namespace
}

// nothingOfAKey reports an error if a status, an Event, a metric or the log has a part of a key.
func nothingOfAKey(t *testing.T, o *v1beta1.GitOpsCluster) {
	t.Helper()
	var events corev1.EventList
	if err := hub.client.List(context.Background(), &events); err != nil {
		t.Fatal(err)
	}
	gathered, err := metrics.Registry.Gather()
	if err != nil || len(events.Items) == 0 {
		t.Fatalf("%d Events, metrics: %v", len(events.Items), err)
	}
	for what, in := range map[string]any{"status": o.Status, "Events": events.Items, "metrics": gathered, "log": logs.text()} {
		text, err := json.Marshal(in)
		if err != nil || len(text) < 3 {
			t.Fatalf("%s: %v, %s", what, err, text)
		}
		for _, mark := range []string{"PRIVATE", "keyData"} {
			if _, after, told := strings.Cut(string(text), mark); told {
				t.Errorf("the %s tell of a key: %s %.200s", what, mark, after)
			}
		}
	}
}

// A new cluster gets an agent, and its Secret changes in place. The status reports the controller's wait,
// and nothing about a key. A deletion removes the Secret last. The certificates are deleted with the last
// GitOpsCluster.
func TestAgents_areInstalledAndRemoved(t *testing.T) {
	f := newFleet(t)
	f.withPrincipal()
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	ctx := context.Background()
	f.start()
	o := f.gitops("fleet", "all", withAgent)
	f.says(o, v1beta1.ConditionPrincipalFound, metav1.ConditionTrue, intent.ReasonAsExpected)
	at := f.says(o, v1beta1.ConditionClustersRegistered, metav1.ConditionTrue, intent.ReasonAsExpected)
	if p := at.Status.Principal; p == nil || p.Address != "192.0.2.1" || p.Port != 443 || p.Version != "0.9.0" || at.Status.Mode != intent.ModeManaged {
		t.Errorf("principal %+v, mode %s", p, at.Status.Mode)
	}
	testkit.Eventually(t, "the work of the agent", func() error {
		return hub.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, &workv1.ManifestWork{})
	})
	var secret *corev1.Secret
	testkit.Eventually(t, "the Secret in the agent's shape", func() error {
		if secret = f.secrets(f.argocd)[cluster]; secret == nil || !strings.Contains(string(secret.Data["server"]), "agentName="+cluster) {
			return fmt.Errorf("it is %v", secret)
		}
		return nil
	})
	testkit.Eventually(t, "the status to say what is waited for", func() error {
		at = f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, agent.ReasonWorkNotApplied)
		if len(at.Status.Waiting) != 1 || at.Status.Waiting[0].For == "" {
			return fmt.Errorf("waiting %+v", at.Status.Waiting)
		}
		return nil
	})
	nothingOfAKey(t, at)

	if err := hub.client.Delete(ctx, o); err != nil {
		t.Fatal(err)
	}
	f.says(o, v1beta1.ConditionReady, metav1.ConditionFalse, intent.ReasonDeleting)
	testkit.Eventually(t, "the end of the work", func() error {
		err := hub.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: agent.WorkName}, &workv1.ManifestWork{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
	f.registered(cluster) // the Secret is deleted last
	keyGone(t, cluster)
	f.gone(o)
	f.registered()
	f.gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.argocd, Name: "argocd-agent-ca"}})
}

// A GitOpsCluster may hold clusters that its Placement does not select. It installs no agent on them.
func TestHeldBack_getsNoAgent(t *testing.T) {
	f := newFleet(t)
	f.options.Every = true
	clusters := f.clusters(4)
	_, stop := f.start()
	f.registered(clusters...)
	stop()
	f.options.Every, f.team = false, f.argocd
	f.withPrincipal()
	for _, c := range clusters {
		f.available(c)
	}
	f.placement("two", clusters[0], clusters[1])
	f.start()
	o := f.gitops("fleet", "two", withAgent)
	for _, c := range clusters[:2] {
		testkit.Eventually(t, "the work of "+c, func() error {
			return hub.client.Get(t.Context(), client.ObjectKey{Namespace: c, Name: agent.WorkName}, &workv1.ManifestWork{})
		})
	}
	if at := f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonHeldBack); at.Status.Clusters.Leaving != 2 {
		t.Errorf("%d are leaving", at.Status.Clusters.Leaving)
	}
	for _, c := range clusters[2:] {
		if err := hub.client.Get(t.Context(), client.ObjectKey{Namespace: c, Name: agent.AddOnName}, &addonv1alpha1.ManagedClusterAddOn{}); !apierrors.IsNotFound(err) {
			t.Errorf("a cluster that the Placement does not select gets an agent: %v", err)
		}
	}
}

// A GitOpsCluster that was re-created with the same name does not inherit the confirmation of a deletion.
func TestForget_dropsTheConfirmationOfADeletion(t *testing.T) {
	owner := types.NamespacedName{Namespace: "argocd", Name: "fleet"}
	r := &Reconciler{
		known: map[types.NamespacedName]types.UID{owner: "1"}, confirmed: map[types.NamespacedName]bool{owner: true},
		since: map[types.NamespacedName]map[string]time.Time{owner: {"c1": time.Now()}}, status: &statusWriter{},
	}
	for uid, want := range map[types.UID]bool{"1": true, "2": false} {
		o := v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name, UID: uid}}
		r.known[owner], r.confirmed[owner], r.since[owner] = "1", true, map[string]time.Time{"c1": time.Now()}
		r.forget(&v1beta1.GitOpsClusterList{Items: []v1beta1.GitOpsCluster{o}})
		if r.confirmed[owner] != want || (r.since[owner] != nil) != want {
			t.Errorf("UID %s: confirmed %t, since %v", uid, r.confirmed[owner], r.since[owner])
		}
	}
}

// On a cluster that the Placement does not select, a GitOpsCluster requests an agent only if the cluster's
// Secret shows an agent of this GitOpsCluster. The add-on may be missing, as on a restored hub.
func TestClustersOf(t *testing.T) {
	secret := func(holder, digest string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.GitOpsClustersAnnotation: holder, contract.ConfigDigestAnnotation: digest}}}
	}
	f := found{
		selected: map[string]*clusterv1.ManagedCluster{"selected": {}},
		secrets: map[string]*corev1.Secret{
			"selected": secret("argocd/fleet", "x"), "own": secret("argocd/fleet,argocd/other", "x"),
			"plain": secret("argocd/fleet", ""), "orphan": secret("argocd/gone", "x"),
		},
	}
	selected, held := f.clustersOf("argocd/fleet", map[string]bool{"selected": true, "own": true, "plain": true, "orphan": true, "none": true})
	want := map[string]bool{"own": true, "plain": false, "orphan": false, "none": false}
	if diff := cmp.Diff(want, held); diff != "" || !slices.Equal(selected, []string{"selected"}) {
		t.Errorf("selected %v, held %s", selected, diff)
	}
}
