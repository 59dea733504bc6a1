// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func installRollouts(c *rest.Config) error {
	_, err := envtest.InstallCRDs(c, envtest.CRDInstallOptions{Paths: []string{filepath.Join(testkit.Root(), "deploy", "components", "rollouts")}, MaxTime: time.Minute})
	return err
}

func withRollouts(o *Options) { o.Rollouts = true }

// decides writes the status of a rollout, as its controller does.
func decides(t *testing.T, r *rollout.ApplicationSetRollout, change func(*rollout.Status)) {
	t.Helper()
	testkit.EditStatus(t, hub.client, r, func(r *rollout.ApplicationSetRollout) { change(&r.Status) })
}

// carriesOn waits until the copy of an Application is at a path and target revision, "" for
// none, and its work says which content it carries.
func carriesOn(t *testing.T, app *argocd.Application, path, revision string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%s to carry %s at %q", app.Name, path, revision), func() error {
		own := works(t, app)
		if len(own) != 1 {
			return fmt.Errorf("it has %d works, and conditions %v", len(own), said(t, app))
		}
		var spec struct {
			Source struct{ Path, TargetRevision string }
		}
		if err := json.Unmarshal([]byte(sentSpec(t, app)), &spec); err != nil {
			return err
		}
		if spec.Source.Path != path || spec.Source.TargetRevision != revision || own[0].Annotations[contract.RolloutAnnotation] == "" {
			return fmt.Errorf("it carries %+v, noted %q, conditions %v", spec, own[0].Annotations[contract.RolloutAnnotation], said(t, app))
		}
		return nil
	})
}

// waitsFor waits until an Application says that it waits for its rollout.
func waitsFor(t *testing.T, app *argocd.Application) {
	t.Helper()
	testkit.Eventually(t, app.Name+" to wait for the rollout", func() error {
		if now := said(t, app); !strings.Contains(now[policy.WarningCondition], "the change waits: rollout") {
			return fmt.Errorf("conditions are %v", now)
		}
		return nil
	})
}

func path(t *testing.T, app *argocd.Application, path string) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(fmt.Sprintf(`{"project":"default","destination":{"namespace":"guestbook"},"source":{"repoURL":"https://git.example/apps","path":%q}}`, path))
	})
}

