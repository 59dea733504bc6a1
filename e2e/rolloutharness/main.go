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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
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
)

var methods = []string{ours, rolling, plain}

// How long a success must last and how long it may take. What degrades does so three seconds after
// it is healthy, and a busy cluster takes its time to say so.
const (
	minSuccessTime   = "20s"
	progressDeadline = "60s" // which all that is good must keep, on whatever machine
)

// afterwards is how long every method is watched after the rollout has taken a commit back, so
// that the others have had the time to compare it and to go on.
const afterwards = 12 * time.Second

// kinds are the kinds of bad commits, as a replacement in app.yaml.
var kinds = []struct{ name, old, replacement string }{
	{"cannot sync", "app: LANE", "app: other"},
	{"never healthy", "nodeName: fake-1", "nodeName: not-there"},
	{"healthy, then degrades", "# check", `---
apiVersion: v1
kind: Pod
metadata: {name: check-LANE}
spec:
  nodeName: fake-1
  containers: [{name: check, image: "example.invalid/check:v1"}]`},
}

func main() {
	commits := flag.Int("commits", 6, "bad commits, of each kind a third")
	lanes := flag.Int("parallel", 1, "how many of them at once, each on a branch and with ApplicationSets of its own")
	flag.Parse()
	env.Main("the harness of rollouts failed", func(ctx context.Context) error {
		return env.Use(ctx, env.Options{
			Clusters: []string{"cluster1", "cluster2", "cluster3", "cluster4"}, Product: []string{env.Propagation}, Rollouts: true, SaveMemory: true,
			Progress: func(line string) { fmt.Println(line) },
		}, func(ctx context.Context, fleet *env.Fleet) error { return run(ctx, fleet, *commits, *lanes) })
	})
}

func run(ctx context.Context, fleet *env.Fleet, commits, lanes int) error {
	h := &harness{fleet: fleet, counts: map[string]count{}}
	if err := h.prepare(ctx); err != nil {
		return err
	}
	defer h.print() // of an interrupted run, too
	var next atomic.Int64
	var all sync.WaitGroup
	ended := make([]error, lanes)
	for i := range lanes {
		all.Go(func() {
			l := &lane{harness: h, name: fmt.Sprint("lane", i+1)}
			ended[i] = l.prepare(ctx)
			for n := int(next.Add(1)); n <= commits && ended[i] == nil; n = int(next.Add(1)) {
				ended[i] = l.one(ctx, n)
			}
			fmt.Println(l.name, "ends:", ended[i])
		})
	}
	all.Wait()
	return errors.Join(ended...)
}

// count is what became of the bad commits of one kind with one method.
type count struct {
	commits, compared, synced int
	took                      []time.Duration
}

// harness is what the lanes have in common.
type harness struct {
	fleet     *env.Fleet
	revisions *scenario.Revisions

	mu     sync.Mutex
	counts map[string]count // by kind and method
}

// lane is a branch with an ApplicationSet for each method that follows it; it has one bad
// commit after the other.
type lane struct {
	*harness
	name   string
	serial int
}

func (h *harness) prepare(ctx context.Context) (err error) {
	defer must.Return(&err)
	must.OK(scenario.StageLabels(ctx, h.fleet))
	h.revisions = must.Get(scenario.WatchRevisions(ctx, h.fleet))
	must.OK(scenario.Prepare(ctx, h.fleet))
	for _, c := range h.fleet.Managed {
		if err := manage(ctx, c); err != nil {
			return fmt.Errorf("prepare %s: %w", c.Name, err)
		}
		go h.crash(ctx, c)
	}
	return h.fleet.Hub.ApplyFiles(ctx, scenario.Examples("rollout/placement.yaml"))
}

