// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command rolloutharness pushes bad commits of three kinds to a fleet of real parts with four
// managed clusters in three groups, and counts the clusters outside the first group that
// compare and sync them: with an ApplicationSetRollout, with Argo CD's RollingSync and with
// plain automated sync, side by side.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

//go:embed set.yaml
var setTemplate string

//go:embed app.yaml
var good string

const (
	ours    = "rollout"
	rolling = "rolling"
	plain   = "plain"
	path    = "harness/app.yaml"
)

var methods = []string{ours, rolling, plain}

// kinds are the kinds of bad commits, as replacements in app.yaml.
var kinds = []struct {
	name         string
	replacements map[string]string
}{
	{"cannot sync", map[string]string{"app: harness": "app: other"}},
	{"never healthy", map[string]string{"nodeName: fake-1": "nodeName: not-there"}},
	{"healthy, then degrades", map[string]string{"# check": `---
apiVersion: v1
kind: Pod
metadata: {name: check}
spec:
  nodeName: fake-1
  containers: [{name: check, image: "example.invalid/check:v1"}]`}},
}

func main() {
	commits := flag.Int("commits", 2, "bad commits of each kind")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(env.WithParent(ctx), *commits); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context, commits int) (err error) {
	if err := env.Build(ctx); err != nil {
		return err
	}
	fleet, err := env.Start(ctx, env.Options{
		Clusters: []string{"cluster1", "cluster2", "cluster3", "cluster4"}, Product: []string{env.Propagation}, Rollouts: true, SaveMemory: true,
		Progress: func(line string) { fmt.Println(line) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Stop()) }()
	h := &harness{fleet: fleet, counts: map[string]map[string]*count{}}
	if err := h.prepare(ctx); err != nil {
		return err
	}
	for _, kind := range kinds {
		h.counts[kind.name] = map[string]*count{ours: {}, rolling: {}, plain: {}}
		for i := range commits {
			fmt.Printf("%s %s, commit %d\n", time.Now().Format(time.TimeOnly), kind.name, i+1)
			if err := h.one(ctx, kind.name, kind.replacements); err != nil {
				return fmt.Errorf("%s, commit %d: %w", kind.name, i+1, err)
			}
		}
		h.print(kind.name)
	}
	return nil
}

// count is what became of the bad commits of one kind with one method.
type count struct {
	commits, compared, synced int
	took                      []time.Duration
}

type harness struct {
	fleet     *env.Fleet
	revisions *scenario.Revisions
	counts    map[string]map[string]*count
	serial    int
}

// prepare delivers a good commit with every method.
func (h *harness) prepare(ctx context.Context) (err error) {
	if err := scenario.StageLabels(ctx, h.fleet); err != nil {
		return err
	}
	for _, c := range h.fleet.Managed {
		// Each method has a namespace of its own, with Pods in it.
		err := c.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "harness"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: env.ArgoCDNamespace, Name: "argocd-application-controller"}},
		})
		if err != nil {
			return err
		}
		go h.crash(h.fleet.Context(), c) //nolint:contextcheck // it ends with the fleet
	}
	if h.revisions, err = scenario.WatchRevisions(h.fleet.Context(), h.fleet); err != nil { //nolint:contextcheck // it ends with the fleet
		return err
	}
	revision, err := h.commit(ctx, nil)
	if err != nil {
		return err
	}
	if err := scenario.Prepare(ctx, h.fleet); err != nil {
		return err
	}
	if err := h.fleet.Hub.ApplyFiles(ctx, scenario.Examples("rollout/placement.yaml")); err != nil {
		return err
	}
	for _, method := range methods {
		set := &unstructured.Unstructured{}
		text := strings.ReplaceAll(setTemplate, "METHOD", method)
		if method != rolling {
			before, after, _ := strings.Cut(text, "  strategy:\n")
			_, after, _ = strings.Cut(after, "  template:\n")
			text = before + "  template:\n" + after
		}
		if err := yaml.Unmarshal([]byte(text), &set.Object); err != nil {
			return err
		}
		if err := h.fleet.Hub.Apply(ctx, set); err != nil {
			return err
		}
	}
	r, err := env.ReadObjects(scenario.Examples("rollout/rollout.yaml"))
	if err != nil {
		return err
	}
	r[0].SetName(ours)
	if err := errors.Join(
		unstructured.SetNestedField(r[0].Object, ours, "spec", "applicationSet"),
		h.settled(ctx, revision, methods...),
		h.fleet.Hub.Apply(ctx, r...),
	); err != nil {
		return err
	}
	_, err = scenario.AwaitRollout(ctx, h.fleet, ours, "what runs to be promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && s.Promoted != nil && len(s.Following) == 1
	})
	return err
}

