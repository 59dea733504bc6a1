// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// principalPort is where the principal listens and what its Service's node port is.
const principalPort = 30443

// managed is the GitOpsCluster of the example.
const managed = "agents"

// pair is a fleet with a principal and the agents that come to it.
type pair struct {
	fleet  *env.Fleet
	hub    client.Client
	binary string
	audit  string
	agents map[string]*node
}

// play runs what plays a kubelet until the fleet ends.
func (p *pair) play(kubelet func(context.Context) error) {
	go func() {
		if err := kubelet(p.fleet.Context()); err != nil {
			fmt.Fprintln(os.Stderr, "kubelet:", err)
		}
	}()
}

func file(path string) string { return filepath.Join(testkit.Root(), path) }

// example returns deploy/examples/agent as this fleet needs it, with the principal's
// installation of the binary's source.
func (p *pair) example(ctx context.Context) (path string, err error) {
	overlay, err := os.ReadFile(file("e2e/agentpair/testdata/kustomization.yaml"))
	if err != nil {
		return "", err
	}
	text := strings.NewReplacer("PORT", strconv.Itoa(principalPort), "REDIS", p.fleet.Hub.Redis).Replace(string(overlay))
	out, err := scenario.RenderAgents(ctx, os.DirFS(filepath.Join(filepath.Dir(p.binary), "install", "kubernetes", "principal")), text)
	if err != nil {
		return "", err
	}
	path = filepath.Join(p.fleet.Folder(), "agents.yaml")
	return path, os.WriteFile(path, out, 0o600)
}

// ignoreRace drops the error of a write that another one, or a deletion, came before.
func ignoreRace(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// auditPolicy records what gitopscluster writes, but for its lease.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    resources: [{group: coordination.k8s.io}]
  - level: Metadata
    users: ["system:serviceaccount:multicluster-integrations:gitopscluster"]
    verbs: [create, update, patch, delete]
  - level: None
`

// writes returns what gitopscluster has written so far, as verb and URL.
func (p *pair) writes() ([]string, error) {
	content, err := os.ReadFile(p.audit)
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(content)) {
		if e, ok := parseEvent(line); ok {
			all = append(all, e)
		}
	}
	return all, nil
}

// said is the status of a GitOpsCluster.
type said struct {
	Clusters   struct{ Selected, Registered, Deployed, Connected, Leaving int }
	Principal  struct{ Address, Source, Version string }
	Conditions []metav1.Condition
	port       int64
}

// await waits until the status of a GitOpsCluster passes.
func (p *pair) await(ctx context.Context, what, name string, check func(said) bool) (last said, err error) {
	err = env.Wait(ctx, fmt.Sprintf("%s of GitOpsCluster %s", what, name), func(ctx context.Context) (bool, string) {
		o := gitopsCluster(name)
		if err := p.hub.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		content, err := json.Marshal(o.Object["status"])
		last = said{}
		if err != nil || json.Unmarshal(content, &last) != nil {
			return false, "a status that cannot be read"
		}
		last.port, _, _ = unstructured.NestedInt64(o.Object, "status", "principal", "port")
		return check(last), string(content)
	})
	return last, err
}

// ready waits until n clusters have an agent and there is nothing else to do.
func (p *pair) ready(ctx context.Context, name string, n int) (said, error) {
	return p.await(ctx, "every agent", name, func(s said) bool {
		return meta.IsStatusConditionTrue(s.Conditions, "Ready") && s.Clusters.Selected == n && s.Clusters.Connected == n && s.Clusters.Leaving == 0
	})
}
