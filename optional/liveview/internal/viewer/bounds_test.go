// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func TestNotes(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	renewedAt := now.Add(-time.Hour)
	for name, c := range map[string]struct {
		target    target
		got       request.View
		renewedAt time.Time
		want      string
	}{
		"the latest":     {target: target{diffs: true}, got: request.View{Source: "a"}, renewedAt: now},
		"cut":            {target: target{diffs: true}, got: request.View{Source: "a", Message: "cut"}, renewedAt: now},
		"unread":         {target: target{diffs: true}, got: request.View{Message: "no Redis"}, renewedAt: now, want: "not the latest: no Redis"},
		"no observer":    {target: target{diffs: true}, got: request.View{Source: "a"}, renewedAt: renewedAt, want: "not the latest: no sign of the observer since 03-04 04:06 UTC"},
		"away":           {target: target{diffs: true, note: "away since then"}, got: request.View{Message: "m"}, renewedAt: renewedAt, want: "away since then"},
		"to the hub":     {got: request.View{Source: "a"}, renewedAt: now, want: "no diffs"},
		"both":           {got: request.View{Message: "m"}, renewedAt: now, want: "not the latest: m; no diffs"},
		"a long message": {target: target{diffs: true}, got: request.View{Message: strings.Repeat("é", 500)}, renewedAt: now, want: "not the latest: " + strings.Repeat("é", maxNote/2)},
	} {
		e := &entry{target: &c.target, renewedAt: c.renewedAt}
		if got := e.notes(c.got, now, time.Minute); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// The age of a view is the time since the observer's last renewal, by the hub's clock.
func TestUpdate_notesSignsOfTheObserver(t *testing.T) {
	began := time.Now()
	v := &Viewer{Options: Options{Outdated: time.Minute}, Log: logr.Discard()}
	e := &entry{target: &target{}}
	for _, c := range []struct {
		renewed int64
		after   time.Duration
		want    time.Duration
	}{{7, 0, 0}, {7, time.Minute, 0}, {8, 2 * time.Minute, 2 * time.Minute}, {3, 3 * time.Minute, 3 * time.Minute}, {3, 9 * time.Minute, 3 * time.Minute}} {
		if err := v.update(t.Context(), "a", e, request.View{Renewed: c.renewed}, began.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		if got := e.renewedAt.Sub(began); got != c.want {
			t.Errorf("%d after %s: %s, want %s", c.renewed, c.after, got, c.want)
		}
	}
}

// aViewer returns a viewer that is not started and has the hub's administrator permissions.
func aViewer(t *testing.T, maxOpen int) *Viewer {
	t.Helper()
	r, err := argoredis.New(argoredis.Options{Address: miniredis.RunT(t).Addr(), Compression: "gzip"}, nil)
	must(t, err)
	works, err := NewWorks(hub.config)
	must(t, err)
	return &Viewer{
		Options: Options{ArgoCDNamespace: "argocd", Observer: observer, Keep: time.Minute, MaxOpen: maxOpen, Recheck: time.Minute, Outdated: time.Minute},
		Client:  hub.client, Live: hub.client, Works: works, Redis: r, Log: logr.Discard(),
		entries: entries{}, sent: map[client.ObjectKey]sent{}, refreshed: make(chan string, 100),
	}
}

// For unreachable clusters the viewer keeps a few views, those that were open last. They do not count
// against the limit for other views.
func TestSweep_keepsAFewViewsOfUnreachableClusters(t *testing.T) {
	away := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "away"}}
	must(t, hub.client.Create(t.Context(), away))
	t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), away)) })
	away.Status.Conditions = []metav1.Condition{{Type: clusterv1.ManagedClusterConditionAvailable, Status: metav1.ConditionUnknown, Reason: "Lost", LastTransitionTime: metav1.Now()}}
	must(t, hub.client.Status().Update(t.Context(), away))
	v, now := aViewer(t, 6), time.Now()
	for i := range 5 {
		v.entries[fmt.Sprint("viewed-", i)] = &entry{target: &target{cluster: "away"}, work: request.Name(0), answered: true, seen: now.Add(-time.Hour * time.Duration(i+1))}
		v.entries[fmt.Sprint("never-", i)] = &entry{target: &target{cluster: "away"}, work: request.Name(0), seen: now.Add(-time.Hour)}
	}
	v.sweep(t.Context(), now)
	for name, e := range v.entries {
		if want := name == "viewed-0" || name == "viewed-1" || name == "viewed-2"; (e.work != "") != want {
			t.Errorf("%s is requested: %t", name, e.work != "")
		}
	}
	for i := range 6 {
		v.entries[fmt.Sprint("new-", i)] = &entry{seen: now, open: true, target: &target{cluster: fmt.Sprint("c", i)}}
	}
	v.assign(nil, now)
	for i := range 6 {
		if v.entries[fmt.Sprint("new-", i)].work == "" {
			t.Errorf("new-%d has no room", i)
		}
	}
}

