// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), appsv1.AddToScheme(hub.scheme)); err != nil {
			return err
		}
		hub.client, err = client.New(c, client.Options{Scheme: hub.scheme})
		return err
	})
}

// The result follows the Service, the ConfigMap and, if the hub serves them, Routes.
func TestRead_followsTheHub(t *testing.T) {
	ctx, now := context.Background(), time.Now()
	create := func(o client.Object) {
		t.Helper()
		if err := hub.client.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}})
	mgr, err := ctrl.NewManager(hub.config, ctrl.Options{
		Scheme: hub.scheme, Logger: logr.Discard(), Cache: cache.Options{ByObject: Caches([]string{"argocd"})}, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, mgr)
	r := New(mgr.GetClient(), mgr.GetAPIReader(), func() time.Time { return now })
	eventually := func(what string, check func(principal.Found, []principal.Problem) error) {
		t.Helper()
		testkit.Eventually(t, what, func() error {
			existing, err := r.Read(ctx, "argocd")
			if err != nil {
				return err
			}
			return check(principal.Find(principal.Requirements{Namespace: "argocd"}, existing))
		})
	}
	at := func(address, source string) func(principal.Found, []principal.Problem) error {
		return func(f principal.Found, problems []principal.Problem) error {
			if f.Address != address || f.Source != source {
				return fmt.Errorf("it is at %q from %s: %v", f.Address, f.Source, problems)
			}
			return nil
		}
	}
	reason := func(reason string) func(principal.Found, []principal.Problem) error {
		return func(_ principal.Found, problems []principal.Problem) error {
			for _, p := range problems {
				if p.Reason == reason {
					return nil
				}
			}
			return fmt.Errorf("problems are %v", problems)
		}
	}

	eventually("nothing", reason(principal.ReasonNotFound))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-agent-principal"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
	}}
	create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "other"}, Spec: *service.Spec.DeepCopy()})
	create(service)
	eventually("a Service without an address", reason(principal.ReasonNotExposed))
	balanced := func(ingresses ...corev1.LoadBalancerIngress) {
		testkit.EditStatus(t, hub.client, service, func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = ingresses })
	}
	balanced(corev1.LoadBalancerIngress{IP: "192.0.2.1"})
	eventually("its address", at("192.0.2.1", principal.SourceLoadBalancer))
	balanced(corev1.LoadBalancerIngress{Hostname: "lb.example.com"})
	eventually("another address", at("lb.example.com", principal.SourceLoadBalancer))
	balanced()
	eventually("the loss of its address", reason(principal.ReasonNotExposed))

	labels := map[string]string{"app": "p"}
	reference := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: principal.ParamsName}, Key: "principal.auth"}}
	create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-agent-principal"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "p", Image: "agent:v0.9.0", Args: []string{"principal"}, Env: []corev1.EnvVar{{Name: "ARGOCD_PRINCIPAL_AUTH", ValueFrom: reference}},
		}}}},
	}})
	eventually("its settings", reason(principal.ReasonAuth))
	create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: principal.ParamsName}, Data: map[string]string{"principal.auth": principal.AuthValue}})
	eventually("settings that fit", func(_ principal.Found, problems []principal.Problem) error {
		if reason(principal.ReasonAuth)(principal.Found{}, problems) == nil || reason(principal.ReasonMapping)(principal.Found{}, problems) != nil {
			return fmt.Errorf("problems are %v", problems)
		}
		return nil
	})

	routes(t)
	if existing, err := r.Read(ctx, "argocd"); err != nil || len(existing.Routes) > 0 {
		t.Errorf("a hub without Routes was asked again at once: %v, %v", existing.Routes, err)
	}
	now = now.Add(noRoutesFor)
	eventually("the Route", at("route.example.com", principal.SourceRoute))

	existing, err := r.Read(ctx, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	named, problems := principal.Find(principal.Requirements{Namespace: "argocd", Service: "other"}, existing)
	if named.Service != "other" || len(problems) == 0 {
		t.Errorf("a Service of any name may be named in a spec: found %+v, problems %v", named, problems)
	}
}

// routes adds the Route API of OpenShift to the hub, and a Route.
func routes(t *testing.T) {
	t.Helper()
	names := map[string]any{"kind": "Route", "listKind": "RouteList", "plural": "routes", "singular": "route"}
	anything := map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	kind := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "route.openshift.io", "scope": "Namespaced", "names": names,
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": anything}},
	}}}
	kind.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	kind.SetName("routes.route.openshift.io")
	if err := hub.client.Create(context.Background(), kind); err != nil {
		t.Fatal(err)
	}
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"host": "route.example.com", "to": map[string]any{"kind": "Service", "name": "argocd-agent-principal"},
	}}}
	route.SetGroupVersionKind(schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"})
	route.SetNamespace("argocd")
	route.SetName("principal")
	route.SetLabels(map[string]string{"app.kubernetes.io/part-of": "argocd-agent"})
	testkit.Eventually(t, "the kind Route", func() error { return hub.client.Create(context.Background(), route) })
}