// prepare delivers a good commit with every method.
func (l *lane) prepare(ctx context.Context) (err error) {
	defer must.Return(&err)
	revision := must.Get(l.commit(ctx, "", ""))
	for _, method := range methods {
		set := &unstructured.Unstructured{}
		text := strings.NewReplacer("METHOD", method, "LANE", l.name).Replace(setTemplate)
		must.OK(yaml.Unmarshal([]byte(text), &set.Object))
		if method != rolling {
			unstructured.RemoveNestedField(set.Object, "spec", "strategy")
		}
		must.OK(l.fleet.Hub.Apply(ctx, set))
	}
	r := must.Get(env.ReadObjects(scenario.Examples("rollout/rollout.yaml")))
	r[0].SetName(l.rollout())
	must.OK(errors.Join(
		unstructured.SetNestedField(r[0].Object, l.rollout(), "spec", "applicationSet"),
		unstructured.SetNestedField(r[0].Object, minSuccessTime, "spec", "strategy", "progressivePerGroup", "minSuccessTime"),
		unstructured.SetNestedField(r[0].Object, progressDeadline, "spec", "strategy", "progressivePerGroup", "progressDeadline"),
		l.settled(ctx, 2*env.Patience, revision, methods...),
		l.fleet.Hub.Apply(ctx, r...),
	))
	_, err = scenario.AwaitRollout(ctx, l.fleet, l.rollout(), "what runs to be promoted and pinned", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && meta.IsStatusConditionTrue(s.Conditions, "Ready") && len(s.Following) == 1
	})
	return err
}

// rollout returns the name of the lane's ApplicationSetRollout and of its ApplicationSet.
func (l *lane) rollout() string { return ours + "-" + l.name }

// manage has the Argo CD of a cluster deploy into a namespace for each method: that of the
// examples has rights to that of the guestbook, and looks at no other.
func manage(ctx context.Context, c *env.Cluster) (err error) {
	defer must.Return(&err)
	for _, method := range methods {
		for document := range strings.SplitSeq(managed, "---\n") {
			o := &unstructured.Unstructured{}
			must.OK(yaml.Unmarshal([]byte(strings.ReplaceAll(document, "METHOD", method)), &o.Object))
			must.OK(c.Apply(ctx, o))
		}
	}
	patch := fmt.Sprintf(`{"stringData":{"namespaces":%q}}`, strings.Join(methods, ","))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "in-cluster"}}
	return c.Client.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (l *lane) commit(ctx context.Context, old, replacement string) (string, error) {
	l.serial++
	content := strings.ReplaceAll(good, "SERIAL", fmt.Sprint(l.serial))
	if old != "" {
		content = strings.ReplaceAll(content, old, replacement)
	}
	files := map[string]string{"harness/app.yaml": strings.ReplaceAll(content, "LANE", l.name)}
	return l.fleet.Git.CommitTo(ctx, l.name, fmt.Sprintf("Commit %d of %s", l.serial, l.name), files)
}

// settled waits until every Application of methods is synced and healthy at a revision.
func (l *lane) settled(ctx context.Context, patience time.Duration, revision string, methods ...string) error {
	return testkit.WaitFor(ctx, patience, time.Second, "every Application to run "+revision, func(ctx context.Context) error {
		var list argocd.ApplicationList
		if err := l.fleet.Hub.Client.List(ctx, &list, client.InNamespace(env.ArgoCDNamespace), client.MatchingLabels{"lane": l.name}); err != nil {
			return err
		}
		n, last := 0, ""
		for i := range list.Items {
			a := &list.Items[i]
			text := string(a.Status)
			if !slices.Contains(methods, strings.TrimSuffix(a.OwningApplicationSet(), "-"+l.name)) {
				continue
			}
			if strings.Contains(text, revision) && strings.Contains(text, `"Synced"`) && strings.Contains(text, `"Healthy"`) && !strings.Contains(text, `"Running"`) {
				n++
			} else {
				last = a.Name + " " + text
			}
		}
		if n < len(methods)*len(l.fleet.Managed) {
			return fmt.Errorf("%d do; one that does not: %s", n, last)
		}
		return nil
	})
}

