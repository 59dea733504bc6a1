// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a page over a small fleet of two tenants.
type world struct {
	t      *testing.T
	fleet  *model.Fleet
	tokens *pagetest.Tokens
	server *Server
	http   *httptest.Server
	now    atomic.Int64 // seconds after noon
}

func set(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func available(cluster, argocd string) model.Cluster {
	c := pagetest.Available(cluster)
	c.ArgoCD = argocd
	return c
}

func newWorld(t *testing.T, changes ...func(*Options)) *world {
	w := &world{t: t, fleet: model.NewFleet(), tokens: pagetest.NewTokens(map[string][]string{"all": nil, "a": {"team-a"}, "b": {"team-b"}, "c": {"team-b", "team-c"}, "nobody": {}})}
	quota := func(app string) []v1alpha1.Condition {
		return []v1alpha1.Condition{{Type: "SyncError", Message: "deployments.apps \"" + app + "\" is forbidden: exceeded quota"}}
	}
	for _, c := range []string{"eu-1", "eu-2", "us-1"} {
		w.put("team-a", "shop", pagetest.Row{Name: "shop-" + c, Cluster: c, Revision: "v1.4", Phase: "Succeeded", Started: noon.Add(-time.Hour)})
		w.put("team-b", "bank", pagetest.Row{Name: "bank-" + c, Cluster: c, Health: "Degraded", Sync: "OutOfSync", Phase: "Failed", Conditions: quota("bank-" + c)})
		w.fleet.SetCluster(available(c, map[string]string{"us-1": "https://argocd.us-1.example.com"}[c]))
	}
	w.put("team-a", "shop", pagetest.Row{Name: "shop-us-1", Cluster: "us-1", Health: "Missing", Sync: "OutOfSync", Conditions: quota("shop-us-1")})
	w.fleet.Put(pagetest.Undelivered(model.AppFields{Namespace: "team-a", Name: "audit-eu-1", Cluster: "eu-1", State: model.Refused, Message: "no PlacementDecision", Since: noon.Add(-time.Minute)}))
	o := Options{
		Fleet: w.fleet, Identity: w.tokens, Synced: func() bool { return true }, Resources: pagetest.Resources,
		Leases: func() []model.Lease {
			return []model.Lease{{Controller: "propagation", Renewed: noon}, {Controller: "aggregation", Renewed: noon}}
		},
		Hosts: []string{"fleet.example.com"}, Log: logr.Discard(), ArgoCDURL: "https://argocd.example.com",
		Now: func() time.Time { return noon.Add(time.Duration(w.now.Load()) * time.Second) },
	}
	for _, change := range changes {
		change(&o)
	}
	var err error
	if w.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(w.server.Handler())
	w.http.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(w.http.Close)
	return w
}

// put changes an Application and advances the clock by a second.
func (w *world) put(namespace, name string, r pagetest.Row) {
	w.fleet.Put(pagetest.App(set(namespace, name), r))
	w.now.Add(1)
}

// answer is a response with its body.
type answer struct {
	*http.Response
	body string
}

func (w *world) do(method, path, token string, change ...func(*http.Request)) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, c := range change {
		c(r)
	}
	response, err := w.http.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = response.Body.Close()
	return answer{response, string(body)}
}

func (w *world) get(path, token string, change ...func(*http.Request)) answer {
	w.t.Helper()
	return w.do(http.MethodGet, path, token, change...)
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// paths has all addresses of pages.
var paths = []string{
	"/", "/apps", "/apps?health=Degraded&sort=cluster", "/apps/team-a/shop-us-1", "/sets/team-a/shop", "/clusters", "/clusters/us-1", "/errors", "/hub",
	"/hub?state=Refused", "/login",
}

func TestServer_guardsEveryResponse(t *testing.T) {
	w := newWorld(t)
	for _, path := range append(slices.Clone(paths), "/nothing", "/api/v1/sets", "/api/v1/matrix", "/apps?page=x", "/assets/none.js") {
		for _, token := range []string{"all", ""} {
			a := w.get(path, token)
			if got := a.Header.Get("Content-Security-Policy"); got != policy || a.Header.Get("X-Content-Type-Options") != "nosniff" ||
				a.Header.Get("Referrer-Policy") != "no-referrer" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: headers %v", path, a.Header)
			}
		}
	}
	for _, word := range []string{"unsafe", "*", "http:"} {
		if strings.Contains(policy, word) {
			t.Errorf("the policy allows %s", word)
		}
	}
}

