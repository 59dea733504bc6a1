// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// startForOneWrite starts a propagation that stops with its first write in some namespaces. The write is
// sent, but its answer is lost, and no further write follows.
func startForOneWrite(t *testing.T, change func(*Options), namespaces ...string) (p *propagation, wrote <-chan struct{}) {
	t.Helper()
	over, died := make(chan struct{}), errors.New("killed")
	var mu sync.Mutex
	dead := false
	write := func(verb string, o client.Object, send func() error) error {
		if !slices.Contains(namespaces, o.GetNamespace()) {
			return send()
		}
		mu.Lock()
		defer mu.Unlock()
		if dead {
			return died
		}
		if err := send(); err != nil {
			return err
		}
		dead = true
		t.Logf("killed with %s %T %s/%s", verb, o, o.GetNamespace(), o.GetName())
		close(over)
		return died // the process receives no answer
	}
	return startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				return write("create", o, func() error { return c.Create(ctx, o, opts...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				return write("patch", o, func() error { return c.Patch(ctx, o, patch, opts...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
			},
		})
	}, change), over
}

// agents apply the works of some clusters, and finalize deleted works.
type agents struct {
	t        *testing.T
	clusters []string

	mu sync.Mutex
	// last has the deleted works in their last version.
	last []*workv1.ManifestWork
}

func (a *agents) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			for _, cluster := range a.clusters {
				var list workv1.ManifestWorkList
				_ = hub.client.List(ctx, &list, client.InNamespace(cluster)) // the next pass retries
				for i := range list.Items {
					a.look(ctx, &list.Items[i])
				}
			}
			return false, nil
		})
	}()
	a.t.Cleanup(func() { cancel(); <-done })
}

func (a *agents) look(ctx context.Context, work *workv1.ManifestWork) {
	switch {
	case work.DeletionTimestamp != nil:
		before := work.DeepCopy()
		work.Finalizers = nil
		if hub.client.Update(ctx, work) == nil {
			a.mu.Lock()
			a.last = append(a.last, before)
			a.mu.Unlock()
		}
	case len(work.Finalizers) == 0:
		work.Finalizers = []string{workv1.ManifestWorkFinalizer}
		_ = hub.client.Update(ctx, work) // the next pass retries
	case appliedAt(work) == "":
		_ = tryAnswer(client.ObjectKeyFromObject(work), "True", "True", "", nil) // the next pass retries
	}
}

// ended returns the last versions of the deleted works.
func (a *agents) ended() []*workv1.ManifestWork {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.last)
}

func cascades(work *workv1.ManifestWork) bool {
	return !orphans(work) && strings.Contains(applicationIn(work), argocd.ResourcesFinalizer)
}

func leaves(work *workv1.ManifestWork) bool {
	return !orphans(work) && strings.Contains(applicationIn(work), "end-without-cascade")
}

