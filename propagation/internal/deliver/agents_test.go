// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const ignored = `"argocd-agent.argoproj-labs.io/ignore-sync":"true"`

// hubWithAgents returns the namespace of an Argo CD with cluster Secrets that name agents.
func hubWithAgents(t *testing.T) (namespace string, with func(*Options)) {
	t.Helper()
	namespace = fmt.Sprintf("argocd-%d", serial.Add(1))
	(&place{t: t}).create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	return namespace, func(o *Options) { o.AgentNamespaces = []string{namespace} }
}

// agentComes creates the cluster Secret by which the principal maps the cluster of p to its agent.
func agentComes(p *place, namespace string) *corev1.Secret {
	p.t.Helper()
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-" + p.cluster, Labels: map[string]string{
			argocd.SecretTypeLabel: argocd.SecretTypeCluster, argocd.AgentNameLabel: p.cluster,
		}},
		Data: map[string][]byte{"name": []byte(p.cluster), "server": []byte("https://proxy?agentName=" + p.cluster), "config": []byte("{}")},
	}
	p.create(s)
	return s
}

// unnamed removes the name of the destination.
func unnamed(a *argocd.Application) {
	a.Spec = json.RawMessage(strings.ReplaceAll(string(a.Spec), `,"name":"`+a.Annotations[contract.ClusterAnnotation]+`"`, ""))
}

// A pulled Application stays delivered on a cluster that gets an agent. Its copy is marked so that the agent
// ignores it. A restart writes nothing.
func TestArgoCDAgent_ignoresPulledApplications(t *testing.T) {
	namespace, with := hubWithAgents(t)
	p, elsewhere := newPlace(t), newPlace(t)
	first := start(t, with)
	app, other := p.deploy("guestbook", unnamed), elsewhere.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	delivered(t, other, elsewhere.cluster)
	if err := carries(t, app, ignored); err == nil {
		t.Error("without an agent it is ignored already")
	}
	secret := agentComes(p, namespace)
	testkit.Eventually(t, "the mark in the copy", func() error { return carries(t, app, ignored) })
	if now := delivered(t, app, p.cluster); now.UID != work.UID {
		t.Error("the work is another one")
	}
	if err := carries(t, other, ignored); err == nil {
		t.Error("a cluster without agent has the mark as well")
	}
	first.stop()

	second := start(t, with)
	next := p.deploy("next", unnamed)
	delivered(t, next, p.cluster)
	if err := carries(t, next, ignored); err != nil {
		t.Error(err)
	}
	for _, request := range second.requests.in(p.cluster, elsewhere.cluster) {
		if strings.Contains(request, "guestbook") {
			t.Errorf("the restart wrote %s", request)
		}
	}
	remove(t, secret)
	testkit.Eventually(t, "the mark to go with the agent", func() error {
		if carries(t, app, ignored) == nil {
			return errors.New("it is there")
		}
		return nil
	})
}

// propagation does not deliver an Application with an agent as its destination. An existing copy stays, and a
// condition reports that, until the principal ignores the Application or the agent is removed.
func TestArgoCDAgent_preventsASecondDelivery(t *testing.T) {
	namespace, with := hubWithAgents(t)
	p := newPlace(t)
	start(t, with)
	app := p.deploy("guestbook") // its destination is the cluster's name
	work := delivered(t, app, p.cluster)
	secret := agentComes(p, namespace)
	awaitCondition(t, app, policy.ErrorCondition, `to agent "`+p.cluster+`"`)
	awaitCondition(t, app, policy.ErrorCondition, "keeps what was delivered before")
	testkit.Eventually(t, "the Event", func() error { return recorded(app, "the principal of argocd-agent delivers it as well") })
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"edited"`, 1))
	})
	late := p.deploy("late")
	awaitCondition(t, late, policy.ErrorCondition, "not delivered")
	withdrawn(t, late)
	if now := delivered(t, app, p.cluster); now.UID != work.UID || now.Generation != work.Generation {
		t.Errorf("what runs was touched: generation %d, was %d", now.Generation, work.Generation)
	}

	edit(t, app, func(a *argocd.Application) { a.Labels[argocd.IgnoreSyncLabel] = "true" }) // the principal ignores it
	awaitCondition(t, app, policy.ErrorCondition, "")
	testkit.Eventually(t, "the edit", func() error { return errors.Join(carries(t, app, `"path":"edited"`), carries(t, app, ignored)) })
	remove(t, secret)
	awaitCondition(t, late, policy.ErrorCondition, "")
	delivered(t, late, p.cluster)
}

// An Application moves to an agent and back by edits on the hub alone. The test removes the finalizer first,
// so that the deployed resources would stay on the cluster.
func TestArgoCDAgent_takesAnApplicationAndReturnsIt(t *testing.T) {
	namespace, with := hubWithAgents(t)
	p := newPlace(t)
	agentComes(p, namespace)
	start(t, with)
	app := p.deploy("guestbook", unnamed, func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	delivered(t, app, p.cluster)
	if err := carries(t, app, argocd.ResourcesFinalizer); err != nil {
		t.Error(err)
	}
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
	testkit.Eventually(t, "the copy without a finalizer", func() error {
		if carries(t, app, argocd.ResourcesFinalizer) == nil {
			return errors.New("it has one")
		}
		return nil
	})
	edit(t, app, func(a *argocd.Application) {
		delete(a.Labels, contract.PullLabel)
		delete(a.Annotations, contract.ClusterAnnotation)
		delete(a.Annotations, argocd.SkipReconcileAnnotation)
	})
	withdrawn(t, app)
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(strings.Replace(string(a.Spec), `"namespace":"guestbook"`, `"namespace":"guestbook","name":"`+p.cluster+`"`, 1))
	})
	testkit.Eventually(t, "an Application of argocd-agent's that has nothing of ours", func() error {
		if s := storedConditions(t, app); len(s) > 0 {
			return fmt.Errorf("it says %v", s)
		}
		return nil
	})

	back := p.app("guestbook", unnamed)
	edit(t, app, func(a *argocd.Application) { a.Spec = back.Spec })
	edit(t, app, func(a *argocd.Application) {
		a.Labels, a.Annotations = back.Labels, back.Annotations
	})
	delivered(t, app, p.cluster)
	testkit.Eventually(t, "the mark in the copy", func() error { return carries(t, app, ignored) })
}
