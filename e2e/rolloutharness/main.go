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

//go:embed managed.yaml
var managed string

const (
	ours    = "rollout"
	rolling = "rolling"
	plain   = "plain"
	path    = "harness/app.yaml"
)

var methods = []string{ours, rolling, plain}

// How long a success must last and how long it may take: what fails is found within that time,
// and a commit costs little.
const (
	minSuccessTime   = "6s"
	progressDeadline = "40s"
)

// afterwards is how long every method is watched after the rollout has taken a commit back, so
// that the others have had the time to compare it and to go on.
const afterwards = 12 * time.Second

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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	context.AfterFunc(fleet.Context(), func() { cancel(context.Cause(fleet.Context())) }) //nolint:contextcheck // a part that ends by itself ends the fleet
	h := &harness{fleet: fleet, counts: map[string]map[string]*count{}}
	if err := h.prepare(ctx); err != nil {
		return err
	}
	for _, kind := range kinds {
		h.counts[kind.name] = map[string]*count{ours: {}, rolling: {}, plain: {}}
	}
	defer h.print() // of an interrupted run, too
	for i := range commits {
		for _, kind := range kinds {
			fmt.Printf("%s commit %d, %s\n", time.Now().Format(time.TimeOnly), i+1, kind.name)
			if err := h.one(ctx, kind.name, kind.replacements); err != nil {
				return fmt.Errorf("%s, commit %d: %w", kind.name, i+1, err)
			}
		}
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
	for _, c := range h.fleet.Managed {
		if err := manage(ctx, c); err != nil {
			return fmt.Errorf("prepare %s: %w", c.Name, err)
		}
		go h.crash(h.fleet.Context(), c) //nolint:contextcheck // it ends with the fleet
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
		unstructured.SetNestedField(r[0].Object, minSuccessTime, "spec", "strategy", "progressivePerGroup", "minSuccessTime"),
		unstructured.SetNestedField(r[0].Object, progressDeadline, "spec", "strategy", "progressivePerGroup", "progressDeadline"),
		h.settled(ctx, 4*time.Minute, revision, methods...),
		h.fleet.Hub.Apply(ctx, r...),
	); err != nil {
		return err
	}
	_, err = scenario.AwaitRollout(ctx, h.fleet, ours, "what runs to be promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && s.Promoted != nil && len(s.Following) == 1
	})
	return err
}

// manage has the Argo CD of a cluster deploy into a namespace for each method: that of the
// examples has rights to that of the guestbook, and looks at no other.
func manage(ctx context.Context, c *env.Cluster) error {
	for _, method := range methods {
		for document := range strings.SplitSeq(managed, "---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(strings.ReplaceAll(document, "METHOD", method)), &o.Object); err != nil {
				return err
			}
			if err := c.Apply(ctx, o); err != nil {
				return err
			}
		}
	}
	patch := fmt.Sprintf(`{"stringData":{"namespaces":%q}}`, strings.Join(methods, ","))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "in-cluster"}}
	return c.Client.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(patch)))
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
func (h *harness) settled(ctx context.Context, patience time.Duration, revision string, methods ...string) error {
	return env.WaitFor(ctx, patience, "every Application to run "+revision, func(ctx context.Context) (bool, string) {
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

// one pushes a bad commit, waits until the rollout has taken it back, counts, and mends it.
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
	wait(ctx, afterwards)
	if first := h.fleet.Managed[0].Name; !h.revisions.Compared(first, ours+"-"+first)[bad] {
		return fmt.Errorf("%s is the first group, and has not compared %s: nothing was measured", first, bad)
	}
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
	wait(ctx, 2*time.Second) // the other methods' Applications have Argo CD cache the branch for so long
	if err := scenario.Approve(ctx, h.fleet, ours); err != nil {
		return err
	}
	_, err = scenario.AwaitRollout(ctx, h.fleet, ours, "the mended one to be promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && slices.Equal(s.Promoted.Revisions, []string{mended})
	})
	if err != nil {
		return err
	}
	if err := h.settled(ctx, time.Minute, mended, ours); err != nil {
		return err
	}
	if err := h.settled(ctx, 30*time.Second, mended, rolling, plain); err != nil {
		fmt.Println("  not settled, which is theirs:", strings.SplitN(err.Error(), "\n", 2)[0])
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (h *harness) print() {
	fmt.Printf("| bad commits | method | commits | compared by clusters outside the first group | synced by them | taken back after |\n|---|---|---|---|---|---|\n")
	for _, kind := range kinds {
		for _, method := range methods {
			c := h.counts[kind.name][method]
			took := ""
			if len(c.took) > 0 {
				took = fmt.Sprintf("%s to %s", slices.Min(c.took).Round(time.Second), slices.Max(c.took).Round(time.Second))
			}
			most := c.commits * (len(h.fleet.Managed) - 1)
			fmt.Printf("| %s | %s | %d | %d of %d | %d of %d | %s |\n", kind.name, method, c.commits, c.compared, most, c.synced, most, took)
		}
	}
}

// crash has every Pod "check" of a cluster fail some seconds after it runs.
func (h *harness) crash(ctx context.Context, c *env.Cluster) {
	tick := time.NewTicker(time.Second)
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
			if p.Name != "check" || p.Status.Phase != corev1.PodRunning || time.Since(p.CreationTimestamp.Time) < 3*time.Second {
				continue
			}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed","reason":"Crashed"}}`))
			_ = c.Client.Status().Patch(ctx, p, patch) // the next look
		}
	}
}