// inline matches content that the page's policy forbids: inline scripts, event handlers and styles.
var inline = regexp.MustCompile(`(?i)<script[^>]*>[^<]|\son[a-z]+\s*=|<[^>]+\sstyle\s*=|javascript:`)

func TestPages_areCompleteHTML(t *testing.T) {
	w := newWorld(t)
	for _, path := range paths {
		a := w.get(path, "all")
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %s", path, a.Status)
		}
		if found := inline.FindString(a.body); found != "" {
			t.Errorf("%s: inline %q", path, found)
		}
		if !strings.Contains(a.body, "</html>") || strings.Contains(a.body, "ZgotmplZ") {
			t.Errorf("%s: not whole: %s", path, a.body)
		}
	}
}

func TestLimits_areSeparateForEachUser(t *testing.T) {
	w := newWorld(t)
	codes := map[int]int{}
	for range 2 * userBurst {
		codes[w.get("/api/v1/errors", "a").StatusCode]++
	}
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusOK] < userBurst {
		t.Errorf("answers %v", codes)
	}
	if a := w.get("/api/v1/errors", "b"); a.StatusCode != http.StatusOK {
		t.Errorf("another user: %s", a.Status)
	}
}

// Requests without a valid token do not use up the limits of a viewer with a session.
func TestLimits_protectSessionsFromAnonymousRequests(t *testing.T) {
	w := newWorld(t)
	c := w.login("a", "/").Cookies()[0]
	codes := map[int]int{}
	for i := range 400 {
		codes[w.get([]string{"/assets/none", "/login", "/"}[i%3], "").StatusCode]++
	}
	for i := range 2 * failureBurst {
		codes[w.get("/", fmt.Sprint("made-up-", i)).StatusCode]++
		codes[w.login(fmt.Sprint("made-up-", i), "/").StatusCode]++
	}
	if codes[http.StatusTooManyRequests] == 0 {
		t.Errorf("tokens that the hub does not know are reviewed without a limit: %v", codes)
	}
	if a := w.get("/", "", func(r *http.Request) { r.AddCookie(c) }); a.StatusCode != http.StatusOK {
		t.Errorf("with a session: %s", a.Status)
	}
}

// slow is a client that does not read its response until it is released.
type slow struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s slow) Write(b []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(b)
}

// The server limits the parallel responses of one viewer, and the memory of unread responses.
func TestLimits_boundParallelResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var building, most atomic.Int64
		s := &Server{limits: newLimits(), Options: Options{Log: logr.Discard()}, pages: &pages{}}
		handler := s.built(func(v *visit) {
			most.Store(max(most.Load(), building.Add(1)))
			<-time.After(time.Second)
			_, _ = v.w.Write(make([]byte, maxSending/4))
			building.Add(-1)
		})
		release := make(chan struct{})
		var all sync.WaitGroup
		ask := func(user string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/sets", nil)
			w := httptest.NewRecorder()
			w.Header().Set("ETag", "version")
			all.Go(func() { handler(&visit{w: slow{w, release}, r: r, viewer: &access.Viewer{Name: user}, now: noon}) })
			return w
		}
		for range userBurst {
			ask("greedy")
		}
		<-time.After(5 * time.Second)
		if most.Load() > maxUserAnswers || building.Load() != 0 {
			t.Errorf("%d answers of one viewer were made at once, %d still are", most.Load(), building.Load())
		}
		others := []*httptest.ResponseRecorder{ask("one"), ask("two"), ask("three")}
		<-time.After(5 * time.Second)
		other := ask("other")
		<-time.After(turnTimeout + 2*time.Second)
		close(release)
		all.Wait()
		for i, w := range others {
			if w.Code != http.StatusOK || w.Body.Len() != maxSending/4 {
				t.Errorf("viewer %d waits for one who does not read", i)
			}
		}
		if most.Load() > maxBuilding {
			t.Errorf("%d answers were made at once", most.Load())
		}
		if other.Code != http.StatusServiceUnavailable || other.Header().Get("ETag") != "" || !strings.Contains(other.Body.String(), errBusy.text) {
			t.Errorf("while more waits to be read than is allowed: %d %v", other.Code, other.Header())
		}
		other = ask("other")
		all.Wait()
		if other.Code != http.StatusOK || other.Header().Get("ETag") == "" || other.Body.Len() == 0 {
			t.Errorf("once that has been read: %d", other.Code)
		}
	})
}