// If the limit is reached, the viewer drops Applications that are only refreshed, for example by a script
// or a push.
func TestReceive_dropsRefreshesWithoutRoom(t *testing.T) {
	v, now := aViewer(t, 3), time.Now()
	for i := range 50 {
		v.refreshed <- fmt.Sprint("refreshed-", i)
	}
	v.receive(map[string]string{"page-1": view.CacheVersion, "page-2": view.CacheVersion}, now)
	if len(v.entries) != 5 {
		t.Errorf("%d entries, want 2 pages and 3 refreshed Applications", len(v.entries))
	}
	if e := v.entries["page-1"]; e == nil || !e.open {
		t.Error("a page has no entry")
	}
}

// The hub's own Applications never get a view. Their pages, open or closed, leave the room to pulled Applications.
func TestPass_keepsRoomFromTheHubsOwnApplications(t *testing.T) {
	const room = 3
	f, v := &fixture{hub: miniredis.RunT(t), managed: miniredis.RunT(t)}, aViewer(t, room)
	var err error
	v.Redis, err = argoredis.New(argoredis.Options{Address: f.hub.Addr(), Compression: "gzip"}, nil)
	must(t, err)
	f.add(t, "pulled")
	t.Cleanup(func() {
		must(t, hub.client.DeleteAllOf(context.Background(), &workv1.ManifestWork{}, client.InNamespace(cluster)))
	})
	var leave []func()
	for i := range 2 * room {
		own := newApplication("", fmt.Sprint("own-", i))
		own.SetLabels(nil)
		must(t, hub.client.Create(t.Context(), own))
		t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), own)) })
		leave = append(leave, f.open(t, "app|managed-resources|"+own.GetName()+"|"+view.CacheVersion))
	}
	now := time.Now()
	must(t, v.pass(t.Context(), now))
	if len(v.entries) != len(leave) {
		t.Fatalf("%d entries, want those of %d pages", len(v.entries), len(leave))
	}
	for _, leavePage := range leave {
		leavePage()
	}
	defer f.open(t, "app|managed-resources|pulled|"+view.CacheVersion)()
	testkit.Until(t, "the pages to be closed", func() bool {
		watched, err := v.Redis.Watched(t.Context())
		return err == nil && len(watched) == 1
	})
	must(t, v.pass(t.Context(), now.Add(interval)))
	if e := v.entries["pulled"]; e == nil || e.work == "" {
		t.Errorf("the pulled Application has no room: %+v", e)
	}
}

