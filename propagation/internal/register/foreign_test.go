// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Another controller or a user may have a Secret with the same name and labels. The registration never
// changes it, and reports it with an Event.
func TestForeignSecret_isReportedAndStaysUnchanged(t *testing.T) {
	a := newArgo(t)
	labels := map[string]map[string]string{
		"unlabelled": nil,
		"labelled":   {contract.RegisteredLabel: "true", contract.RegisteredNameLabel: "x", "argocd.argoproj.io/secret-type": "cluster"},
	}
	a.start(nil)
	for kind, l := range labels {
		t.Run(kind, func(t *testing.T) {
			a := &argo{t: t, namespace: a.namespace}
			name := unique("c")
			foreign := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name + "-cluster-secret", Labels: l},
				StringData: map[string]string{"name": "mine", "config": "{}"},
			}
			a.create(foreign)
			cluster := a.cluster(name, nil)
			testkit.Eventually(t, "the Event about the taken name", func() error {
				var events corev1.EventList
				if err := hub.client.List(context.Background(), &events, client.InNamespace("default")); err != nil {
					return err
				}
				for _, e := range events.Items {
					if e.InvolvedObject.Name == name && e.Reason == "ClusterSecretTaken" && strings.Contains(e.Message, a.namespace+"/"+foreign.Name) {
						return nil
					}
				}
				return fmt.Errorf("none in %d Events", len(events.Items))
			})
			// Neither a change nor the deletion of the cluster changes the Secret.
			testkit.Edit(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) { c.Labels = map[string]string{"tier": "prod"} })
			if err := hub.client.Delete(context.Background(), cluster); err != nil {
				t.Fatal(err)
			}
			probe := unique("c")
			a.cluster(probe, nil)
			a.registered(probe, nil)
			after := a.registered(name, nil)
			if after.ResourceVersion != foreign.ResourceVersion {
				t.Errorf("the Secret was changed: %v", after.Labels)
			}
		})
	}
}

func TestSecret_isCorrectedAfterAManualChange(t *testing.T) {
	a := newArgo(t)
	a.start(nil)
	name := unique("c")
	a.cluster(name, map[string]string{"region": "eu"})
	secret := a.registered(name, nil)
	cases := map[string]struct {
		reason string
		change func(*corev1.Secret)
	}{
		"server":  {reason: "the server is what generators hand out", change: func(s *corev1.Secret) { s.Data["server"] = []byte("https://elsewhere") }},
		"config":  {reason: "credentials have no place there", change: func(s *corev1.Secret) { s.Data["config"] = []byte(`{"bearerToken":"x"}`) }},
		"emptied": {reason: "data that is gone comes back", change: func(s *corev1.Secret) { s.Data = nil }},
		"label":   {reason: "a label that is not as the cluster has it would mislead selectors", change: func(s *corev1.Secret) { s.Labels["region"] = "us" }},
		"unlisted": {reason: "the list of copied labels is needed when the cluster loses one", change: func(s *corev1.Secret) {
			delete(s.Annotations, contract.CopiedLabelsAnnotation)
		}},
		"unmarked": {reason: "it is ours also without the label that it is cached by", change: func(s *corev1.Secret) {
			delete(s.Labels, contract.RegisteredLabel)
		}},
		"unlabelled": {reason: "and without any", change: func(s *corev1.Secret) { s.Labels = nil }},
		"renamed":    {reason: "its name tells whose it is, not its label", change: func(s *corev1.Secret) { s.Labels[contract.RegisteredNameLabel] = "other" }},
	}
	for kind, c := range cases {
		t.Run(kind, func(t *testing.T) {
			a := &argo{t: t, namespace: a.namespace}
			testkit.Edit(t, hub.client, secret, c.change)
			a.registered(name, func(s *corev1.Secret) error {
				if string(s.Data["name"]) != name || len(s.Data) != 2 || !strings.HasPrefix(string(s.Data["server"]), "https://"+name) ||
					len(s.Labels) != 4 || s.Annotations[contract.CopiedLabelsAnnotation] != "region" || s.Labels["region"] != "eu" || s.Labels[contract.RegisteredNameLabel] != name || s.Labels[contract.RegisteredLabel] != "true" {
					return fmt.Errorf("%s: labels %v, %d keys, server %s", c.reason, s.Labels, len(s.Data), s.Data["server"])
				}
				return nil
			})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		a := &argo{t: t, namespace: a.namespace}
		if err := hub.client.Delete(context.Background(), secret); err != nil {
			t.Fatal(err)
		}
		a.registered(name, func(s *corev1.Secret) error {
			if s.UID == secret.UID {
				return errors.New("still the old one")
			}
			return nil
		})
	})
}