// one pushes bad commit n, waits until the rollout has taken it back, counts, and mends it.
func (l *lane) one(ctx context.Context, n int) (err error) {
	defer must.Return(&err)
	began, kind := time.Now(), kinds[n%len(kinds)]
	bad := must.Get(l.commit(ctx, kind.old, kind.replacement))
	status, err := scenario.AwaitRollout(ctx, l.fleet, l.rollout(), "it to be taken back", func(s *rollout.Status) bool { return s.Phase == rollout.RolledBack })
	if err != nil {
		return fmt.Errorf("%s, commit %d, %s, %s: %w", l.name, n, kind.name, bad, err)
	}
	took := time.Since(began)
	wait(ctx, afterwards)
	if first := l.fleet.Managed[0].Name; !l.revisions.Compared(first, l.rollout()+"-"+first)[bad] {
		return fmt.Errorf("%s is the first group, and has not compared %s: nothing was measured", first, bad)
	}
	fmt.Printf("%s %s, commit %d, %s, taken back after %s: %s\n", time.Now().Format(time.TimeOnly), l.name, n, kind.name, took.Round(time.Second), status.Message)
	l.count(kind.name, bad, took)
	mended := must.Get(l.commit(ctx, "", ""))
	wait(ctx, 2*time.Second) // the other methods' Applications have Argo CD cache the branch for so long
	must.OK(scenario.Approve(ctx, l.fleet, l.rollout()))
	_, err = scenario.AwaitRollout(ctx, l.fleet, l.rollout(), "what mends it to be promoted", func(s *rollout.Status) bool {
		return s.Phase == rollout.Idle && slices.Equal(s.Promoted.Revisions, []string{mended})
	})
	if err != nil {
		return fmt.Errorf("%s, after commit %d, %s: %w", l.name, n, mended, err)
	}
	must.OK(l.settled(ctx, time.Minute, mended, ours))
	if err := l.settled(ctx, 30*time.Second, mended, rolling, plain); err != nil {
		fmt.Printf("%s: the other methods have not settled after commit %d, which is theirs\n", l.name, n)
	}
	return nil
}

// count notes which clusters outside the first group have compared and synced a bad commit.
func (l *lane) count(kind, bad string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, method := range methods {
		c := l.counts[kind+method]
		c.commits++
		if method == ours {
			c.took = append(c.took, took)
		}
		for _, cluster := range l.fleet.Managed[1:] {
			name := method + "-" + l.name + "-" + cluster.Name
			if l.revisions.Compared(cluster.Name, name)[bad] {
				c.compared++
				if method == ours {
					fmt.Printf("%s %s: %s has compared %s, which %s\n", time.Now().Format(time.TimeOnly), l.name, cluster.Name, bad, kind)
				}
			}
			if l.revisions.Synced(cluster.Name, name)[bad] {
				c.synced++
			}
		}
		l.counts[kind+method] = c
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (h *harness) print() {
	fmt.Printf("| bad commits | method | commits | compared by clusters outside the first group | synced by them | taken back after: median; range |\n|---|---|---|---|---|---|\n")
	for _, kind := range kinds {
		for _, method := range methods {
			c := h.counts[kind.name+method]
			took := ""
			if slices.Sort(c.took); len(c.took) > 0 {
				took = fmt.Sprintf("%s; %s to %s", c.took[len(c.took)/2].Round(time.Second), c.took[0].Round(time.Second), c.took[len(c.took)-1].Round(time.Second))
			}
			most := c.commits * (len(h.fleet.Managed) - 1)
			fmt.Printf("| %s | %s | %d | %d of %d | %d of %d | %s |\n", kind.name, method, c.commits, c.compared, most, c.synced, most, took)
		}
	}
}

// crash has every Pod "check-…" of a cluster fail some seconds after it runs.
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
			if !strings.HasPrefix(p.Name, "check-") || p.Status.Phase != corev1.PodRunning || time.Since(p.CreationTimestamp.Time) < 3*time.Second {
				continue
			}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed","reason":"Crashed"}}`))
			_ = c.Client.Status().Patch(ctx, p, patch) // the next look
		}
	}
}