// If the limit is reached, the viewer logs once that an opened Application has no view.
func TestPass_logsOnceThatThereIsNoRoom(t *testing.T) {
	f, v, logged := &fixture{hub: miniredis.RunT(t)}, aViewer(t, 1), []string{}
	var err error
	v.Redis, err = argoredis.New(argoredis.Options{Address: f.hub.Addr(), Compression: "gzip"}, nil)
	must(t, err)
	v.Log = funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	now := time.Now()
	v.entries["shown"] = &entry{target: &target{cluster: cluster}, work: request.Name(0), seen: now, checked: now}
	v.sent[client.ObjectKey{Namespace: cluster, Name: request.Name(0)}] = sent{applications: request.Applications{"shown": ""}, generation: 1, at: now}
	defer f.open(t, "app|managed-resources|more|"+view.CacheVersion)()
	for pass := range 3 {
		must(t, v.pass(t.Context(), now.Add(time.Duration(pass)*interval)))
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "--max-open=1") || !strings.Contains(logged[0], `"instance"="more"`) {
		t.Errorf("logged %q", logged)
	}
}

// If a view asks for a ManifestWork without others, its entry changes while the views of other works are shown.
// Only the race detector finds a pass that reads such an entry meanwhile.
func TestPass_showsSeveralWorks(t *testing.T) {
	v, now := aViewer(t, 100), time.Now()
	const works = 8
	for n := range works {
		name := fmt.Sprint("moves-", n)
		work, err := request.Work(cluster, request.Name(n), observer, request.Applications{name: "argocd/" + name})
		must(t, err)
		must(t, hub.client.Create(t.Context(), work))
		t.Cleanup(func() { must(t, client.IgnoreNotFound(hub.client.Delete(context.Background(), work))) })
		text := `{"` + name + `":{"alone":true}}`
		work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{
			StatusFeedbacks: workv1.StatusFeedbackResult{Values: []workv1.FeedbackValue{{Name: request.ViewsKey, Value: workv1.FieldValue{Type: workv1.String, String: &text}}}},
			Conditions:      []metav1.Condition{},
		}}
		must(t, hub.client.Status().Update(t.Context(), work))
		key := client.ObjectKeyFromObject(work)
		v.sent[key] = sent{applications: request.Applications{name: "argocd/" + name}, generation: work.Generation, at: now}
		v.entries[name] = &entry{target: &target{cluster: cluster, application: "argocd/" + name}, work: work.Name, seen: now, checked: now}
	}
	must(t, v.pass(t.Context(), now))
	for name, e := range v.entries {
		if !e.alone || e.work != "" {
			t.Errorf("%s keeps its work %q, alone: %t", name, e.work, e.alone)
		}
	}
}

// The viewer logs an argocd-server of another version once, for any number of open pages and any duration.
func TestReceive_logsAnUnknownVersionOnce(t *testing.T) {
	v, now, logged := aViewer(t, 3), time.Now(), []string{}
	v.Log = funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	for range 3 {
		v.receive(map[string]string{"page-1": "9.9.9", "page-2": "9.9.9"}, now)
		v.sweep(t.Context(), now)
		v.receive(nil, now)
		now = now.Add(v.Keep)
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "9.9.9") {
		t.Errorf("logged %q", logged)
	}
}

// A managed cluster may fill the labels of all its ManifestWorks. The viewer holds one of these at a time.
func TestDeliveryOf_holdsOneWork(t *testing.T) {
	const works, limit = 30, 20 << 20
	var filled strings.Builder
	for i := 0; filled.Len() < 1<<20; i++ {
		fmt.Fprintf(&filled, `"k%d":"",`, i)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	many := testkit.NewMemoryHub(t)
	many.ListsOnly = true
	before, most := heap(), atomic.Uint64{}
	many.Serve(schema.GroupVersion(workv1.GroupVersion).WithResource("manifestworks"), "ManifestWork", true, works, func(i int) []byte {
		most.Store(max(most.Load(), heap())) // the client has read the works before this one
		return fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":"work-%d","labels":{%s%q:"true"}}}`, cluster, i, &filled, contract.PullLabel)
	})
	live, err := client.New(many.Config(), client.Options{Scheme: hub.scheme})
	must(t, err)
	lister, err := NewWorks(many.Config())
	must(t, err)
	work, err := deliveryOf(t.Context(), live, lister, newApplication("", "guestbook"), cluster)
	if err != nil || work != nil {
		t.Errorf("%v, %v", work, err)
	}
	if used := most.Load() - before; used > limit {
		t.Errorf("%d MiB are in use, want at most %d", used>>20, limit>>20)
	}
}

// countingReader counts the ManifestWorks that are read at a time.
type countingReader struct {
	client.Reader
	mu         sync.Mutex
	read, most int
}

func (r *countingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*workv1.ManifestWork); ok {
		r.count(1)
		defer r.count(-1)
	}
	return r.Reader.Get(ctx, key, o, options...)
}

