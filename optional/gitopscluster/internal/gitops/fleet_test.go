// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agents"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/register"
	"open-cluster-management.io/multicluster-integrations/shared/clustersecret"
	"open-cluster-management.io/multicluster-integrations/shared/limit"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var serial atomic.Int64

func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, serial.Add(1)) }

// fleet is an Argo CD of the hub, and a namespace with its GitOpsClusters.
type fleet struct {
	t testing.TB
	// argocd is the namespace of the Secrets. team is the namespace of the GitOpsClusters and Placements.
	argocd, team string
	options      Options
	// fails is the request of gitopscluster that fails, as "verb resource".
	fails string
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	f := &fleet{t: t, argocd: unique("argocd"), team: unique("team")}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.argocd, Labels: map[string]string{intent.AdmitLabel: "true", intent.AdmitAgentsLabel: "true"}}})
	f.namespace(f.team)
	f.grantSecrets(f.argocd)
	f.options = Options{Namespaces: []string{f.argocd}, RemovalLimit: limit.Limit{Percent: 20, Least: 1}, Recheck: 50 * time.Millisecond, HubNamespace: "default"}
	return f
}

func (f *fleet) namespace(name string) {
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// grantSecrets creates the Roles of gitopscluster's account for an Argo CD.
func (f *fleet) grantSecrets(namespace string) {
	var keys []rbacv1.PolicyRule
	for _, rule := range hub.keys {
		if len(rule.ResourceNames) > 0 {
			rule.ResourceNames = []string{certificates.KeyName(namespace)}
		}
		keys = append(keys, rule)
	}
	for in, rules := range map[types.NamespacedName][]rbacv1.PolicyRule{
		{Namespace: namespace, Name: "secrets"}: hub.secrets, {Namespace: certificates.DefaultKeyNamespace, Name: "key-of-" + namespace}: keys,
	} {
		meta := metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name}
		f.create(&rbacv1.Role{ObjectMeta: meta, Rules: rules})
		f.create(&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}},
		})
		for _, rule := range rules {
			f.allowed(in.Namespace, rule)
		}
	}
}

// allowed waits until the API server grants a rule to gitopscluster's account.
func (f *fleet) allowed(namespace string, rule rbacv1.PolicyRule) {
	f.t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0],
	}}}
	if len(rule.ResourceNames) > 0 {
		review.Spec.ResourceAttributes.Name = rule.ResourceNames[0]
	}
	testkit.Eventually(f.t, "the permissions in "+namespace, func() error {
		asked := review.DeepCopy()
		if err := hub.client.Create(context.Background(), asked); err != nil {
			return err
		}
		if !asked.Status.Allowed {
			return fmt.Errorf("not allowed: %s", asked.Status.Reason)
		}
		return nil
	})
}

func (f *fleet) create(o client.Object) {
	f.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		f.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// start runs registration and GitOpsClusters with gitopscluster's account.
func (f *fleet) start() (record *recorder, stop func()) {
	f.t.Helper()
	record = &recorder{fails: f.fails}
	as := rest.CopyConfig(hub.config)
	as.Impersonate.UserName = account
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { record.next = next; return record })
	skip := true
	caches := Caches(f.options.Namespaces...)
	if f.options.Agents != nil {
		maps.Copy(caches, agents.Caches(f.options.Namespaces))
	}
	informers, err := Informers(as)
	if err != nil {
		f.t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.New(&logs), Cache: cache.Options{ByObject: caches, NewInformer: informers, DefaultTransform: intent.Transform},
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	assignments, err := Setup(f.t.Context(), mgr, f.options)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := register.Setup(f.t.Context(), mgr, register.Options{Namespaces: f.options.Namespaces, Grace: f.options.Grace, Scope: assignments, Requeue: assignments.Requeue()}); err != nil {
		f.t.Fatal(err)
	}
	stop = testkit.Run(f.t, mgr)
	f.t.Cleanup(func() {
		stop()
		record.mu.Lock()
		defer record.mu.Unlock()
		if len(record.denied) > 0 {
			f.t.Errorf("the shipped roles do not allow: %q", record.denied)
		}
	})
	return record, stop
}

// clusters creates n accepted ManagedClusters. They are deleted after the test.
func (f *fleet) clusters(n int) []string {
	f.t.Helper()
	names := make([]string, n)
	for i := range names {
		c := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: unique("c")}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
		names[i] = c.Name
		f.create(c)
		f.t.Cleanup(func() {
			if err := hub.client.Delete(context.Background(), c); client.IgnoreNotFound(err) != nil {
				f.t.Errorf("delete ManagedCluster %s: %v", c.Name, err)
			}
		})
	}
	return names
}

// placement creates a Placement and its decision with these clusters.
func (f *fleet) placement(name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	f.t.Helper()
	p := &clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name}}
	f.create(p)
	f.decided(p)
	return f.decision(name, clusters...)
}

