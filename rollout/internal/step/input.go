// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package step

import (
	"fmt"
	"slices"
	"time"

	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
)

// App is one Application of the set, and what its ManifestWork carries and reports.
type App struct {
	Name string
	// Want is the content of the hub Application, Carried what its work has. A work that
	// was not written under a rollout yet has no content.
	Want    string
	HasWork bool
	Carried rollout.Carried
	// Known is false when nothing can be said: the cluster is away, or has not applied
	// the work as it is.
	Known bool
	// Refused: the cluster could not apply it.
	Refused bool
	// Applied: the cluster has applied the last change of the work.
	Applied bool
	// Health, Sync, Phase and Revisions are what the cluster reports.
	Health, Sync, Phase string
	Revisions           []string
	// Began is when its last operation began, OperationRevisions are what that synced, empty
	// while they are not known.
	Began              string
	OperationRevisions []string
	// Compared is when the cluster's Argo CD last compared, by its own clock, as RFC 3339.
	Compared string
	// Message says what is wrong with it.
	Message string
}

// Cluster is a cluster with the Applications that the set has for it.
type Cluster struct {
	Available bool
	Apps      []App
}

// Input of [Next].
type Input struct {
	Spec   rollout.Spec
	Status rollout.Status
	// Groups are the decision groups in order, each with its clusters.
	Groups []Group
	// Clusters are those that the set has an Application for.
	Clusters map[string]Cluster
	// Approved and Aborted are the number of the candidate that an operator names, 0 for
	// none.
	Approved, Aborted int64
	Now               time.Time
}

// Group is a decision group of the Placement.
type Group struct {
	Name     string
	Clusters []string
}

// config is the part of a strategy that its types have in common.
func config(s *clusterv1alpha1.RolloutStrategy) clusterv1alpha1.RolloutConfig {
	switch {
	case s.Type == clusterv1alpha1.Progressive && s.Progressive != nil:
		return s.Progressive.RolloutConfig
	case s.Type == clusterv1alpha1.ProgressivePerGroup && s.ProgressivePerGroup != nil:
		return s.ProgressivePerGroup.RolloutConfig
	case (s.Type == clusterv1alpha1.All || s.Type == "") && s.All != nil:
		return s.All.RolloutConfig
	}
	return clusterv1alpha1.RolloutConfig{}
}

// deadline returns how long a cluster may take, 0 for as long as it likes.
func deadline(s *clusterv1alpha1.RolloutStrategy) time.Duration {
	d, err := time.ParseDuration(config(s).ProgressDeadline)
	if err != nil {
		return 0 // None, or what Validate refuses
	}
	return d
}

// Validate says which field of a spec cannot be followed.
func Validate(spec *rollout.Spec) error {
	c := config(&spec.Strategy)
	if text := c.ProgressDeadline; text != "" && text != "None" {
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return fmt.Errorf("spec.strategy: progressDeadline %q: want None or a duration as 10m", text)
		}
	}
	if c.MinSuccessTime.Duration < 0 {
		return fmt.Errorf("spec.strategy: minSuccessTime %s: want zero or more", c.MinSuccessTime.Duration)
	}
	_, err := choose(spec, []Group{{Clusters: []string{"any"}}}, nil)
	if err != nil {
		return fmt.Errorf("spec.strategy: %w", err)
	}
	return nil
}

// contents returns the contents of a cluster's Applications, sorted.
func contents(apps []App, of func(*App) string) []string {
	all := make([]string, len(apps))
	for i := range apps {
		all[i] = of(&apps[i])
	}
	slices.Sort(all)
	return all
}

func (c *Cluster) want() []string { return contents(c.Apps, func(a *App) string { return a.Want }) }

func (c *Cluster) carried() []string {
	return contents(c.Apps, func(a *App) string { return a.Carried.Content })
}

// isNew: one of its Applications was never delivered.
func (c *Cluster) isNew() bool {
	return slices.ContainsFunc(c.Apps, func(a App) bool { return !a.HasWork })
}

// differs: one of its Applications is delivered, and not with what the hub says.
func (c *Cluster) differs() bool {
	return slices.ContainsFunc(c.Apps, func(a App) bool { return a.HasWork && a.Carried.Content != a.Want })
}

// revisions returns those that the Applications of a cluster last compared, nil when one
// has not, or when they differ.
func (c *Cluster) revisions() []string {
	var all []string
	for i := range c.Apps {
		a := &c.Apps[i]
		if !a.Known || len(a.Revisions) == 0 || slices.Contains(a.Revisions, "") || all != nil && !slices.Equal(all, a.Revisions) {
			return nil
		}
		all = a.Revisions
	}
	return all
}

// began returns when the last operation of a cluster began.
func (c *Cluster) began() (last string) {
	for i := range c.Apps {
		last = max(last, c.Apps[i].Began)
	}
	return last
}

// compared returns when a cluster last compared, and not "".
func (c *Cluster) compared() string {
	last := "0"
	for i := range c.Apps {
		last = max(last, c.Apps[i].Compared)
	}
	return last
}

// healthy: everything that is asked of an Application but for the time that it lasts.
func (a *App) healthy() bool {
	return a.inSync() && (a.Phase == argocd.OperationSucceeded || a.Phase == "")
}

func (a *App) inSync() bool {
	return a.Known && a.Sync == argocd.SyncSynced && a.Health == argocd.HealthHealthy
}

// cluster returns a cluster by its name, nil for none.
func (in *Input) cluster(name string) *Cluster {
	c, there := in.Clusters[name]
	if !there {
		return nil
	}
	return &c
}

// timer knows how long things may take, and when to look again.
type timer struct {
	now                   time.Time
	deadline, soak, again time.Duration
}

// soaked: a cluster has been good for long enough.
func (t *timer) soaked(e *rollout.Cluster) bool {
	return e.State == rollout.StateSucceeded && !t.now.Before(e.Since.Add(t.soak))
}

// late: a cluster has taken longer than it may.
func (t *timer) late(e *rollout.Cluster) bool {
	if t.deadline == 0 {
		return false
	}
	end := e.Since.Add(t.deadline)
	if t.now.Before(end) {
		t.wake(end)
		return false
	}
	return true
}

// wake has a look taken at a time.
func (t *timer) wake(at time.Time) {
	if left := max(at.Sub(t.now), time.Millisecond); t.again == 0 || left < t.again {
		t.again = left
	}
}