func (r *countingReader) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read += n
	r.most = max(r.most, r.read)
}

// A managed cluster can make each ManifestWork large. So only a few are read at a time, however many pages are opened.
func TestPass_readsFewWorksAtATime(t *testing.T) {
	v, now := aViewer(t, 100), time.Now()
	reader := &countingReader{Reader: hub.client}
	v.Live = reader
	for n := range 3 * parallel {
		app := newApplication("", fmt.Sprint("opened-", n))
		must(t, hub.client.Create(t.Context(), app))
		t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), app)) })
		v.entries[app.GetName()] = &entry{seen: now}
	}
	must(t, v.pass(t.Context(), now))
	if reader.most == 0 || reader.most > parallelWorks {
		t.Errorf("%d ManifestWorks are read at a time, want at most %d", reader.most, parallelWorks)
	}
}

func TestFind_reportsAMissingCluster(t *testing.T) {
	app := newApplication("", "nowhere")
	app.SetAnnotations(map[string]string{"argocd.argoproj.io/skip-reconcile": "true"})
	must(t, hub.client.Create(t.Context(), app))
	t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), app)) })
	_, why, err := aViewer(t, 1).find(t.Context(), "nowhere")
	if err != nil || !strings.Contains(why.text, contract.ClusterAnnotation) {
		t.Errorf("%v %v", why, err)
	}
}

// If an agent changes a ManifestWork or hides it from the cache, the viewer does not write it in each pass.
func TestSent_holds(t *testing.T) {
	now := time.Now()
	a, b := request.Applications{"a": "argocd/a"}, request.Applications{"b": "argocd/b"}
	work := func(generation int64) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
	}
	leaving := work(1)
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	for name, c := range map[string]struct {
		sent   sent
		work   *metav1.PartialObjectMetadata
		wanted request.Applications
		want   bool
	}{
		"new":                      {sent{}, nil, a, false},
		"as written":               {sent{applications: a, generation: 2, at: now.Add(-time.Hour)}, work(2), a, true},
		"the cache is behind":      {sent{applications: a, generation: 2, at: now}, work(1), a, true},
		"another list":             {sent{applications: a, generation: 2, at: now}, work(2), b, false},
		"changed a moment ago":     {sent{applications: a, generation: 2, at: now.Add(-time.Second)}, work(3), a, true},
		"changed":                  {sent{applications: a, generation: 2, at: now.Add(-recheck)}, work(3), a, false},
		"hidden a moment ago":      {sent{applications: a, generation: 2, at: now.Add(-time.Second)}, nil, a, true},
		"hidden":                   {sent{applications: a, generation: 2, at: now.Add(-recheck)}, nil, a, false},
		"gone when it was written": {sent{applications: a, at: now}, nil, a, false},
		"failed a moment ago":      {sent{applications: a, at: now, failed: true}, nil, a, true},
		"failed":                   {sent{applications: a, at: now.Add(-time.Second), failed: true}, nil, a, false},
		"another's":                {sent{applications: a, generation: -1, at: now.Add(-time.Second), failed: true}, nil, a, true},
		"another's, again":         {sent{applications: a, generation: -1, at: now.Add(-recheck), failed: true}, nil, a, false},
		"leaving":                  {sent{}, leaving, a, true},
		"not wanted":               {sent{}, work(1), nil, false},
		"not wanted, leaving":      {sent{}, leaving, nil, true},
		"written a moment ago":     {sent{applications: a, generation: 1, at: now}, work(1), nil, false},
		"deleted a moment ago":     {sent{at: now.Add(-time.Second / 2), failed: true}, work(1), nil, true},
		"deleted":                  {sent{at: now.Add(-time.Second)}, work(1), nil, false},
		"deleted, wanted again":    {sent{at: now}, work(1), a, false},
	} {
		if got := c.sent.holds(c.work, c.wanted, now); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// busyClient fails to delete.
type busyClient struct {
	client.Client
	deletes atomic.Int64
}

func (c *busyClient) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	c.deletes.Add(1)
	return errors.New("the server is busy")
}