// One rollout from its beginning to its deletion half way: what each work carries follows from
// the status alone.
func TestRollout(t *testing.T) {
	p := start(t, withRollouts)
	g := newSet(t)
	second := newCluster(t)
	g.bind(g.cluster, second)
	first := g.deploy("first", g.owned)
	path(t, first, "one")
	next := g.deploy("next", g.owned, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = second })
	path(t, next, "one")
	delivered(t, first, g.cluster)
	delivered(t, next, second)

	r := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "guestbook"}, Spec: rollout.Spec{ApplicationSet: g.set.GetName(), OnFailure: rollout.Rollback}}
	g.create(r)
	decides(t, r, func(s *rollout.Status) { s.Phase, s.Following = rollout.Idle, []string{g.cluster} })
	carriesOn(t, first, "one", "")
	carriesOn(t, next, "one", "")
	decides(t, r, func(s *rollout.Status) {
		s.Promoted = &rollout.Version{Number: 1, Revisions: []string{"r0"}, Time: metav1.Now()}
	})
	carriesOn(t, next, "one", "r0")
	carriesOn(t, first, "one", "")

	// other content waits; whoever is new waits for its word
	path(t, first, "two")
	path(t, next, "two")
	waitsFor(t, first)
	waitsFor(t, next)
	late := g.deploy("late", g.owned, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = second })
	waitsFor(t, late)
	if n := len(works(t, late)); n != 0 {
		t.Errorf("a new Application has %d works", n)
	}
	remove(t, late) // a deletion comes before a rollout
	testkit.Eventually(t, "a deleted Application to be gone", func() error {
		if err := client.IgnoreNotFound(hub.client.Get(context.Background(), client.ObjectKeyFromObject(late), late)); err != nil || late.DeletionTimestamp != nil {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	carriesOn(t, next, "one", "r0")

	// the first group gets the candidate; what it had is noted
	content := func(app *argocd.Application) []string { return []string{rollout.Content(app)} }
	was := strings.Split(delivered(t, first, g.cluster).Annotations[contract.RolloutAnnotation], "@")[:1]
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Candidate = rollout.Progressing, &rollout.Version{Number: 2, Content: true, Time: metav1.Now()}
		s.Clusters = []rollout.Cluster{{Name: g.cluster, State: rollout.StateProgressing, Since: metav1.Now(), Contents: content(first), From: was}}
	})
	carriesOn(t, first, "two", "")
	if noted := delivered(t, first, g.cluster).Annotations[contract.RolloutPromotedAnnotation]; !strings.Contains(noted, `"path":"one"`) {
		t.Errorf("what it had is not noted: %s", noted)
	}
	carriesOn(t, next, "one", "r0")

	// it is taken back, pinned to what is promoted, though the hub says otherwise
	decides(t, r, func(s *rollout.Status) { s.Phase = rollout.RollingBack })
	carriesOn(t, first, "one", "r0")

	testkit.Eventually(t, "it to be said that it is taken back", func() error {
		if now := said(t, first); !strings.Contains(now[policy.WarningCondition], "is rolled back") {
			return fmt.Errorf("conditions are %v", now)
		}
		return nil
	})

	// a restart changes nothing
	p.stop()
	p = start(t, withRollouts)
	waitsFor(t, first)
	carriesOn(t, first, "one", "r0")
	if n := p.requests.in(g.namespace, g.cluster, second); len(n) != 0 {
		t.Errorf("writes after a restart: %v", n)
	}

	// a pause comes before the rollout
	pause(t, next, "delivery")
	testkit.Eventually(t, "the pause to count", func() error {
		if now := said(t, next); !strings.Contains(now[policy.WarningCondition], "paused") {
			return fmt.Errorf("conditions are %v", now)
		}
		return nil
	})
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Promoted, s.Candidate, s.Clusters = rollout.Idle, &rollout.Version{Number: 3, Revisions: []string{"r3"}, Time: metav1.Now()}, nil, []rollout.Cluster{{Name: second, State: rollout.StateJoining, Since: metav1.Now(), Contents: content(next)}}
	})
	carriesOn(t, next, "one", "r0")
	pause(t, next, "")
	carriesOn(t, next, "two", "r3")

	// what it was given as promoted is what it goes back to, not what it had before that
	joined := content(next)
	path(t, next, "three")
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Candidate = rollout.Progressing, &rollout.Version{Number: 4, Revisions: []string{"r4"}, Content: true, Time: metav1.Now()}
		s.Clusters = []rollout.Cluster{{Name: second, State: rollout.StateProgressing, Since: metav1.Now(), Contents: content(next), From: joined}}
	})
	carriesOn(t, next, "three", "r4")
	decides(t, r, func(s *rollout.Status) { s.Phase = rollout.RollingBack })
	carriesOn(t, next, "two", "r3")
	path(t, next, "two")

	// without the object every cluster gets what the hub says
	remove(t, r)
	for _, app := range []*argocd.Application{first, next} {
		testkit.Eventually(t, app.Name+" to carry what the hub says", func() error {
			own := works(t, app)
			if sent := sentSpec(t, app); !strings.Contains(sent, `"path":"two"`) || strings.Contains(sent, "targetRevision") || own[0].Annotations[contract.RolloutAnnotation] != "" {
				return fmt.Errorf("it carries %s, noted %q", sent, own[0].Annotations[contract.RolloutAnnotation])
			}
			return nil
		})
	}

	// one that is made again counts anew: what was noted for the former is not its own
	again := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "again"}, Spec: rollout.Spec{ApplicationSet: g.set.GetName(), OnFailure: rollout.Rollback}}
	g.create(again)
	path(t, next, "five")
	carriesPath(t, next, "five")
	decides(t, again, func(s *rollout.Status) {
		s.Phase, s.Promoted = rollout.Idle, &rollout.Version{Number: 3, Revisions: []string{"r5"}, Time: metav1.Now()}
	})
	carriesOn(t, next, "five", "r5")
	five := content(next)
	path(t, next, "six")
	decides(t, again, func(s *rollout.Status) {
		s.Phase, s.Candidate = rollout.Progressing, &rollout.Version{Number: 4, Revisions: []string{"r6"}, Content: true, Time: metav1.Now()}
		s.Clusters = []rollout.Cluster{{Name: second, State: rollout.StateProgressing, Since: metav1.Now(), Contents: content(next), From: five}}
	})
	carriesOn(t, next, "six", "r6")
	decides(t, again, func(s *rollout.Status) { s.Phase = rollout.RollingBack })
	carriesOn(t, next, "five", "r5")
}

