// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func (f *fixture) defaultProject(labels map[string]string) *argocd.AppProject {
	f.t.Helper()
	o := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "default", Labels: labels},
		Spec: json.RawMessage(`{"destinations":[{"server":"*","namespace":"*"}],"sourceRepos":["*"]}`)}
	f.create(o)
	return o
}

// The principal must not send the hub's default AppProject, which would overwrite the clusters' own. An
// administrator can allow it with the label. When the last agent is removed, the AppProject gets its old
// labels back.
func TestDefaultProject_isKeptFromAgents(t *testing.T) {
	for name, labels := range map[string]map[string]string{"unset": nil, "sent on purpose": {argocd.IgnoreSyncLabel: "false"}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			o := f.defaultProject(labels)
			c := f.cluster()
			a := f.spec("a", 0, c)
			f.Set(a)
			f.delivered(c, holds("192.0.2.1"))
			if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
			if value := o.Labels[argocd.IgnoreSyncLabel]; labels == nil && value != "true" || labels != nil && value != "false" {
				t.Errorf("the label is %q when an agent is delivered", value)
			}
			a.Agent, a.Clusters = nil, nil
			f.Set(a)
			keyGone(t, f, c)
			testkit.Eventually(t, "the AppProject as it was", func() error {
				if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
					return err
				}
				if len(o.Labels) != len(labels) || o.Annotations[contract.RegisteredByAnnotation] != "" {
					return fmt.Errorf("labels %v, annotations %v", o.Labels, o.Annotations)
				}
				return nil
			})
		})
	}
}

// A cluster without an agent may still have the ManifestWork that checks its key. It cannot overwrite the
// project, so the AppProject gets the label.
func TestDefaultProject_isKeptAlthoughAKeyIsChecked(t *testing.T) {
	f := newFixture(t)
	o := f.defaultProject(nil)
	c, left := f.cluster(), f.cluster()
	leaving, err := agent.LeavingWork(&addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: left}})
	if err != nil {
		t.Fatal(err)
	}
	f.create(leaving)
	testkit.Eventually(t, "the work in the cache", func() error {
		return f.client.Get(context.Background(), client.ObjectKeyFromObject(leaving), leaving)
	})
	f.Set(f.spec("a", 0, c))
	f.delivered(c, holds("192.0.2.1"))
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	if value := o.Labels[argocd.IgnoreSyncLabel]; value != "true" {
		t.Errorf("the label is %q when an agent is delivered", value)
	}
}

// The report lists the hub's Applications that no agent serves, and AppProjects that agents overwrite under
// pulled Applications. Only GitOpsClusters in Argo CD's namespace get it.
func TestApplications_areReportedIfNoAgentServesThem(t *testing.T) {
	f := newFixture(t)
	f.defaultProject(map[string]string{argocd.IgnoreSyncLabel: "false"})
	c := f.cluster()
	for name, o := range map[string]*argocd.Application{
		"served": {Spec: json.RawMessage(`{"project":"other","destination":{"name":"` + c + `"}}`)},
		"left":   {Spec: json.RawMessage(`{"project":"other","destination":{"name":"` + c + `-gone"}}`)},
		"pulled": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{contract.PullLabel: "true"}, Annotations: map[string]string{contract.ClusterAnnotation: c}},
			Spec: json.RawMessage(`{"project":"default","destination":{"server":"https://kubernetes.default.svc"}}`)},
	} {
		o.Namespace, o.Name = f.namespace, name
		f.create(o)
	}
	a := f.spec("a", 0, c)
	f.Set(a)
	b := f.spec("b", 0)
	b.Owner.Namespace = "elsewhere"
	f.Set(b)
	f.status("a", "the report", func(s Status) error {
		r := s.Applications
		if r.Orphaned.Count == 0 || !strings.Contains(strings.Join(r.Orphaned.First, " "), f.namespace+"/left") || r.Overwritten.Count != 1 {
			return fmt.Errorf("%+v", r)
		}
		if strings.Contains(strings.Join(r.Orphaned.First, " "), "/served") {
			return errors.New("what an agent serves is reported")
		}
		return nil
	})
	if s, _ := f.Status(b.Owner); !s.Applications.Empty() {
		t.Errorf("another namespace is told %+v", s.Applications)
	}
}