// The viewer does not repeat a deletion in each pass, neither after a failure nor while the cache still has
// the object.
func TestRequest_deletesOnceASecond(t *testing.T) {
	v, began, busy := aViewer(t, 1), time.Now(), &busyClient{}
	v.Client = busy
	key := client.ObjectKey{Namespace: cluster, Name: request.Name(0)}
	works := map[client.ObjectKey]*metav1.PartialObjectMetadata{key: {}}
	for pass := range 15 {
		err := v.request(t.Context(), works, began.Add(time.Duration(pass)*interval))
		if sent := pass == 0 || pass == 10; (err != nil) != sent {
			t.Errorf("pass %d: %v", pass, err)
		}
	}
	if n := busy.deletes.Load(); n != 2 {
		t.Errorf("%d requests to delete in 15 passes", n)
	}
	if err := v.request(t.Context(), nil, began.Add(time.Hour)); err != nil || len(v.sent) != 0 {
		t.Errorf("once it is gone: %v, %v", v.sent, err)
	}
}

// One pass handles thousands of ManifestWorks, which the viewer deletes in parallel.
func TestRequest_handlesManyClusters(t *testing.T) {
	v := aViewer(t, 1)
	v.Client = &busyClient{}
	works := map[client.ObjectKey]*metav1.PartialObjectMetadata{}
	for n := range 5000 {
		works[client.ObjectKey{Namespace: cluster, Name: request.Name(n)}] = &metav1.PartialObjectMetadata{}
	}
	if err := v.request(t.Context(), works, time.Now()); err == nil || len(v.sent) != len(works) {
		t.Errorf("%d of %d are noted: %v", len(v.sent), len(works), err)
	}
}

// The viewer logs a failure once, although it does not retry in most passes.
func TestStart_logsAFailureOnce(t *testing.T) {
	work, err := request.Work(cluster, request.Name(0), observer, request.Applications{})
	must(t, err)
	must(t, hub.client.Create(t.Context(), work))
	t.Cleanup(func() { must(t, hub.client.Delete(context.Background(), work)) })
	v, busy := aViewer(t, 1), &busyClient{Client: hub.client}
	v.Client = busy
	v.Metadata, err = metadata.NewForConfig(hub.config)
	must(t, err)
	var logged atomic.Int64
	v.Log = funcr.New(func(_, args string) {
		if strings.Contains(args, "the server is busy") {
			logged.Add(1)
		}
	}, funcr.Options{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- v.Start(ctx) }()
	testkit.Until(t, "it to be tried again", func() bool { return busy.deletes.Load() > 2 })
	stop()
	must(t, <-ended)
	if n := logged.Load(); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

func TestFailures_reportARepeatedFailureOnce(t *testing.T) {
	now, all := time.Now(), failures{}
	for _, c := range []struct {
		text  string
		after time.Duration
		want  bool
	}{{"a", 0, true}, {"b", 0, true}, {"a", recheck, false}, {"b", 2 * recheck, false}, {"b", 3 * recheck, false}, {"a", 4 * recheck, true}} {
		if got := all.add(errors.New(c.text), now.Add(c.after)); got != c.want {
			t.Errorf("%s after %s is new: %t", c.text, c.after, got)
		}
	}
}
