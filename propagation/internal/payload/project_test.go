// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

func TestStoredOf_readsTheProject(t *testing.T) {
	const application = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"a"}`
	const project = `{"apiVersion":"argoproj.io/v1alpha1","kind":"AppProject","metadata":{"name":"wide","namespace":"argocd"},"spec":{}}`
	for name, c := range map[string]struct {
		reason    string
		manifests []string
		want      string
		carried   bool
	}{
		"named":     {reason: "as the Application says", manifests: []string{application + `,"spec":{"project":"wide"}}`}, want: "wide"},
		"unnamed":   {reason: "Argo CD takes no project for the default one", manifests: []string{application + `,"spec":{}}`}, want: "default"},
		"carried":   {reason: "its AppProject goes first", manifests: []string{project, application + `,"spec":{"project":"wide"}}`}, want: "wide", carried: true},
		"another's": {reason: "an AppProject that the Application does not name is not its own", manifests: []string{project, application + `,"spec":{"project":"narrow"}}`}, want: "narrow"},
		"observed":  {reason: "a work that only reads names none", manifests: []string{application + `}`}},
		"no text":   {reason: "a project that is no text is unknown, not the default one", manifests: []string{application + `,"spec":{"project":7}}`}},
		"no object": {reason: "nor is that of a spec that is no object", manifests: []string{application + `,"spec":"x"}`}},
		"garbage":   {reason: "nor that of a manifest that is no JSON", manifests: []string{`{`}},
		"alone":     {reason: "nor that of a spec without Application", manifests: []string{project}},
		"empty":     {reason: "nor that of a spec without manifests"},
	} {
		work := &workv1.ManifestWork{}
		for _, raw := range c.manifests {
			work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
		}
		if got := StoredOf(work); got.Project != c.want || (got.ProjectHash != "") != c.carried {
			t.Errorf("%s: %s: project %q, hash %q", name, c.reason, got.Project, got.ProjectHash)
		}
	}
}

func TestStoredOf_readsTheStateOfTheAgent(t *testing.T) {
	condition := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: workv1.WorkApplied, Status: status, ObservedGeneration: generation}}
	}
	for name, c := range map[string]struct {
		reason             string
		finalizers         []string
		conditions         []metav1.Condition
		finalized, refused bool
	}{
		"new":     {reason: "no agent has come to it"},
		"begun":   {reason: "the agent's finalizer", finalizers: []string{"example.com/a", workv1.ManifestWorkFinalizer}, finalized: true},
		"other":   {reason: "a finalizer of another", finalizers: []string{"example.com/a"}},
		"refused": {reason: "it could not apply the work", conditions: condition(metav1.ConditionFalse, 2), refused: true},
		"before":  {reason: "that was of the generation before", conditions: condition(metav1.ConditionFalse, 1)},
		"applied": {reason: "it could", conditions: condition(metav1.ConditionTrue, 2)},
	} {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Generation: 2, Finalizers: c.finalizers}}
		work.Status.Conditions = c.conditions
		if got := StoredOf(work); got.Finalized != c.finalized || got.Refused != c.refused {
			t.Errorf("%s: %s: %+v", name, c.reason, got)
		}
	}
}

func TestOutdated(t *testing.T) {
	const wide, narrow, windows = `{"destinations":[{"namespace":"*"}]}`, `{"destinations":[{"namespace":"team"}]}`, `{"syncWindows":7}`
	project := func(name, spec string) *argocd.AppProject {
		return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"example.com/instance": "x"}}, Spec: json.RawMessage(spec)}
	}
	for name, c := range map[string]struct {
		reason    string
		delivered *argocd.AppProject
		hub       *argocd.AppProject
		namespace string
		want      bool
	}{
		"same":       {reason: "what was delivered is what the hub has", delivered: project("team", wide), hub: project("team", wide)},
		"namespace":  {reason: "wherever it is on the managed cluster", delivered: project("team", wide), hub: project("team", wide), namespace: "openshift-gitops"},
		"narrowed":   {reason: "the hub has another one", delivered: project("team", wide), hub: project("team", narrow), want: true},
		"none":       {reason: "a work that carries none", hub: project("team", narrow)},
		"other":      {reason: "of another name", delivered: project("team", wide), hub: project("shop", narrow)},
		"unreadable": {reason: "the write reports what is wrong with the hub's", delivered: project("team", wide), hub: project("team", windows), want: true},
	} {
		app := hubApplication()
		app.Spec = json.RawMessage(`{"project":"team","destination":{}}`)
		work, err := ManifestWork(Inputs{Application: app, Project: c.delivered, ProjectNamespace: c.namespace, CreateNamespace: true, InstanceLabel: "example.com/instance"})
		if err != nil {
			t.Fatal(err)
		}
		stored := StoredOf(work)
		cached, _ := manifestcache.Compact(work, &stored)
		if got := Outdated(cached, c.hub, "example.com/instance"); got != c.want {
			t.Errorf("%s: %s: %t", name, c.reason, got)
		}
	}
}