// Parallel first requests of a user share one limit.
func TestLimits_areSharedByFirstRequests(t *testing.T) {
	l := newLimits()
	for n := range 1000 {
		var all sync.WaitGroup
		var found sync.Map
		start := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-start
				found.Store(l.user(fmt.Sprint("user-", n)), true)
			})
		}
		close(start)
		all.Wait()
		different := 0
		found.Range(func(any, any) bool { different++; return true })
		if different != 1 {
			t.Fatalf("user %d has %d limits", n, different)
		}
	}
}

// Two viewers that send many requests and read no response do not block a third viewer.
func TestLimits_protectOthersFromSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{limits: newLimits(), Options: Options{Log: logr.Discard()}, pages: &pages{}}
		handler := s.built(func(v *visit) { _, _ = v.w.Write(make([]byte, maxUserSending*3/4)) })
		release := make(chan struct{})
		var slowOnes, quick sync.WaitGroup
		ask := func(in *sync.WaitGroup, user string, w http.ResponseWriter) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/sets", nil)
			in.Go(func() { handler(&visit{w: w, r: r, viewer: &access.Viewer{Name: user}, now: noon}) })
		}
		for range maxUserAnswers {
			ask(&slowOnes, "one", slow{httptest.NewRecorder(), release})
			ask(&slowOnes, "two", slow{httptest.NewRecorder(), release})
		}
		synctest.Wait()
		asked, answer := time.Now(), httptest.NewRecorder()
		ask(&quick, "three", answer)
		quick.Wait()
		if took := time.Since(asked); answer.Code != http.StatusOK || took != 0 {
			t.Errorf("a third viewer is answered %d after %v", answer.Code, took)
		}
		close(release)
		slowOnes.Wait()
	})
}

// An account without any permission gets 403, and not an empty fleet.
func TestPages_areForbiddenWithoutPermission(t *testing.T) {
	w := newWorld(t)
	for _, path := range append(slices.Clone(paths[:len(paths)-1]), "/api/v1/sets") {
		a := w.get(path, "nobody")
		if a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "get multiclusterapplicationsetreports.apps.open-cluster-management.io") {
			t.Errorf("%s: %s %.300s", path, a.Status, a.body)
		}
	}
	if a := w.get("/", "all"); a.StatusCode != http.StatusOK {
		t.Errorf("who may see all: %s", a.Status)
	}
}

func TestAssets_areImmutable(t *testing.T) {
	w := newWorld(t)
	found := regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(w.get("/login", "").body, -1)
	if len(found) != 3 {
		t.Fatalf("assets %v", found)
	}
	for _, m := range found {
		a := w.get(m[1], "")
		if a.StatusCode != http.StatusOK || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %s %v", m[1], a.Status, a.Header)
		}
		for _, other := range regexp.MustCompile(`'\./([^']+\.js)'`).FindAllStringSubmatch(a.body, -1) {
			if a := w.get("/assets/"+other[1], ""); a.StatusCode != http.StatusOK {
				t.Errorf("%s needs %s: %s", m[1], other[1], a.Status)
			}
		}
	}
}

// An open page polls, and gets 304 while nothing has changed that it shows.
func TestVersion_matchesWhileNothingChanges(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/sets/team-a/shop", "/clusters/us-1", "/api/v1/sets", "/api/v1/matrix"} {
		version := w.get(path, "a").Header.Get("ETag")
		again := func() int { return w.get(path, "a", header("If-None-Match", version)).StatusCode }
		if code := again(); version == "" || code != http.StatusNotModified {
			t.Fatalf("%s: version %s, %d", path, version, code)
		}
		w.put("team-b", "bank", pagetest.Row{Name: "bank-eu-1", Cluster: "eu-1", Revision: version})
		if code := again(); code != http.StatusNotModified {
			t.Errorf("%s: %d after a change of somebody else's", path, code)
		}
		w.put("team-a", "shop", pagetest.Row{Name: "shop-eu-1", Cluster: "eu-1", Revision: version})
		if code := again(); code != http.StatusOK {
			t.Errorf("%s: %d after a change", path, code)
		}
		version = w.get(path, "a").Header.Get("ETag")
		if w.now.Add(60); again() != http.StatusOK {
			t.Errorf("%s: ages stand still", path)
		}
		if code := w.get(path, "b", header("If-None-Match", w.get(path, "a").Header.Get("ETag"))).StatusCode; code == http.StatusNotModified {
			t.Errorf("%s: another viewer's version is one's own", path)
		}
	}
}

