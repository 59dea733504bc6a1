// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// RolloutScenario shows a bad commit that stops at the first group and is taken back.
type RolloutScenario struct {
	*Scenario
	revisions *Revisions
	promoted  string
}

// NewRollout returns the scenario of a fleet with rollouts; log gets the lines that a person
// reads.
func NewRollout(fleet *env.Fleet, view *View, log func(string)) *RolloutScenario {
	return &RolloutScenario{Scenario: New(fleet, view, log)}
}

// Steps returns the steps in their order.
func (s *RolloutScenario) Steps() []Step {
	return []Step{
		{"Deliver: apply the examples; the guestbook starts on every managed cluster", s.deliver},
		{"Roll out: push a commit; it reaches the first group, and then the others", s.rollOut},
		{"Break: push a commit that cannot sync; it stops at the first group and is taken back", s.takeBack},
		{"Mend: push a commit that can sync, and approve; it reaches every cluster", s.mend},
	}
}

// StageLabels are the labels by which the example's Placement makes its groups.
func StageLabels(ctx context.Context, fleet *env.Fleet) error {
	for i, c := range fleet.Managed {
		stage := []string{"canary", "early", "rest", "rest"}[min(i, 3)]
		patch := fmt.Sprintf(`{"metadata":{"labels":{"stage":%q}}}`, stage)
		cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: c.Name}}
		if err := fleet.Hub.Client.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			return err
		}
	}
	return nil
}

func (s *RolloutScenario) deliver(ctx context.Context) (err error) {
	defer must.Return(&err)
	must.OK(StageLabels(ctx, s.fleet))
	if s.revisions, err = WatchRevisions(s.fleet.Context(), s.fleet); err != nil { //nolint:contextcheck // it ends with the fleet
		return err
	}
	must.OK(s.Deliver(ctx))
	must.OK(s.fleet.Hub.ApplyFiles(ctx, Examples("rollout/placement.yaml"), Examples("rollout/rollout.yaml")))
	status, err := AwaitRollout(ctx, s.fleet, ApplicationSet, "what runs to be promoted and pinned", func(r *rollout.Status) bool {
		return r.Phase == rollout.Idle && meta.IsStatusConditionTrue(r.Conditions, "Ready") && len(r.Following) == 1
	})
	if err == nil {
		s.logf("promoted: %s; the first group is %v", Short(status.Promoted.Revisions[0]), status.Following)
	}
	return err
}

func (s *RolloutScenario) rollOut(ctx context.Context) (err error) {
	defer must.Return(&err)
	content := must.Get(s.fleet.Git.Read(guestbookPath))
	painted := must.Get(replaceAll(content, map[string]string{"color: blue": "color: green"}))
	began := time.Now()
	s.promoted = must.Get(s.fleet.Git.Commit(ctx, "Paint it green", map[string]string{guestbookPath: painted}))
	must.OK(s.awaitPromoted(ctx))
	s.logf("%s is promoted to every cluster, %s after the push", Short(s.promoted), time.Since(began).Round(100*time.Millisecond))
	return nil
}

func (s *RolloutScenario) awaitPromoted(ctx context.Context) error {
	_, err := AwaitRollout(ctx, s.fleet, ApplicationSet, s.promoted+" to be promoted", func(r *rollout.Status) bool {
		return r.Phase == rollout.Idle && slices.Equal(r.Promoted.Revisions, []string{s.promoted})
	})
	return err
}

func (s *RolloutScenario) takeBack(ctx context.Context) (err error) {
	defer must.Return(&err)
	content := must.Get(s.fleet.Git.Read(guestbookPath))
	s.original = content
	broken := must.Get(replaceAll(content, CannotSync))
	began := time.Now()
	bad := must.Get(s.fleet.Git.Commit(ctx, "Rename the label", map[string]string{guestbookPath: broken}))
	s.logf("pushed %s: it changes the selector of a Deployment, which no API server accepts", Short(bad))
	stop := must.Get(AwaitRollout(ctx, s.fleet, ApplicationSet, "it to be taken back", func(r *rollout.Status) bool {
		return r.Phase == rollout.RollingBack || r.Phase == rollout.RolledBack
	}))
	s.logf("stopped after %s: %s", time.Since(began).Round(100*time.Millisecond), stop.Message)
	must.Get(s.view.Await(ctx, "the report to say so", func() (bool, string) {
		state := ""
		if report := s.view.Report(s.set); report != nil {
			state = report.Annotations[contract.RolloutStateAnnotation]
		}
		return strings.Contains(state, fmt.Sprintf(`"phase":"RolledBack","promoted":[%q],"candidate":[%q]`, s.promoted, bad)), state
	}))
	canary := s.fleet.Managed[0].Name
	must.Get(s.view.Await(ctx, "the first group to be as before", s.syncedAndHealthy(canary, application(canary), s.promoted)))
	s.logf("%s runs %s again, synced and healthy, %s after the push", canary, Short(s.promoted), time.Since(began).Round(100*time.Millisecond))
	for _, c := range s.fleet.Managed[1:] {
		if s.revisions.Compared(c.Name, application(c.Name))[bad] {
			return fmt.Errorf("%s has compared %s", c.Name, bad)
		}
		s.logf("%s never compared %s", c.Name, Short(bad))
	}
	return nil
}

