// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// deployment creates a Deployment in a new namespace.
func deployment(t *testing.T, c client.Client, labels map[string]string, replicas, running int32) *appsv1.Deployment {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "beside-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	selector := map[string]string{"app": "other"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "multicluster-integrations", Labels: labels},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.invalid/c:v1"}}},
		}},
	}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Status.Replicas = running
	if err := c.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func guard(t *testing.T, config *rest.Config, name string) *conflictingDeployment {
	t.Helper()
	b, err := newConflictingDeployment(&Env{Program: program, Config: config, Options: Options{ConflictingDeployment: name}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func admin(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConflictingDeployment_isRefusedWhileItRuns(t *testing.T) {
	c := admin(t)
	for name, tc := range map[string]struct {
		reason            string
		labels            map[string]string
		replicas, running int32
		config            map[string]string // data of the ConfigMap, nil for no ConfigMap
		refused           bool
	}{
		"runs":        {reason: "two of them undo each other's writes", replicas: 1, running: 1, refused: true},
		"is to run":   {reason: "its pods come any moment", replicas: 1, refused: true},
		"still runs":  {reason: "its last pod works until it is gone", running: 1, refused: true},
		"scaled down": {reason: "nobody works there"},
		"is off":      {reason: "its pods run, its controllers do not", replicas: 1, running: 1, config: map[string]string{switchKey: "true"}},
		"is on":       {reason: "the switch is not set", replicas: 1, running: 1, config: map[string]string{switchKey: "false"}, refused: true},
		"has others":  {reason: "the ConfigMap is about something else", replicas: 1, running: 1, config: map[string]string{"a": "true"}, refused: true},
		"is garbled":  {reason: "nobody can say that it is off", replicas: 1, running: 1, config: map[string]string{switchKey: "yes, please"}, refused: true},
		"is ours":     {reason: "another replica of ours waits for the Lease", labels: map[string]string{partOfLabel: partOf}, replicas: 2, running: 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(t, c, tc.labels, tc.replicas, tc.running)
			if tc.config != nil {
				if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: switchName}, Data: tc.config}); err != nil {
					t.Fatal(err)
				}
			}
			b := guard(t, config, d.Namespace+"/"+d.Name)
			err := b.check(t.Context())
			if errors.Is(err, errConflictingDeployment) != tc.refused || err != nil && !tc.refused {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if tc.refused && !strings.Contains(err.Error(), "Deployment "+d.Namespace+"/"+d.Name) {
				t.Errorf("the error does not name the Deployment: %v", err)
			}
		})
	}
}

func TestConflictingDeployment_mayBeMissing(t *testing.T) {
	if err := guard(t, config, "nowhere/multicluster-integrations").check(t.Context()); err != nil {
		t.Errorf("a Deployment that is not there: %v", err)
	}
	nobody := rest.CopyConfig(config)
	nobody.Impersonate.UserName = "nobody"
	if err := guard(t, nobody, "nowhere/multicluster-integrations").check(t.Context()); err == nil || !strings.Contains(err.Error(), "grant get on it") {
		t.Errorf("without the right to look: %v", err)
	}
	if b := guard(t, nobody, ""); b != nil {
		t.Errorf("without the flag there is a guard: %v", b)
	}
	if _, err := NewManager(t.Context(), &Env{Program: program, Config: nobody, Options: Options{ConflictingDeployment: "a/b"}}, Kinds{}); err == nil {
		t.Error("a manager was made though nobody could look")
	}
}

// A running manager stops if the other Deployment is scaled up.
func TestConflictingDeployment_stopsIfItReturns(t *testing.T) {
	c := admin(t)
	d := deployment(t, c, nil, 0, 0)
	b := guard(t, config, d.Namespace+"/"+d.Name)
	b.period = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- b.Start(ctx) }()
	testkit.Edit(t, c, d, func(d *appsv1.Deployment) { *d.Spec.Replicas = 1 })
	if err := <-stopped; !errors.Is(err, errConflictingDeployment) {
		t.Errorf("got %v", err)
	}
}

// A running manager also stops if the controllers of the other Deployment are switched on.
func TestConflictingDeployment_stopsIfItIsSwitchedOn(t *testing.T) {
	c := admin(t)
	d := deployment(t, c, nil, 1, 1)
	off := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: switchName}, Data: map[string]string{switchKey: "true"}}
	if err := c.Create(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	b := guard(t, config, d.Namespace+"/"+d.Name)
	b.period = 10 * time.Millisecond
	if err := b.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- b.Start(ctx) }()
	testkit.Edit(t, c, off, func(o *corev1.ConfigMap) { delete(o.Data, switchKey) })
	if err := <-stopped; !errors.Is(err, errConflictingDeployment) {
		t.Errorf("got %v", err)
	}
}
