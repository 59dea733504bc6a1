// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// deployment is a Deployment with Pods for a node. Pods for a node that does not exist never run.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  %s
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop, version: "%d"}}
    spec:
      nodeName: %s
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.invalid/shop:v1"}]
`

func config(version int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {version: \"%d\"}\n", version)
}

const noService = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-service}\n"

// good returns a version that becomes Healthy.
func good(version int) map[string]string {
	return map[string]string{
		"shop/config.yaml": config(version), "shop/deployment.yaml": fmt.Sprintf(deployment, "replicas: 1", version, env.NodeName),
		"shop/service.yaml": noService,
	}
}

// unsyncable returns a version with an object that every API server rejects.
func unsyncable(version int) map[string]string {
	files := good(version)
	files["shop/service.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\nspec: {ports: [{port: 99999}]}\n"
	return files
}

// degrading returns a version that Argo CD can sync, with Pods that are never ready.
func degrading(version int) map[string]string {
	files := good(version)
	files["shop/deployment.yaml"] = fmt.Sprintf(deployment, "progressDeadlineSeconds: 1", version, "absent")
	return files
}
