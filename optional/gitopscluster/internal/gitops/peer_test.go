// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// install creates or replaces a CustomResourceDefinition.
func install(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the CRD of "+filepath.Base(file), func() error {
		want, is := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &want.Object); err != nil {
			return err
		}
		is.SetGroupVersionKind(want.GroupVersionKind())
		err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(want), is)
		if apierrors.IsNotFound(err) {
			return hub.client.Create(context.Background(), want)
		}
		if err != nil {
			return err
		}
		want.SetResourceVersion(is.GetResourceVersion())
		return hub.client.Update(context.Background(), want)
	})
}

// uninstall deletes the CustomResourceDefinition with all objects.
func uninstall(t *testing.T) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(v1beta1.CRDName)
	_ = hub.client.Delete(context.Background(), crd)
	testkit.Eventually(t, "the CRD to be gone", func() error {
		err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(crd), crd)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

// Under another project's CRD, gitopscluster writes nothing but an Event. It reconciles the objects when
// our CRD replaces the other one, and stops when the other CRD is restored.
func TestGate_closesUnderAnotherProjectsCRD(t *testing.T) {
	ours := filepath.Join(testkit.Root(), crdFile)
	for version, spec := range map[string]map[string]any{
		"v1beta1":  {"argoServer": map[string]any{"argoNamespace": "A"}, "placementRef": map[string]any{"kind": "Placement", "name": "all"}},
		"v1alpha1": {"argoCDAgentAddon": map[string]any{"mode": "managed"}, "placementRef": map[string]any{"kind": "Placement", "name": "all"}},
	} {
		t.Run(version, func(t *testing.T) {
			peer := "../../api/testdata/peer-" + version + ".yaml"
			uninstall(t)
			install(t, peer)
			t.Cleanup(func() {
				uninstall(t)
				install(t, ours)
				served(t)
			})
			f := newFleet(t)
			f.grantSecrets(f.team)
			f.options.Namespaces = append(f.options.Namespaces, f.team)
			f.options.HubNamespace = f.team
			clusters := f.clusters(2)
			f.placement("all", clusters...)
			if version == "v1beta1" {
				spec["argoServer"] = map[string]any{"argoNamespace": f.team}
			}
			theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps.open-cluster-management.io/" + version, "kind": "GitOpsCluster", "spec": spec,
				"metadata": map[string]any{"namespace": f.team, "name": "theirs"}}}
			testkit.Eventually(t, "creation under the other CRD", func() error { return hub.client.Create(context.Background(), theirs.DeepCopy()) })
			record, _ := f.start()
			leftAlone(t, f.team)
			if w := record.written(); len(w) > 0 {
				t.Errorf("written under another project's CRD: %q", w)
			}

			install(t, ours)
			o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "theirs"}}
			f.ready(o, 2)
			if version == "v1alpha1" {
				f.release(o)
				return // the API server rejects this CRD over ours
			}
			// The removal of the finalizer is the last write for a deleted object. Later writes are for another
			// object.
			if err := hub.client.Delete(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			last := "patch gitopsclusters " + f.team + "/theirs"
			testkit.Eventually(t, "the end of ours to be written", func() error {
				err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), &v1beta1.GitOpsCluster{})
				if w := record.written(); !apierrors.IsNotFound(err) || w[len(w)-1] != last {
					return fmt.Errorf("%w, and written last is %q", err, w[len(w)-1])
				}
				return nil
			})
			words := strings.Count(logs.text(), "not reconciling GitOpsClusters")
			install(t, peer)
			testkit.Eventually(t, "another word in the log", func() error {
				if strings.Count(logs.text(), "not reconciling GitOpsClusters") == words {
					return errors.New("it is not there")
				}
				return nil
			})
			before, seen := record.written(), reconciles(t)
			f.gitops("late", "all", func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoServer.ArgoNamespace = f.team })
			testkit.Eventually(t, "a look at the new one", func() error {
				if reconciles(t) == seen {
					return errors.New("there was none")
				}
				return nil
			})
			if after := record.written(); len(after) > len(before) {
				t.Errorf("written under another project's CRD: %q", after[len(before):])
			}
		})
	}
}

// reconciles returns the number of reconciliations of GitOpsClusters, by any manager.
func reconciles(t *testing.T) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			if slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == "controller" && l.GetValue() == "gitops" }) {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

func served(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "our CRD to be served", func() error {
		return hub.client.List(context.Background(), &v1beta1.GitOpsClusterList{})
	})
}

func leftAlone(t *testing.T, namespace string) {
	t.Helper()
	testkit.Eventually(t, "the Event on the pod", func() error {
		var events corev1.EventList
		if err := hub.client.List(context.Background(), &events, client.InNamespace(namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "GitOpsClustersNotReconciled" && e.InvolvedObject.Kind == "Pod" && strings.Contains(e.Message, "another project")
		}) {
			return fmt.Errorf("none in %d", len(events.Items))
		}
		return nil
	})
}

// With the Adopt option, gitopscluster works under another project's CRD.
func TestGate_opensWithAdopt(t *testing.T) {
	uninstall(t)
	install(t, "../../api/testdata/peer-v1beta1.yaml")
	t.Cleanup(func() {
		uninstall(t)
		install(t, filepath.Join(testkit.Root(), crdFile))
		served(t)
	})
	served(t)
	f := newFleet(t)
	f.options.Adopt = true
	clusters := f.clusters(1)
	f.placement("all", clusters...)
	record, _ := f.start()
	o := f.gitops("fleet", "all")
	f.says(o, v1beta1.ConditionReady, metav1.ConditionTrue, "AsExpected")
	f.registered(clusters...)
	// The other project's CRD drops some fields of the status. The controller must not write them
	// repeatedly.
	writes := len(record.written())
	f.gitops("probe", "none")
	f.says(&v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: "probe"}}, v1beta1.ConditionReady, metav1.ConditionFalse, reasonPlacementNotFound)
	for _, w := range record.written()[writes:] {
		if !strings.Contains(w, "/probe") {
			t.Errorf("written again: %s", w)
		}
	}
}
