// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/principal"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.WithWatch
	scheme *runtime.Scheme
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config, hub.scheme = c, runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(hub.scheme), appsv1.AddToScheme(hub.scheme), metav1.AddMetaToScheme(hub.scheme)); err != nil {
			return err
		}
		if hub.client, err = client.NewWithWatch(c, client.Options{Scheme: hub.scheme}); err != nil {
			return err
		}
		return hub.client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: DefaultKeyNamespace}})
	})
}

var serial atomic.Int64

// argo is the namespace of one test's Argo CD, with a separate clock.
type argo struct {
	t         *testing.T
	namespace string
	now       time.Time
	names     []string
	writes    *atomic.Int64
	keeper    *Keeper
}

func newArgo(t *testing.T) *argo {
	t.Helper()
	a := &argo{t: t, namespace: fmt.Sprintf("argocd-%d", serial.Add(1)), now: time.Now().Truncate(time.Second), names: []string{"principal.example.com"}}
	a.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}})
	a.restart(nil)
	return a
}

// restart starts a new keeper. wrap adds a client between the keeper and the API server, nil adds none.
func (a *argo) restart(wrap func(client.WithWatch) client.Client) {
	a.t.Helper()
	config, writes := testkit.CountWrites(hub.config)
	c, err := client.NewWithWatch(config, client.Options{Scheme: hub.scheme})
	if err != nil {
		a.t.Fatal(err)
	}
	a.writes = writes
	var writer client.Client = c
	if wrap != nil {
		writer = wrap(c)
	}
	a.keeper = New(writer, c, Options{Now: func() time.Time { return a.now }})
}

func (a *argo) create(o client.Object) {
	a.t.Helper()
	if err := hub.client.Create(context.Background(), o); err != nil {
		a.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// principal creates the principal's Deployment.
func (a *argo) principal() {
	a.t.Helper()
	labels := map[string]string{"app": "principal"}
	a.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "argocd-agent-principal"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "principal", Image: "argocd-agent:v0.9.0", Args: []string{"principal"}}}},
		}},
	})
}

// rollOut updates the Deployment's status, as the Deployment controller does.
func (a *argo) rollOut() {
	a.t.Helper()
	d := a.deployment()
	testkit.EditStatus(a.t, hub.client, d, func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1}
	})
}

func (a *argo) deployment() *appsv1.Deployment {
	a.t.Helper()
	d := &appsv1.Deployment{}
	if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: a.namespace, Name: "argocd-agent-principal"}, d); err != nil {
		a.t.Fatal(err)
	}
	return d
}

// wanted returns the settings of a GitOpsCluster without clusters.
func (a *argo) wanted(change ...func(*Facts)) Facts {
	a.t.Helper()
	var deployments appsv1.DeploymentList
	if err := hub.client.List(context.Background(), &deployments, client.InNamespace(a.namespace)); err != nil {
		a.t.Fatal(err)
	}
	found, _ := principal.Find(principal.Requirements{Namespace: a.namespace, Address: a.names[0]}, principal.Existing{Deployments: deployments.Items})
	found.Names = append(found.Names, a.names[1:]...)
	w := Facts{Namespace: a.namespace, Principal: found}
	for _, f := range change {
		f(&w)
	}
	return w
}

func (a *argo) ensure(change ...func(*Facts)) State {
	a.t.Helper()
	state, err := a.keeper.Ensure(context.Background(), a.wanted(change...))
	if err != nil {
		a.t.Fatal(err)
	}
	return state
}

func (a *argo) secret(name string) *corev1.Secret {
	a.t.Helper()
	secret, err := get(context.Background(), hub.client, a.namespace, name)
	if err != nil {
		a.t.Fatal(err)
	}
	if secret == nil {
		a.t.Fatalf("there is no Secret %s", name)
	}
	return secret
}

// key returns the Secret with the CA's key.
func (a *argo) key() *corev1.Secret {
	a.t.Helper()
	secret, err := get(context.Background(), hub.client, DefaultKeyNamespace, KeyName(a.namespace))
	if err != nil || secret == nil {
		a.t.Fatalf("the Secret with the key: %v, %v", secret, err)
	}
	return secret
}

// reasons returns the reasons of a state's problems. It skips ReasonKeyExposed, which has a separate test.
func reasons(s State) []string {
	found := []string{}
	for _, p := range s.Problems {
		if p.Reason != ReasonKeyExposed {
			found = append(found, p.Reason)
		}
	}
	return found
}