// decided marks a Placement as satisfied, as OCM does.
func (f *fleet) decided(p *clusterv1beta1.Placement) {
	f.t.Helper()
	testkit.EditStatus(f.t, hub.client, p, func(p *clusterv1beta1.Placement) {
		p.Status.Conditions = []metav1.Condition{{Type: clusterv1beta1.PlacementConditionSatisfied, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: metav1.Now()}}
	})
}

func (f *fleet) decision(name string, clusters ...string) *clusterv1beta1.PlacementDecision {
	f.t.Helper()
	d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name + "-decision-1", Labels: map[string]string{clusterv1beta1.PlacementLabel: name}}}
	f.create(d)
	f.decide(d, clusters...)
	return d
}

func (f *fleet) decide(d *clusterv1beta1.PlacementDecision, clusters ...string) {
	f.t.Helper()
	testkit.EditStatus(f.t, hub.client, d, func(d *clusterv1beta1.PlacementDecision) {
		d.Status.Decisions = []clusterv1beta1.ClusterDecision{}
		for _, c := range clusters {
			d.Status.Decisions = append(d.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: c})
		}
	})
}

// gitops creates a GitOpsCluster of v1beta1.
func (f *fleet) gitops(name, placement string, change ...func(*v1beta1.GitOpsCluster)) *v1beta1.GitOpsCluster {
	f.t.Helper()
	o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: name}}
	o.Spec.ArgoServer = &v1beta1.ArgoServerSpec{ArgoNamespace: f.argocd, Cluster: "local-cluster"}
	o.Spec.PlacementRef = corev1.ObjectReference{APIVersion: "cluster.open-cluster-management.io/v1beta1", Kind: "Placement", Name: placement, Namespace: "not-read"}
	for _, c := range change {
		c(o)
	}
	f.create(o)
	f.t.Cleanup(func() { f.release(o) })
	return o
}

// release deletes a GitOpsCluster without its finalizers, so that it does not affect the next test.
func (f *fleet) release(o *v1beta1.GitOpsCluster) {
	ctx, at := context.Background(), &v1beta1.GitOpsCluster{}
	for {
		err := hub.client.Get(ctx, client.ObjectKeyFromObject(o), at)
		if err != nil {
			return // deleted, possibly with its CRD
		}
		at.Finalizers = nil
		if err = hub.client.Update(ctx, at); err == nil {
			err = hub.client.Delete(ctx, at)
		}
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			f.t.Errorf("release GitOpsCluster %s: %v", o.Name, err)
			return
		}
	}
}

// says waits until a condition of a GitOpsCluster has this status and reason.
func (f *fleet) says(o *v1beta1.GitOpsCluster, kind string, status metav1.ConditionStatus, reason string) *v1beta1.GitOpsCluster {
	f.t.Helper()
	at := &v1beta1.GitOpsCluster{}
	testkit.Eventually(f.t, fmt.Sprintf("%s %s/%s of %s", kind, status, reason, o.Name), func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), at); err != nil {
			return err
		}
		c := meta.FindStatusCondition(at.Status.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason || c.ObservedGeneration != at.Generation {
			return fmt.Errorf("generation %d, conditions are %+v", at.Generation, at.Status.Conditions)
		}
		return nil
	})
	return at
}

// ready waits until a GitOpsCluster is ready with this number of clusters.
func (f *fleet) ready(o *v1beta1.GitOpsCluster, clusters int) *v1beta1.GitOpsCluster {
	f.t.Helper()
	var at *v1beta1.GitOpsCluster
	testkit.Eventually(f.t, fmt.Sprintf("%s to be ready with %d", o.Name, clusters), func() error {
		at = &v1beta1.GitOpsCluster{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), at); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(at.Status.Conditions, v1beta1.ConditionReady) || at.Status.Clusters.Registered != clusters || at.Status.Clusters.Selected != clusters {
			return fmt.Errorf("clusters %+v, conditions %+v", at.Status.Clusters, at.Status.Conditions)
		}
		return nil
	})
	return at
}

// secrets returns our cluster Secrets in a namespace, by cluster.
func (f *fleet) secrets(namespace string) map[string]*corev1.Secret {
	f.t.Helper()
	list := &corev1.SecretList{}
	if err := hub.client.List(context.Background(), list, client.InNamespace(namespace), clustersecret.Selector); err != nil {
		f.t.Fatal(err)
	}
	found := map[string]*corev1.Secret{}
	for i := range list.Items {
		if clustersecret.IsOwn(&list.Items[i]) {
			found[clustersecret.ClusterName(&list.Items[i])] = &list.Items[i]
		}
	}
	return found
}

func (f *fleet) registered(clusters ...string) {
	f.t.Helper()
	want := slices.Sorted(slices.Values(clusters))
	testkit.Eventually(f.t, fmt.Sprintf("Secrets of %v", want), func() error {
		var got []string
		for name := range f.secrets(f.argocd) {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
}

func (f *fleet) gone(o client.Object) {
	f.t.Helper()
	testkit.Eventually(f.t, o.GetName()+" to be gone", func() error {
		err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

func nameOf(o client.Object) string {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}