func (h *harness) commit(ctx context.Context, replacements map[string]string) (string, error) {
	h.serial++
	content := strings.ReplaceAll(good, "SERIAL", fmt.Sprint(h.serial))
	for old, replacement := range replacements {
		content = strings.ReplaceAll(content, old, replacement)
	}
	return h.fleet.Git.Commit(ctx, fmt.Sprintf("Commit %d", h.serial), map[string]string{path: content})
}

// settled waits until every Application of methods is synced and healthy at a revision.
func (h *harness) settled(ctx context.Context, revision string, methods ...string) error {
	return env.WaitFor(ctx, 4*time.Minute, "every Application to run "+revision, func(ctx context.Context) (bool, string) {
		var list argocd.ApplicationList
		if err := h.fleet.Hub.Client.List(ctx, &list, client.InNamespace(env.ArgoCDNamespace)); err != nil {
			return false, err.Error()
		}
		n, last := 0, ""
		for i := range list.Items {
			a := &list.Items[i]
			text := string(a.Status)
			if !slices.Contains(methods, a.OwningApplicationSet()) {
				continue
			}
			if strings.Contains(text, revision) && strings.Contains(text, `"Synced"`) && strings.Contains(text, `"Healthy"`) && !strings.Contains(text, `"Running"`) {
				n++
			} else {
				last = a.Name + " " + text
			}
		}
		return n == len(methods)*len(h.fleet.Managed), fmt.Sprintf("%d do; one that does not: %s", n, last)
	})
}

// one pushes a bad commit, waits until the rollout has taken it back and the others have had
// as long, counts, and mends it.
func (h *harness) one(ctx context.Context, kind string, replacements map[string]string) error {
	began := time.Now()
	bad, err := h.commit(ctx, replacements)
	if err != nil {
		return err
	}
	status, err := scenario.AwaitRollout(ctx, h.fleet, ours, "it to be taken back", func(s *rollout.Status) bool {
		return s.Phase == rollout.RolledBack
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	fmt.Printf("  taken back after %s: %s\n", took.Round(time.Second), status.Message)
	// every other method has had the time to compare it, and to go on
	rest, cancel := context.WithTimeout(ctx, 20*time.Second)
	<-rest.Done()
	cancel()
	for _, method := range methods {
		c := h.counts[kind][method]
		c.commits++
		for _, cluster := range h.fleet.Managed[1:] {
			name := method + "-" + cluster.Name
			if h.revisions.Compared(cluster.Name, name)[bad] {
				c.compared++
			}
			if h.revisions.Synced(cluster.Name, name)[bad] {
				c.synced++
			}
		}
	}
	h.counts[kind][ours].took = append(h.counts[kind][ours].took, took)
	mended, err := h.commit(ctx, nil)
	if err != nil {
		return err
	}
	if err := scenario.Approve(ctx, h.fleet, ours); err != nil {
		return err
	}
	if err := h.settled(ctx, mended, ours); err != nil {
		return err
	}
	if err := h.settled(ctx, mended, rolling, plain); err != nil {
		fmt.Println("  not settled, which is theirs:", strings.SplitN(err.Error(), "\n", 2)[0])
	}
	_, err = scenario.AwaitRollout(ctx, h.fleet, ours, "the mended one to be promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && slices.Equal(s.Promoted.Revisions, []string{mended})
	})
	return err
}

func (h *harness) print(kind string) {
	for _, method := range methods {
		c := h.counts[kind][method]
		took := ""
		if len(c.took) > 0 {
			took = fmt.Sprintf("%s to %s", slices.Min(c.took).Round(time.Second), slices.Max(c.took).Round(time.Second))
		}
		fmt.Printf("| %s | %s | %d | %d | %d | %s |\n", kind, method, c.commits, c.compared, c.synced, took)
	}
}

// crash has every Pod "check" of a cluster fail some seconds after it runs.
func (h *harness) crash(ctx context.Context, c *env.Cluster) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var pods corev1.PodList
		if err := c.Client.List(ctx, &pods); err != nil {
			continue // the next look
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Name != "check" || p.Status.Phase != corev1.PodRunning || time.Since(p.CreationTimestamp.Time) < 6*time.Second {
				continue
			}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed","reason":"Crashed"}}`))
			_ = c.Client.Status().Patch(ctx, p, patch) // the next look
		}
	}
}