func (s *RolloutScenario) mend(ctx context.Context) (err error) {
	defer must.Return(&err)
	began := time.Now()
	s.promoted = must.Get(s.fleet.Git.Commit(ctx, "Mend it", map[string]string{guestbookPath: s.original}))
	must.OK(Approve(ctx, s.fleet, ApplicationSet))
	must.OK(s.awaitPromoted(ctx))
	s.logf("%s is promoted to every cluster, %s after the push", Short(s.promoted), time.Since(began).Round(100*time.Millisecond))
	return nil
}

// CannotSync are replacements in the guestbook that no API server accepts.
var CannotSync = map[string]string{
	"matchLabels: {app: guestbook-ui}": "matchLabels: {app: guestbook-next}",
	"labels: {app: guestbook-ui}":      "labels: {app: guestbook-next}",
}

// AwaitRollout waits until a rollout of the Argo CD namespace is as it should be.
func AwaitRollout(ctx context.Context, fleet *env.Fleet, name, what string, is func(*rollout.Status) bool) (*rollout.Status, error) {
	r := &rollout.ApplicationSetRollout{}
	err := testkit.WaitFor(ctx, env.Patience, 200*time.Millisecond, what, func(ctx context.Context) error {
		if err := fleet.Hub.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, r); err != nil || is(&r.Status) {
			return err
		}
		raw, err := json.Marshal(r.Status)
		return errors.Join(errors.New(string(raw)), err)
	})
	return &r.Status, err
}

// Approve approves the candidate of a rollout.
func Approve(ctx context.Context, fleet *env.Fleet, name string) error {
	status, err := AwaitRollout(ctx, fleet, name, "the rollout to stand", func(r *rollout.Status) bool {
		return r.Phase == rollout.Halted || r.Phase == rollout.RolledBack
	})
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"approve %d"}}}`, rollout.WordAnnotation, status.Candidate.Number)
	r := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: name}}
	return fleet.Hub.Client.Patch(ctx, r, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// Revisions are those that the Applications of the managed clusters have ever compared and
// synced. It is safe for concurrent use.
type Revisions struct {
	mu               sync.Mutex
	compared, synced map[string]map[string]bool
}

// WatchRevisions notes them until ctx ends.
func WatchRevisions(ctx context.Context, fleet *env.Fleet) (_ *Revisions, err error) {
	defer must.Return(&err)
	r := &Revisions{compared: map[string]map[string]bool{}, synced: map[string]map[string]bool{}}
	scheme := must.Get(env.Scheme())
	for _, c := range fleet.Managed {
		watching := must.Get(cache.New(c.Config, cache.Options{Scheme: scheme}))
		go func() { _ = watching.Start(ctx) }() // it ends with ctx, and only then
		informer := must.Get(watching.GetInformer(ctx, &argocd.Application{}))
		must.Get(informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { r.note(c.Name, o) },
			UpdateFunc: func(_, o any) { r.note(c.Name, o) },
		}))
	}
	return r, nil
}

func (r *Revisions) note(cluster string, o any) {
	app, ok := o.(*argocd.Application)
	if !ok {
		return
	}
	var status struct {
		Sync           struct{ Revision string }
		OperationState struct {
			Operation  struct{ Sync struct{ Revision string } }
			SyncResult struct{ Revision string }
		}
	}
	if json.Unmarshal(app.Status, &status) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := cluster + "/" + app.Name
	if r.compared[key] == nil {
		r.compared[key], r.synced[key] = map[string]bool{}, map[string]bool{}
	}
	r.compared[key][status.Sync.Revision] = true
	r.synced[key][status.OperationState.Operation.Sync.Revision], r.synced[key][status.OperationState.SyncResult.Revision] = true, true
}

// Compared returns the revisions that an Application of a cluster has ever compared.
func (r *Revisions) Compared(cluster, app string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.compared[cluster+"/"+app])
}

// Synced returns those that it has ever begun to sync.
func (r *Revisions) Synced(cluster, app string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.synced[cluster+"/"+app])
}