// A deletion, a revocation and a move of what a rollout holds do not wait for it; a new copy does,
// and until it is there the former one stays.
func TestRollout_endsComeBeforeIt(t *testing.T) {
	start(t, withRollouts)
	g := newSet(t)
	other := newCluster(t)
	g.bind(g.cluster, other)
	r := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "guestbook"}, Spec: rollout.Spec{ApplicationSet: g.set.GetName()}}
	g.create(r)
	moved, revoked, deleted := g.deploy("moved", g.owned), g.deploy("revoked", g.owned), g.deploy("deleted", g.owned)
	for _, app := range []*argocd.Application{moved, revoked, deleted} {
		path(t, app, "one")
		carriesPath(t, app, "one")
	}
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Promoted = rollout.Idle, &rollout.Version{Number: 1, Revisions: []string{"r0"}, Time: metav1.Now()}
	})
	for _, app := range []*argocd.Application{moved, revoked, deleted} {
		carriesOn(t, app, "one", "r0")
		path(t, app, "two")
		waitsFor(t, app)
	}

	former := delivered(t, moved, g.cluster)
	edit(t, moved, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = other })
	entry := rollout.Cluster{Name: other, State: rollout.StatePending, Since: metav1.Now()}
	decides(t, r, func(s *rollout.Status) { s.Clusters = []rollout.Cluster{entry} })
	says(t, moved, policy.WarningCondition, "waits until this cluster is available")
	if own := works(t, moved); len(own) != 1 || own[0].UID != former.UID || own[0].DeletionTimestamp != nil {
		t.Errorf("what runs does not stay while the new copy waits: %d works", len(own))
	}
	entry.State, entry.Contents = rollout.StateJoining, []string{rollout.Content(moved)}
	decides(t, r, func(s *rollout.Status) { s.Clusters = []rollout.Cluster{entry} })
	testkit.Eventually(t, "the new copy to be made", func() error {
		for _, w := range works(t, moved) {
			if w.Namespace == other {
				applyWell(t, &w)
				return nil
			}
		}
		return fmt.Errorf("conditions are %v", said(t, moved))
	})
	delivered(t, moved, other)
	carriesOn(t, moved, "two", "r0")

	remove(t, g.set)
	remove(t, deleted) // as the garbage collector does
	withdrawn(t, deleted)
	carriesOn(t, revoked, "one", "r0")

	g.bind(other)
	withdrawn(t, revoked)
}

// carriesPath waits until the copy of an Application is at a path.
func carriesPath(t *testing.T, app *argocd.Application, path string) {
	t.Helper()
	testkit.Eventually(t, app.Name+" to carry "+path, func() error { return carries(t, app, fmt.Sprintf(`"path":%q`, path)) })
}

// Where rollouts are not installed an ApplicationSetRollout decides nothing.
func TestRollout_off(t *testing.T) {
	start(t)
	g := generate(t)
	r := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "guestbook"}, Spec: rollout.Spec{ApplicationSet: g.set.GetName()}}
	g.create(r)
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Promoted = rollout.Idle, &rollout.Version{Number: 1, Revisions: []string{"r0"}, Time: metav1.Now()}
	})
	change(t, g.apps[0], "another")
	testkit.Eventually(t, "the change to be delivered", func() error { return carries(t, g.apps[0], "another") })
}

