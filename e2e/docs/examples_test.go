// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"
)

// Argo CD hides resources in its tree that the AppProject does not permit. So the examples also permit the
// resources of their Deployments, and a user finds the pods.
func TestExamples_permitThePodsOfDeployments(t *testing.T) {
	projects := 0
	for _, name := range files(t, "deploy/examples/*.yaml") {
		for document := range strings.SplitSeq(read(t, name), "\n---\n") {
			if !strings.Contains(document, "kind: AppProject\n") || !strings.Contains(document, "{group: apps, kind: Deployment}") {
				continue
			}
			projects++
			for _, made := range []string{"{group: apps, kind: ReplicaSet}", `{group: "", kind: Pod}`} {
				if !strings.Contains(document, made) {
					t.Errorf("%s: the AppProject allows Deployments, but not %s", name, made)
				}
			}
		}
	}
	if projects == 0 {
		t.Fatal("no example has such an AppProject: the test proves nothing")
	}
}