// A version of another process does not match, so the page is sent again.
func TestVersion_isOfOneProcess(t *testing.T) {
	version := newWorld(t).get("/", "all").Header.Get("ETag")
	if code := newWorld(t).get("/", "all", header("If-None-Match", version)).StatusCode; code != http.StatusOK {
		t.Errorf("%d", code)
	}
}

// The page reports a controller that does not renew its Lease.
func TestPages_reportASilentController(t *testing.T) {
	var leases atomic.Pointer[[]model.Lease]
	leases.Store(&[]model.Lease{{Controller: "propagation", Renewed: noon}, {Controller: "aggregation", Renewed: noon}})
	w := newWorld(t, func(o *Options) { o.Leases = func() []model.Lease { return *leases.Load() } })
	a := w.get("/", "all")
	if strings.Contains(a.body, "may be old") || !strings.Contains(a.body, "propagation last renewed its Lease") {
		t.Errorf("while both work: %s", a.body)
	}
	leases.Store(&[]model.Lease{{Controller: "propagation", Renewed: noon.Add(-5 * time.Minute)}, {Controller: "aggregation"}})
	a = w.get("/", "all", header(fragmentHeader, "notices,leases"), header("If-None-Match", a.Header.Get("ETag")))
	for _, want := range []string{"propagation has not renewed its Lease since 2026-11-22T11:55:00Z: what stands here may be old.", "aggregation holds no Lease", "5 min ago"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s: no %q in %s", a.Status, want, a.body)
		}
	}
	for _, silent := range []string{"propagation", "aggregation"} { // one after the other, within a minute
		leases.Store(&[]model.Lease{{Controller: silent}})
		a = w.get("/", "all", header(fragmentHeader, "notices"), header("If-None-Match", a.Header.Get("ETag")))
		if !strings.Contains(a.body, silent+" holds no Lease") {
			t.Errorf("%s is silent: %s", silent, a.Status)
		}
	}
}

// If the report cannot be read, only its resources are missing on the page.
func TestSetPage_isShownWithoutItsReport(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Resources = func(context.Context, types.NamespacedName) ([]v1alpha1.ResourceRef, error) {
			return nil, access.ErrUnavailable
		}
	})
	a := w.get("/sets/team-a/shop", "all")
	if a.StatusCode != http.StatusOK || !strings.Contains(a.body, "The report of this ApplicationSet cannot be read") || !strings.Contains(a.body, "shop-us-1") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
	_, notices, _ := strings.Cut(a.body, `data-fragment="notices">`)
	if notices, _, _ = strings.Cut(notices, "</div>"); strings.Contains(notices, "cannot be read") {
		t.Error("the notice goes with the next change, although the resources are still missing")
	}
	if a := w.get("/sets/team-a/shop", "all", header(fragmentHeader, "rows,notices")); strings.Contains(a.body, "cannot be read") {
		t.Error("an open page reads the report again and again")
	}
}

// Strict-Transport-Security for localhost would break other servers on that machine.
func TestTransportSecurity_isNotOfLocalhost(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Secure = true })
	for host, want := range map[string]bool{"fleet.example.com": true, "localhost:8446": false, "127.0.0.1:8446": false, "[::1]:8446": false} {
		a := w.get("/login", "", func(r *http.Request) { r.Host = host })
		if got := a.Header.Get("Strict-Transport-Security") != ""; got != want {
			t.Errorf("%s: %t", host, got)
		}
	}
}

// Unknown tokens of one address wait for each other, and do not delay other users.
func TestLimits_makeStrangersWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	held := make(chan struct{})
	slowly := &slowIdentity{Tokens: w.tokens, held: held, asked: make(chan struct{}, 100)}
	w.server.gate.identity = slowly
	var all sync.WaitGroup
	for n := range 3 * maxTrying {
		all.Go(func() { w.get("/", fmt.Sprint("made-up-", n)) })
	}
	for range maxTrying {
		<-slowly.asked
	}
	if a := w.get("/", "all"); a.StatusCode != http.StatusOK {
		t.Errorf("whose token was accepted before: %s", a.Status)
	}
	if n := len(slowly.asked); n != 0 {
		t.Errorf("%d more of one address are reviewed at once", n)
	}
	close(held)
	all.Wait()
}

// slowIdentity answers for unknown tokens only when held is closed.
type slowIdentity struct {
	*pagetest.Tokens
	held  chan struct{}
	asked chan struct{}
}

func (s *slowIdentity) Authenticate(ctx context.Context, token string) (*access.Viewer, error) {
	if !s.Known(token) {
		s.asked <- struct{}{}
		<-s.held
	}
	return s.Tokens.Authenticate(ctx, token)
}