// propagation is killed with each of its writes, and the next process continues. It delivers, pauses,
// renames, moves and removes an Application. An existing work delivers the Application at all times.
func TestApply_survivesAKillWithEachWrite(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*argocd.Application)
		last   func(*workv1.ManifestWork) bool // whether the last version of a deleted work is correct
	}{
		"with cascade":    {change: func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} }, last: cascades},
		"without cascade": {change: func(*argocd.Application) {}, last: leaves},
		"orphan": {last: orphans, change: func(a *argocd.Application) {
			a.Finalizers = []string{argocd.ResourcesFinalizer}
			a.Annotations[contract.DeletionPolicyAnnotation] = "orphan"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, target := newPlace(t), newCluster(t)
			p.bind(p.cluster, target)
			agents := &agents{t: t, clusters: []string{p.cluster, target}}
			agents.run()
			argo, kills := anywhere(t, "gitops"), 0
			until := func(what string, reached func() error) {
				t.Helper()
				for over := false; !over; {
					dead, wrote := startForOneWrite(t, argo, p.namespace, p.cluster, target)
					killed := false
					testkit.Eventually(t, what, func() error {
						select {
						case <-wrote:
							killed = true
							return nil
						default:
						}
						err := reached()
						over = err == nil
						return err
					})
					dead.stop()
					select {
					case <-wrote:
						killed = true
					default:
					}
					if killed {
						kills++
					}
				}
			}
			app := p.deploy("guestbook", automated, c.change)
			runs := func(cluster, namespace string, automation bool) func() error {
				return func() error {
					exists, reached, all := false, false, works(t, app)
					for i := range all {
						w := &all[i]
						exists = exists || w.DeletionTimestamp == nil
						reached = reached || w.Namespace == cluster && w.DeletionTimestamp == nil && appliedAt(w) != "" &&
							payload.DeliveredBy(&w.Spec).Namespace == namespace && strings.Contains(applicationIn(w), "automated") == automation
					}
					if kills > 0 && !exists {
						t.Fatal("it runs nowhere")
					}
					if !reached || len(all) > 1 {
						return fmt.Errorf("it is in %d ManifestWorks, as it is to be on %s: %t", len(all), cluster, reached)
					}
					return nil
				}
			}
			until("it to run", runs(p.cluster, p.namespace, true))
			pause(t, app, "sync")
			until("it to be paused", runs(p.cluster, p.namespace, false))
			pause(t, app, "")
			until("it to go on", runs(p.cluster, p.namespace, true))
			edit(t, app, func(a *argocd.Application) { a.Annotations[contract.AppNamespaceAnnotation] = "gitops" })
			until("it to be renamed", runs(p.cluster, "gitops", true))
			edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ClusterAnnotation] = target })
			until("it to have moved", runs(target, "gitops", true))
			remove(t, app)
			until("it to be gone", func() error {
				if n := len(works(t, app)); n > 0 {
					return fmt.Errorf("it has %d ManifestWorks", n)
				}
				return gone(app)
			})
			ended := agents.ended()
			if len(ended) != 3 || !leaves(ended[0]) || ended[1].Namespace != p.cluster || !c.last(ended[1]) || !c.last(ended[2]) {
				t.Errorf("%d ManifestWorks were deleted, which say %v", len(ended), ended)
			}
			for _, w := range ended {
				if w.Status.Conditions[0].ObservedGeneration < w.Generation-1 { // the deletion increments the generation
					t.Errorf("generation %d is deleted, its agent has applied %+v", w.Generation, w.Status.Conditions)
				}
			}
			if kills < 10 {
				t.Errorf("propagation was killed %d times", kills)
			}
		})
	}
}

// A restart with unchanged objects writes nothing.
func TestRestart_writesNothing(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	var apps []*argocd.Application
	for i := range 20 {
		apps = append(apps, p.deploy(fmt.Sprintf("app-%d", i), func(a *argocd.Application) {
			a.Annotations["example.com/note"] = "a < b && c > \"d\" é \u2028"
			a.Spec = []byte(`{"project":"default","destination":{"namespace":"x"},"source":{"repoURL":"https://git.example.com/a.git","helm":{"values":"a: <b> & c\u2028","parameters":[{"name":"n","value":"1"}]}},"syncPolicy":{"retry":{"limit":5,"backoff":{"factor":2}}}}`)
		}))
	}
	for _, app := range apps {
		delivered(t, app, p.cluster)
	}
	first.stop()
	second := start(t)
	// When this Application is delivered, propagation has reconciled all the others.
	last := p.deploy("last")
	delivered(t, last, p.cluster)
	if got := second.requests.in(p.namespace, p.cluster); len(got) != 1 {
		t.Errorf("the restart made %d write requests, want the one for the new Application: %v", len(got), got)
	}
}

