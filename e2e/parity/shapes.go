// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// shape is a form or state of an Application.
type shape struct {
	name string
	// files are the files in git, below a folder with the Application's name.
	files map[string]string
	// sources are the entries of the spec's sources without repoURL and targetRevision. A single
	// one becomes spec.source.
	sources []map[string]any
	// manual disables automated sync.
	manual bool
	// health, sync and phase are the final report of the managed cluster's Argo CD. The defaults are Healthy,
	// Synced and Succeeded.
	health, sync, phase string
}

// NAME in files and sources is a placeholder for the name of the Application.
const (
	configMap      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {color: blue}\n"
	deploymentHead = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec:\n"
	// deploymentSpec is the spec of a Deployment. Its Pods are never ready, because their node does
	// not exist.
	deploymentSpec = `  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeName: absent
      containers: [{name: main, image: "example.invalid/main:v1"}]
`
	chart = "apiVersion: v2\nname: chart\nversion: 1.2.3\n"
)

func annotated(annotation, value, suffix string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME" + suffix + "\n  annotations: {" + annotation + ": \"" + value + "\"}\ndata: {color: blue}\n"
}

// shapes returns the shapes of the documentation's table, in its order.
func shapes() []shape {
	const wave, hook = argocd.SyncWaveAnnotation, argocd.HookAnnotation
	one := []map[string]any{{"path": "NAME"}}
	return []shape{
		{name: "one-source", files: map[string]string{"config.yaml": configMap}, sources: one},
		{
			name: "several-sources", files: map[string]string{"a/config.yaml": configMap, "b/config.yaml": annotated("example.com/second", "true", "-b")},
			sources: []map[string]any{{"path": "NAME/a"}, {"path": "NAME/b"}},
		},
		{name: "helm", files: map[string]string{"Chart.yaml": chart, "templates/config.yaml": configMap}, sources: one},
		{
			name: "kustomize", sources: one,
			files: map[string]string{"kustomization.yaml": "resources: [config.yaml]\ncommonAnnotations: {example.com/kustomized: \"true\"}\n", "config.yaml": configMap},
		},
		{
			name:  "ref-sources",
			files: map[string]string{"chart/Chart.yaml": chart, "chart/templates/config.yaml": configMap, "values/values.yaml": "color: blue\n"},
			sources: []map[string]any{
				{"path": "NAME/chart", "helm": map[string]any{"valueFiles": []string{"$values/NAME/values/values.yaml"}}},
				{"ref": "values"},
			},
		},
		{name: "sync-waves", files: map[string]string{"first.yaml": annotated(wave, "-1", "-first"), "second.yaml": annotated(wave, "1", "-second")}, sources: one},
		{name: "hooks", files: map[string]string{"config.yaml": configMap, "hook.yaml": annotated(hook, "PreSync", "-hook")}, sources: one},
		{name: "degraded", files: map[string]string{"config.yaml": configMap, "deployment.yaml": deploymentHead + deploymentSpec}, sources: one, health: argocd.HealthDegraded},
		{name: "missing", files: map[string]string{"deployment.yaml": deploymentHead + deploymentSpec}, sources: one, manual: true, health: argocd.HealthMissing, sync: argocd.SyncOutOfSync},
		{
			name: "suspended", sources: one, health: argocd.HealthSuspended,
			files: map[string]string{"deployment.yaml": deploymentHead + "  paused: true\n" + deploymentSpec},
		},
		{
			name: "sync-failed", sources: one, health: anyHealth, sync: argocd.SyncOutOfSync, phase: argocd.OperationFailed,
			files: map[string]string{"config.yaml": configMap, "service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {ports: [{port: 99999}]}\n"},
		},
	}
}

// anyHealth is the health of a shape that differs between versions of Argo CD.
const anyHealth = "any"

// application returns the name of a shape's Application on a cluster.
func (s *shape) application(cluster string) string { return s.name + "-" + cluster }

// content returns the shape's files for an Application, by path.
func (s *shape) content(app string) map[string]string {
	files := map[string]string{}
	for path, text := range s.files {
		files[app+"/"+path] = strings.ReplaceAll(text, "NAME", app)
	}
	return files
}

// spec returns the spec of the shape's Application.
func (s *shape) spec(app string) (json.RawMessage, error) {
	spec := map[string]any{
		"project": "guestbook", "destination": map[string]any{"server": argocd.InClusterServer, "namespace": "guestbook"},
	}
	for _, source := range s.sources {
		source["repoURL"], source["targetRevision"] = env.RepositoryURL, "main"
	}
	if len(s.sources) == 1 {
		spec["source"] = s.sources[0]
	} else {
		spec["sources"] = s.sources
	}
	if !s.manual {
		spec["syncPolicy"] = map[string]any{"automated": map[string]any{}, "retry": map[string]any{"limit": 0}}
	}
	raw, err := json.Marshal(spec)
	return bytes.ReplaceAll(raw, []byte("NAME"), []byte(app)), err
}