// A pause of syncs that ends while other content waits gives back the automation that it took out,
// as it was, and what is noted to go back to has it, too.
func TestRollout_pauseOfSyncsEnds(t *testing.T) {
	start(t, withRollouts)
	g := newSet(t)
	r := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "guestbook"}, Spec: rollout.Spec{ApplicationSet: g.set.GetName(), OnFailure: rollout.Rollback}}
	g.create(r)
	app := g.deploy("app", g.owned)
	is := func(path, automated string) {
		t.Helper()
		edit(t, app, func(a *argocd.Application) {
			a.Spec = json.RawMessage(fmt.Sprintf(`{"project":"default","destination":{"namespace":"guestbook"},"syncPolicy":{"automated":%s},"source":{"repoURL":"https://git.example/apps","path":%q}}`, automated, path))
		})
	}
	runs := func(path, automated string) {
		t.Helper()
		testkit.Eventually(t, "the copy to be at "+path+" with automation "+automated, func() error {
			if sent := sentSpec(t, app); !strings.Contains(sent, fmt.Sprintf(`"path":%q`, path)) || strings.Contains(sent, `"automated"`) != (automated != "") || !strings.Contains(sent, automated) {
				return fmt.Errorf("it is %s, conditions %v", sent, said(t, app))
			}
			return nil
		})
	}
	is("one", `{"selfHeal":true}`)
	runs("one", `{"selfHeal":true}`)
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Promoted = rollout.Idle, &rollout.Version{Number: 1, Revisions: []string{"r0"}, Time: metav1.Now()}
	})
	carriesOn(t, app, "one", "r0")
	was := []string{rollout.Content(app)}
	is("two", `{"prune":true}`)
	waitsFor(t, app)

	pause(t, app, "sync")
	runs("one", "")
	pause(t, app, "")
	runs("one", `{"selfHeal":true}`)
	waitsFor(t, app)

	pause(t, app, "sync")
	runs("one", "")
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Candidate = rollout.Progressing, &rollout.Version{Number: 2, Revisions: []string{"r2"}, Content: true, Time: metav1.Now()}
		s.Clusters = []rollout.Cluster{{Name: g.cluster, State: rollout.StateProgressing, Since: metav1.Now(), Contents: []string{rollout.Content(app)}, From: was}}
	})
	says(t, app, policy.WarningCondition, "paused")
	pause(t, app, "")
	runs("two", `{"prune":true}`)
	decides(t, r, func(s *rollout.Status) { s.Phase = rollout.RollingBack })
	runs("one", `{"selfHeal":true}`)
}

// An operation that its cluster was given before other content began to wait ends on the hub as
// soon as the cluster has run it.
func TestRollout_operationEndsWhileContentWaits(t *testing.T) {
	start(t, withRollouts)
	g := newSet(t)
	r := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "guestbook"}, Spec: rollout.Spec{ApplicationSet: g.set.GetName()}}
	g.create(r)
	app := g.deploy("app", g.owned)
	path(t, app, "one")
	carriesPath(t, app, "one")
	decides(t, r, func(s *rollout.Status) {
		s.Phase, s.Promoted = rollout.Idle, &rollout.Version{Number: 1, Revisions: []string{"r0"}, Time: metav1.Now()}
	})
	carriesOn(t, app, "one", "r0")
	m := deliveredTo(t, app, g.cluster)
	ask(t, app)
	sent(t, app, m)
	m.report()
	path(t, app, "two")
	waitsFor(t, app)
	m.begin()
	m.report()
	m.end()
	m.report()
	testkit.Eventually(t, "the operation to be gone from the hub", func() error {
		stored := &argocd.Application{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
			return err
		}
		if len(stored.Operation) > 0 || said(t, app)[request.ClaimCondition] != "" {
			return fmt.Errorf("operation %s, conditions %v", stored.Operation, said(t, app))
		}
		return nil
	})
	waitsFor(t, app)
	carriesOn(t, app, "one", "r0")
	m.begin()
	if m.ran != 1 {
		t.Errorf("the cluster ran %d operations", m.ran)
	}
}