func TestDelivery_followsTheApplication(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	if want := contract.WorkName("guestbook", string(app.UID)); work.Name != want {
		t.Errorf("the work is called %s, want %s", work.Name, want)
	}
	edit(t, app, func(a *argocd.Application) {
		a.Spec = json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"other"},"destination":{"namespace":"guestbook"}}`)
	})
	testkit.Eventually(t, "the edit in the work", func() error { return carries(t, app, `"path":"other"`) })
	remove(t, app)
	withdrawn(t, app)
}

func TestDeletion_keepsTheFinalizerUntilTheRemoval(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} })
	work := delivered(t, app, p.cluster)
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = []string{"example.com/agent"} })
	remove(t, app)
	awaitCondition(t, app, policy.WarningCondition, "not deleted yet: waiting for cluster")
	edit(t, work, func(w *workv1.ManifestWork) { w.Finalizers = nil })
	testkit.Eventually(t, "the Application to be gone", func() error { return gone(app) })
}

func gone(o client.Object) error {
	err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it is still there: %w", errors.Join(errors.New("found"), err))
}

func carries(t *testing.T, app *argocd.Application, text string) error {
	for _, w := range works(t, app) {
		manifests := w.Spec.Workload.Manifests
		if strings.Contains(string(manifests[len(manifests)-1].Raw), text) {
			return nil
		}
	}
	return fmt.Errorf("no work has %s", text)
}

// refusing is an API server that returns an error for writes of some objects, by name. "finalizers" is the write
// of an Application's finalizers.
type refusing struct {
	client.Client
	errs  map[string]error
	wrote []string
}

func (r *refusing) write(verb string, o client.Object) error {
	if err := r.errs[o.GetName()]; err != nil {
		return err
	}
	r.wrote = append(r.wrote, verb+" "+o.GetName())
	return nil
}

func (r *refusing) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if data, err := patch.Data(o); err != nil || r.errs["finalizers"] != nil && strings.Contains(string(data), `"finalizers"`) {
		return errors.Join(err, r.errs["finalizers"])
	}
	return r.write("patch", o)
}

func (r *refusing) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	return r.write("delete", o)
}

// endingOn returns a pass over a deleted Application with works a and b that end with a step.
func endingOn(t *testing.T, r *refusing, step decide.Step, release decide.Release) (*applier, pass) {
	t.Helper()
	app := settled(t).app
	app.Finalizers = []string{argocd.ResourcesFinalizer}
	p := pass{facts: decide.Facts{Key: teamApp, Application: app}, plan: decide.Plan{Release: release}}
	for _, name := range []string{"a", "b"} {
		live := workOn(t, app, "cluster1", nil)
		live.Name, live.UID = name, types.UID(name)
		p.works = append(p.works, decide.Work{Work: appcache.Compact(live), Live: live, Cluster: decide.Cluster{Exists: true}})
		p.plan.Fates = append(p.plan.Fates, decide.Fate{UID: live.UID, Own: true, Act: decide.End, Due: true, Why: decide.Deleting, Next: step, How: payload.Ending{Orphan: true}})
	}
	p.facts.Works = p.works
	reporter := &reporter{client: r, now: time.Now, events: events.NewFakeRecorder(10), tracker: &tracker{}}
	return &applier{writer: &writer{client: r, live: r, now: time.Now}, requests: &operations{client: r, now: time.Now}, reporter: reporter}, p
}

// If the API server refuses a write for good, propagation continues with the other writes.
func TestApply_continuesAfterARefusedWrite(t *testing.T) {
	r := &refusing{errs: map[string]error{"a": apierrors.NewForbidden(schema.GroupResource{}, "a", nil)}}
	a, p := endingOn(t, r, decide.StepDelete, decide.NoRelease)
	if err := a.apply(t.Context(), p); !apierrors.IsForbidden(err) || !slices.Equal(r.wrote, []string{"delete b"}) {
		t.Errorf("it wrote %v, %v", r.wrote, err)
	}
}

// A write that is refused for good is reported, in addition to the other problems of the Application. The report
// waits if the Application was just written, or if its works have changed meanwhile.
func TestApply_reportsARefusedWrite(t *testing.T) {
	again, never := apierrors.NewConflict(schema.GroupResource{}, "a", nil), apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("a policy"))
	large := policy.Refuse(policy.ReasonTooLarge, "too large")
	const refusal = "not finished: the API server refused to "
	for name, c := range map[string]struct {
		on      string
		err     error
		release decide.Release
		report  *policy.Decision
		want    string // the begin of the Event, empty for none
		others  bool   // the works only name the Application
	}{
		"of another's work":                 {"a", never, decide.NoRelease, &policy.Decision{Deliver: true}, "", true},
		"another's work, tried again":       {"a", again, decide.NoRelease, large, "Warning TooLarge too large", true},
		"another's work, unreadable status": {"a", again, decide.NoRelease, large, "Warning TooLarge too large", true},
		"deleting":                          {"a", never, decide.NoRelease, policy.RefuseAsWarning(policy.ReasonDeleting, ""), "Warning Refused " + refusal + "delete ManifestWork cluster1/a: ", false},
		"delivers":                          {"a", never, decide.NoRelease, &policy.Decision{Deliver: true}, "Warning Refused " + refusal + "delete ManifestWork cluster1/a: ", false},
		"another problem":                   {"a", never, decide.NoRelease, large, "Warning TooLarge too large; " + refusal + "delete ManifestWork cluster1/a: ", false},
		"released":                          {"a", never, decide.Undone, nil, "", false},
		"not released":                      {"finalizers", never, decide.Undone, nil, "Warning Refused " + refusal + "release Application team/app: ", false},
		"tried again":                       {"a", again, decide.NoRelease, large, "", false},
		"release tried again":               {"finalizers", again, decide.Undone, nil, "", false},
	} {
		r, recorder := &refusing{errs: map[string]error{c.on: c.err}}, events.NewFakeRecorder(10)
		a, p := endingOn(t, r, decide.StepDelete, c.release)
		a.reporter.events, p.plan.Report = recorder, c.report
		for i := range p.plan.Fates {
			p.plan.Fates[i].Own = !c.others
		}
		if strings.HasSuffix(name, "unreadable status") {
			p.facts.StatusProblem = "malformed"
		}
		if err := a.apply(t.Context(), p); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		close(recorder.Events)
		if event := <-recorder.Events; !strings.HasPrefix(event, c.want) || c.want == "" && event != "" {
			t.Errorf("%s: the Event is %q, want %q", name, event, c.want)
		}
	}
}

// An abandoned Application is released after its works carry their ending. A write that is refused for good
// does not delay the release.
func TestApply_releasesAfterTheWritesOfTheEnding(t *testing.T) {
	again, never := apierrors.NewConflict(schema.GroupResource{}, "a", nil), apierrors.NewForbidden(schema.GroupResource{}, "a", nil)
	for name, c := range map[string]struct {
		errs map[string]error
		want []string
	}{
		"written":          {nil, []string{"patch a", "patch b", "patch app"}},
		"tried again":      {map[string]error{"a": again}, []string{"patch b"}},
		"refused for good": {map[string]error{"a": never}, []string{"patch b", "patch app"}},
		"one of each":      {map[string]error{"a": never, "b": again}, nil},
	} {
		r := &refusing{errs: c.errs}
		a, p := endingOn(t, r, decide.StepWrite, decide.Abandoned)
		if err := a.apply(t.Context(), p); (err == nil) != (c.errs == nil) || !slices.Equal(r.wrote, c.want) {
			t.Errorf("%s: it wrote %v, %v", name, r.wrote, err)
		}
	}
}

// If the Application no longer exists, a work that waits is not written.
func TestApply_writesNothingForAMissingApplication(t *testing.T) {
	r := &refusing{}
	a, p := endingOn(t, r, decide.StepWait, decide.NoRelease)
	p.facts.Application = nil
	if err := a.apply(t.Context(), p); err != nil || len(r.wrote) > 0 {
		t.Errorf("it wrote %v, %v", r.wrote, err)
	}
}

// If a hub Application lost its finalizer before it was gone, as by an undo, its resources stay on the cluster. An
// Event on the ManifestWork reports that.
func TestApply_recordsWhatIsNotPruned(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*pass)
		step   decide.Step
		want   int
	}{
		"gone":            {func(p *pass) { p.facts.Application = nil }, decide.StepWrite, 2},
		"gone, wrote it":  {func(p *pass) { p.facts.Application = nil }, decide.StepDelete, 0},
		"gone, refused":   {func(p *pass) { p.facts.Application = nil }, decide.StepWrite, 1},
		"without cascade": {func(*pass) {}, decide.StepWrite, 0},
		"gone, and orphan": {func(p *pass) {
			p.facts.Application = nil
			p.plan.Fates[0].How.Orphan, p.plan.Fates[1].How.Orphan = true, true
		}, decide.StepWrite, 0},
		"gone, no finalizer": {func(p *pass) {
			p.facts.Application = nil
			for _, w := range p.works {
				m := &w.Live.Spec.Workload.Manifests[0]
				m.Raw = []byte(strings.Replace(string(m.Raw), argocd.ResourcesFinalizer, argocd.PostDeleteFinalizer, 1))
			}
		}, decide.StepWrite, 0},
	} {
		r, recorder := &refusing{}, events.NewFakeRecorder(10)
		if name == "gone, refused" {
			r.errs = map[string]error{"a": apierrors.NewForbidden(schema.GroupResource{}, "a", nil)}
		}
		a, p := endingOn(t, r, c.step, decide.NoRelease)
		a.reporter.events = recorder
		p.plan.Fates[0].How, p.plan.Fates[1].How = payload.Ending{}, payload.Ending{}
		c.change(&p)
		if err := a.apply(t.Context(), p); (err != nil) != (r.errs != nil) {
			t.Errorf("%s: %v", name, err)
		}
		close(recorder.Events)
		count := 0
		for event := range recorder.Events {
			if count++; !strings.HasPrefix(event, "Warning NotPruned hub Application team/app no longer exists") || !strings.Contains(event, `Application team/app is removed from cluster "cluster1"`) {
				t.Errorf("%s: it records %q", name, event)
			}
		}
		if count != c.want {
			t.Errorf("%s: it records %d Events, want %d", name, count, c.want)
		}
	}
}

// A scheduled check remains scheduled, even after an error that no retry can correct.
func TestResultOf(t *testing.T) {
	final, failed := reconcile.TerminalError(errors.New("malformed")), errors.New("timeout")
	for name, c := range map[string]struct {
		err   error
		after time.Duration
		want  time.Duration
		fails error
	}{
		"done":             {},
		"due":              {after: time.Minute, want: time.Minute},
		"failed":           {err: failed, after: time.Minute, fails: failed},
		"final":            {err: final, fails: final},
		"final, and due":   {err: final, after: time.Minute, want: time.Minute},
		"conflict":         {err: apierrors.NewConflict(schema.GroupResource{}, "a", nil), want: afterConflict},
		"conflict and due": {err: apierrors.NewConflict(schema.GroupResource{}, "a", nil), after: time.Minute, want: afterConflict},
	} {
		if got, err := resultOf(t.Context(), c.after, c.err); got.RequeueAfter != c.want || !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// written is a client that keeps the last patch.
type written struct {
	client.Client
	patch []byte
}

func (w *written) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) (err error) {
	w.patch, err = patch.Data(o)
	return err
}

// The status does not show an operation that an unreachable former cluster still reports as
// running.
func TestFinish_showsTheCurrentRun(t *testing.T) {
	const claim = "operation-1-2"
	app := settled(t).app
	app.Status = json.RawMessage(`{"conditions":[{"type":"` + request.ClaimCondition + `","message":"` + claim + ` was sent"}]}`)
	facts := decide.Facts{Key: teamApp, Application: app}
	for cluster, phase := range map[string]string{"cluster1": "Succeeded", "cluster2": "Running"} {
		live := workOn(t, app, cluster, nil)
		live.Annotations[contract.RequestAnnotation] = claim
		m := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Name: app.Name}}
		for name, value := range map[string]string{contract.FeedbackRequest: claim, contract.FeedbackOperationPhase: phase, "operationStateStartedAt": "2026-11-20T09:00:00Z"} {
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.String, String: &value}})
		}
		live.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
		facts.Works = append(facts.Works, decide.Work{Work: appcache.Compact(live), Relation: decide.Own})
	}
	slices.SortFunc(facts.Works, func(a, b decide.Work) int { return strings.Compare(a.Namespace, b.Namespace) })
	w := &written{}
	if err := (&operations{client: w, now: time.Now}).finish(t.Context(), &facts, nil, claim, []string{request.KindOperation}); err != nil {
		t.Fatal(err)
	}
	if got := string(w.patch); !strings.Contains(got, `"phase":"Succeeded"`) || strings.Contains(got, `"Running"`) {
		t.Errorf("it writes %s", got)
	}
}
