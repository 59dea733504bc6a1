// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

// NeverHealthy is a Deployment with pods that no node runs, and a ConfigMap that is synced only
// after the Deployment is healthy. A sync of the two runs until it is terminated.
const NeverHealthy = `apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck, annotations: {argocd.argoproj.io/sync-wave: "0"}}
spec:
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec: {containers: [{name: c, image: "example.invalid/never:v1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stuck-after, annotations: {argocd.argoproj.io/sync-wave: "1"}}
`
