// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/access"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/hubapps"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/model"
	"open-cluster-management.io/multicluster-integrations/aggregation/internal/page/pagetest"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/status"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a page over a small fleet of two tenants.
type world struct {
	t      *testing.T
	fleet  *pagetest.Fleet
	tokens *pagetest.Tokens
	server *Server
	http   *httptest.Server
}

func set(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func newWorld(t *testing.T, changes ...func(*Options)) *world {
	w := &world{t: t, fleet: pagetest.New(), tokens: pagetest.NewTokens(map[string][]string{"all": nil, "a": {"team-a"}, "b": {"team-b"}, "nobody": {}})}
	quota := func(app string) []v1alpha1.Condition {
		return []v1alpha1.Condition{{Type: "SyncError", Message: "deployments.apps \"" + app + "\" is forbidden: exceeded quota"}}
	}
	for _, c := range []string{"eu-1", "eu-2", "us-1"} {
		w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-" + c, Cluster: c, Revision: "v1.4", Phase: "Succeeded", Started: noon.Add(-time.Hour)})
		w.fleet.Put(set("team-b", "bank"), pagetest.Row{Name: "bank-" + c, Cluster: c, Health: "Degraded", Sync: "OutOfSync", Phase: "Failed", Conditions: quota("bank-" + c)})
	}
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-us-1", Cluster: "us-1", Health: "Missing", Sync: "OutOfSync", Conditions: quota("shop-us-1")})
	w.fleet.AddApplication(hubapps.Application{Namespace: "team-a", Name: "audit-eu-1", Cluster: "eu-1", Set: "audit", State: hubapps.Refused, Message: "no PlacementDecision", Since: noon.Add(-time.Minute)})
	o := Options{
		Fleet: model.NewFleet(w.fleet), Applications: w.fleet, Identity: w.tokens, Synced: func() bool { return true },
		Hosts: []string{"fleet.example.com"}, Log: logr.Discard(), Now: func() time.Time { return noon }, ArgoCDURL: "https://argocd.example.com",
	}
	for _, change := range changes {
		change(&o)
	}
	var err error
	if w.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	w.server.all = rate.NewLimiter(rate.Inf, 1)
	w.fleet.Changed = w.server.Changed
	w.http = httptest.NewServer(w.server.Handler())
	w.http.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(w.http.Close)
	return w
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

// pages are all addresses that show something.
var pages = []string{
	"/", "/apps", "/apps?health=Degraded&sort=cluster", "/apps/team-a/shop-us-1/us-1", "/sets/team-a/shop", "/clusters", "/clusters/us-1", "/errors", "/hub",
	"/hub?state=Refused", "/login",
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	w := newWorld(t)
	for _, path := range append(slices.Clone(pages), "/nothing", "/api/v1/sets", "/api/v1/matrix", "/apps?page=x", "/assets/none.js") {
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

// inline matches what the policy forbids: scripts, handlers and styles in the page.
var inline = regexp.MustCompile(`(?i)<script[^>]*>[^<]|\son[a-z]+\s*=|<[^>]+\sstyle\s*=|javascript:`)

func TestPages(t *testing.T) {
	w := newWorld(t)
	for _, path := range pages {
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

var hrefs = regexp.MustCompile(`href="(/[^"#]*)"`)

// links returns the addresses that a page leads to and that begin with a prefix.
func (a answer) links(prefix string) (found []string) {
	for _, m := range hrefs.FindAllStringSubmatch(a.body, -1) {
		if path := strings.ReplaceAll(m[1], "&amp;", "&"); strings.HasPrefix(path, prefix) {
			found = append(found, path)
		}
	}
	return found
}

// From "something is red" to three lines of kubectl it takes two clicks, without a script.
func TestTwoClicksToKubectl(t *testing.T) {
	w := newWorld(t)
	for _, first := range []string{"/errors/", "/sets/", "/apps?health=Degraded"} {
		there := w.get("/", "all").links(first)
		if len(there) == 0 {
			t.Fatalf("the first page does not lead to %s", first)
		}
		apps := w.get(there[0], "all").links("/apps/")
		if len(apps) == 0 {
			t.Fatalf("%s leads to no Application", there[0])
		}
		if n := strings.Count(w.get(apps[0], "all").body, "<code>kubectl "); n != 3 {
			t.Errorf("%s has %d lines", apps[0], n)
		}
	}
}

// Every link of every page leads somewhere.
func TestNoLinkIsBroken(t *testing.T) {
	w := newWorld(t)
	w.server.users["all"] = rate.NewLimiter(rate.Inf, 1)
	seen, todo := map[string]bool{}, []string{"/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a := w.get(path, "all")
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, a.Status)
		}
		if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") && len(seen) < 400 {
			todo = append(todo, a.links("/")...)
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d pages", len(seen))
	}
}

func TestTenantsSeeTheirOwn(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/apps", "/clusters", "/clusters/us-1", "/errors", "/hub", "/api/v1/sets", "/api/v1/errors", "/api/v1/matrix", "/api/v1/clusters/us-1", "/api/v1/applications"} {
		if a := w.get(path, "b"); a.StatusCode != http.StatusOK || strings.Contains(a.body, "shop") || strings.Contains(a.body, "team-a") || strings.Contains(a.body, "audit") {
			t.Errorf("%s of team-b: %s: %s", path, a.Status, a.body)
		}
	}
	for _, path := range []string{"/sets/team-a/shop", "/apps/team-a/shop-us-1/us-1", "/api/v1/sets/team-a/shop/rows", "/sets/team-a/none", "/clusters/none", "/errors/none"} {
		if a := w.get(path, "b"); a.StatusCode != http.StatusNotFound || strings.Contains(a.body, "v1.4") {
			t.Errorf("%s of team-b: %s", path, a.Status)
		}
	}
	if a := w.get("/", "nobody"); !strings.Contains(a.body, "No ApplicationSet that you may see") {
		t.Errorf("nothing to see: %s", a.body)
	}
	if a := w.get("/clusters/us-1", "nobody"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a cluster without a visible Application: %s", a.Status)
	}
}

const hostile = `<img src=x onerror=alert(1)>"'&{{.}}</textarea><script>alert(2)</script>`

// Whatever a managed cluster says is shown as text.
func TestHostileTextIsText(t *testing.T) {
	w := newWorld(t)
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{
		Name: "shop" + hostile, Cluster: "eu-1", Health: "Degraded", Sync: hostile, Revision: hostile, Phase: hostile,
		Conditions: []v1alpha1.Condition{{Type: hostile, Message: hostile}},
	})
	w.fleet.SetCluster(status.Cluster{Name: "eu-1", Exists: true, Message: hostile})
	w.fleet.SetResources(v1alpha1.ResourceRef{Kind: hostile, Name: hostile, APIVersion: hostile})
	w.fleet.AddApplication(hubapps.Application{Namespace: "team-a", Name: hostile, Cluster: hostile, Set: hostile, State: hubapps.Refused, Message: hostile})
	app := "/apps/team-a/" + url.PathEscape("shop"+strings.SplitN(hostile, "/", 2)[0])
	for _, path := range append(slices.Clone(pages), "/apps?q="+url.QueryEscape(hostile[:60]), "/clusters/eu-1", app+"/eu-1", "/login?to="+url.QueryEscape(hostile)) {
		a := w.get(path, "all")
		if strings.Contains(a.body, "<img") || strings.Contains(a.body, "<script>") || strings.Contains(a.body, "</textarea>") {
			t.Errorf("%s: shown as markup", path)
		}
	}
	for _, path := range []string{"/sets/team-a/shop", "/errors", "/hub"} {
		if !strings.Contains(w.get(path, "all").body, "&lt;img src=x") {
			t.Errorf("%s does not show the text", path)
		}
	}
}

// A line that is pasted into a shell is one command, whatever the names are.
func TestKubectlIsQuoted(t *testing.T) {
	for name, want := range map[string]string{
		"shop-1": "shop-1", "a.b": "a.b", "": "''", "x; rm -rf ~": "'x; rm -rf ~'", "$(id)": "'$(id)'", "it's": `'it'\''s'`, "-o": "'-o'", "a\nb": "'a\nb'",
	} {
		if got := shell(name); got != want {
			t.Errorf("%q becomes %s, want %s", name, got, want)
		}
	}
}

func TestBadInput(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		path, token string
		change      func(*http.Request)
		code        int
		want        string
	}{
		"no token, page":     {"/sets/team-a/shop?q=a", "", nil, 303, ""},
		"no token, API":      {"/api/v1/sets", "", nil, 401, `{"error":"log in with a token the hub accepts"}`},
		"bad token, API":     {"/api/v1/sets", "x", nil, 401, "log in"},
		"no token, fragment": {"/", "", header(fragmentHeader, "rows"), 401, "log in"},
		"no token, events":   {"/events?view=fleet", "", nil, 401, "log in"},
		"unknown health":     {"/apps?health=Sick", "all", nil, 400, "health=&#34;Sick&#34;: want Degraded"},
		"unknown health API": {"/api/v1/sets/team-a/shop/rows?health=Sick", "all", nil, 400, `want Degraded`},
		"page no number":     {"/apps?page=x", "all", nil, 400, "page="},
		"size too large":     {"/apps?size=10000", "all", nil, 400, "size="},
		"unknown state":      {"/hub?state=Odd", "all", nil, 400, "want Refused"},
		"unknown fragment":   {"/", "all", header(fragmentHeader, "layout"), 400, "no part"},
		"unknown view":       {"/events?view=odd", "all", nil, 400, "want fleet"},
		"beyond the end":     {"/apps?page=7", "all", nil, 200, "there are no more"},
		"no such page":       {"/odd", "all", nil, 404, "no such page"},
		"foreign host":       {"/", "all", func(r *http.Request) { r.Host = "evil.example.com" }, 421, "--page-host"},
		"own host":           {"/", "all", func(r *http.Request) { r.Host = "Fleet.example.com:8446" }, 200, ""},
		"own path upwards":   {"/assets/..%2fui.go", "all", nil, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*http.Request) {}
			}
			a := w.get(test.path, test.token, change)
			if a.StatusCode != test.code || !strings.Contains(a.body, test.want) {
				t.Errorf("%s, want %d with %q: %s", a.Status, test.code, test.want, a.body)
			}
		})
	}
	if to := w.get("/sets/team-a/shop?q=a", "").Header.Get("Location"); to != "/login?to=%2Fsets%2Fteam-a%2Fshop%3Fq%3Da" {
		t.Errorf("it leads to %s", to)
	}
	for _, method := range []string{"PUT", "DELETE", "PATCH", "POST", "OPTIONS"} {
		if a := w.do(method, "/sets/team-a/shop", "all"); a.StatusCode < 400 {
			t.Errorf("%s: %s", method, a.Status)
		}
	}
}

// An API server that cannot be asked shows nothing, and never is a yes.
func TestNoAnswerShowsNothing(t *testing.T) {
	w := newWorld(t)
	w.tokens.Fail(access.ErrUnavailable)
	for _, path := range []string{"/", "/sets/team-a/shop", "/api/v1/sets"} {
		a := w.get(path, "all")
		if a.StatusCode != http.StatusServiceUnavailable || strings.Contains(a.body, "shop") || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s: %s", path, a.Status, a.body)
		}
	}
}

func TestNotSyncedYet(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Synced = func() bool { return false } })
	a := w.get("/", "all")
	if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, `http-equiv="refresh"`) {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

func (w *world) login(token, to string, change ...func(*http.Request)) answer {
	w.t.Helper()
	form := url.Values{"token": {token}, "to": {to}}.Encode()
	return w.do(http.MethodPost, "/login", "", append(change, func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})...)
}

func TestLogin(t *testing.T) {
	for _, secure := range []bool{true, false} {
		w := newWorld(t, func(o *Options) { o.Secure = secure })
		a := w.login(" a\n", "/sets/team-a/shop?q=a")
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/sets/team-a/shop?q=a" || len(a.Cookies()) != 1 {
			t.Fatalf("%s %v", a.Status, a.Header)
		}
		c := a.Cookies()[0]
		if !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.MaxAge != 0 || c.Domain != "" || secure != strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("cookie %+v", c)
		}
		with := func(r *http.Request) { r.AddCookie(c) }
		if a := w.get("/sets/team-a/shop", "", with); a.StatusCode != http.StatusOK {
			t.Errorf("with the cookie: %s", a.Status)
		}
		a = w.do(http.MethodPost, "/logout", "", with)
		if c := a.Cookies(); a.StatusCode != http.StatusSeeOther || len(c) != 1 || c[0].MaxAge >= 0 {
			t.Errorf("logout: %s %v", a.Status, a.Cookies())
		}
	}
}

func TestLoginRefuses(t *testing.T) {
	w := newWorld(t)
	for name, test := range map[string]struct {
		token  string
		change func(*http.Request)
		code   int
		want   string
	}{
		"unknown":   {"x", nil, 401, "does not accept"},
		"empty":     {"", nil, 401, "does not accept"},
		"too long":  {strings.Repeat("x", 3000), nil, 400, "too long"},
		"huge form": {strings.Repeat("x", 20000), nil, 400, "too large"},
		"foreign":   {"a", header("Sec-Fetch-Site", "cross-site"), 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*http.Request) {}
			}
			a := w.login(test.token, "/", change)
			if a.StatusCode != test.code || !strings.Contains(a.body, test.want) || len(a.Cookies()) > 0 {
				t.Errorf("%s %v: %s", a.Status, a.Cookies(), a.body)
			}
		})
	}
	for _, to := range []string{"//evil.example.com", "///evil.example.com", "https://evil.example.com/", "/\\evil.example.com", "evil", "", "/login", "/logout", "/a\r\nSet-Cookie: x", "\t//evil"} {
		if got := ownPath(to); got != "/" {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	codes := map[int]int{}
	for range 2 * userRate {
		codes[w.get("/api/v1/errors", "a").StatusCode]++
	}
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusOK] < userRate {
		t.Errorf("answers %v", codes)
	}
	if a := w.get("/api/v1/errors", "b"); a.StatusCode != http.StatusOK {
		t.Errorf("another user: %s", a.Status)
	}
	w.server.all = rate.NewLimiter(0, 0)
	if a := w.get("/login", ""); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("all together: %s", a.Status)
	}
}

// A page that is open keeps its rows where they are, and is told that they belong elsewhere.
func TestRowsStayWhereTheyAre(t *testing.T) {
	w := newWorld(t)
	order := func(a answer) []string {
		m := regexp.MustCompile(`data-order="([^"]*)"`).FindStringSubmatch(a.body)
		if m == nil {
			t.Fatalf("no order: %s", a.body)
		}
		return strings.Fields(m[1])
	}
	rows := func(a answer) (ids []string) {
		for _, m := range regexp.MustCompile(`data-id="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
			ids = append(ids, m[1])
		}
		return ids
	}
	before := rows(w.get("/sets/team-a/shop?sync=OutOfSync", "all"))
	all := rows(w.get("/sets/team-a/shop", "all"))
	if len(before) != 1 || len(all) != 3 || all[0] != before[0] {
		t.Fatalf("%v of %v", before, all)
	}
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-us-1", Cluster: "us-1"})
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-eu-2", Cluster: "eu-2", Health: "Degraded"})
	keep := header(rowsHeader, strings.Join(all, " "))
	a := w.get("/sets/team-a/shop", "all", header(fragmentHeader, "summary,rows"), keep)
	if got := rows(a); !slices.Equal(got, all) {
		t.Errorf("rows %v, were %v", got, all)
	}
	if got := order(a); slices.Equal(got, all) || len(got) != 3 {
		t.Errorf("the order %v is still that", got)
	}
	if !strings.Contains(a.body, `data-fragment="summary"`) || strings.Contains(a.body, "<html") || strings.Contains(a.body, `data-fragment="facets"`) {
		t.Errorf("not the parts: %s", a.body)
	}
	a = w.get("/sets/team-a/shop?sync=OutOfSync", "all", header(fragmentHeader, "rows"), header(rowsHeader, before[0]))
	if got := rows(a); !slices.Equal(got, before) || len(order(a)) != 0 || !strings.Contains(a.body, "Healthy") {
		t.Errorf("a row that left the filter: %v, %v", got, order(a))
	}
}

func TestStaleIsSaid(t *testing.T) {
	w := newWorld(t)
	w.fleet.SetCluster(status.Cluster{Name: "us-1", Exists: true, Since: noon.Add(-30 * time.Minute)})
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-us-1", Cluster: "us-1", Health: "Unknown", Sync: "Unknown",
		Conditions: []v1alpha1.Condition{{Type: string(status.ClusterUnreachable), Message: "cluster us-1 is not available"}}})
	for _, path := range []string{"/sets/team-a/shop", "/clusters/us-1", "/apps/team-a/shop-us-1/us-1"} {
		if body := w.get(path, "all").body; !strings.Contains(body, "not") || !strings.Contains(body, "heard of") || !strings.Contains(body, "30 min") {
			t.Errorf("%s does not say so", path)
		}
	}
	if body := w.get("/clusters", "all").body; !strings.Contains(body, "not for") {
		t.Error("the list of clusters does not say so")
	}
	if body := w.get("/clusters/eu-1", "all").body; strings.Contains(body, "not been heard of") {
		t.Error("another cluster is coloured by it")
	}
}

func TestAPI(t *testing.T) {
	w := newWorld(t)
	var sets apiList[apiSet]
	if err := json.Unmarshal([]byte(w.get("/api/v1/sets?size=1", "all").body), &sets); err != nil || sets.Total != 2 || len(sets.Items) != 1 || sets.Next != "/api/v1/sets?page=2&size=1" {
		t.Fatalf("%+v, %v", sets, err)
	}
	if s := sets.Items[0]; s.Name != "bank" || s.Counts.Health["Degraded"] != 3 || s.Counts.Sync["OutOfSync"] != 3 || s.Clusters != 3 {
		t.Errorf("%+v", s)
	}
	var rows apiList[apiRow]
	if err := json.Unmarshal([]byte(w.get("/api/v1/sets/team-a/shop/rows?health=Missing", "all").body), &rows); err != nil || len(rows.Items) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if r := rows.Items[0]; r.Cluster != "us-1" || r.Application != "shop-us-1" || r.Work != "shop-us-1-1a2b3" || r.Links["argocd"] != "https://argocd.example.com/applications/team-a/shop-us-1" || len(r.Conditions) != 1 {
		t.Errorf("%+v", r)
	}
	var errs apiList[apiError]
	if err := json.Unmarshal([]byte(w.get("/api/v1/errors", "all").body), &errs); err != nil || len(errs.Items) != 1 {
		t.Fatalf("%+v, %v", errs, err)
	}
	if e := errs.Items[0]; e.Count != 4 || e.Sets != 2 || e.Clusters != 3 || len(e.Examples) != 4 || !strings.Contains(e.Text, "…") {
		t.Errorf("%+v", e)
	}
}

// stream opens an event stream and returns its lines.
func (w *world) stream(path, token string) <-chan string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.http.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := w.http.Client().Do(r) //nolint:bodyclose // closed by who reads it, below
	if err != nil {
		w.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s %v", response.Status, response.Header)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer func() { _ = response.Body.Close() }()
		for s := bufio.NewScanner(response.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	}()
	return lines
}

// expect reads lines until one is wanted; others must not be said before.
func expect(t *testing.T, lines <-chan string, want, not string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case line, open := <-lines:
			if !open || not != "" && strings.Contains(line, not) {
				t.Fatalf("%q (open %t) while waiting for %q", line, open, want)
			}
			if strings.Contains(line, want) {
				return
			}
		case <-deadline:
			t.Fatalf("never heard %q", want)
		}
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t)
	w.server.ping, w.server.recheck = 20*time.Millisecond, 30*time.Millisecond
	lines := w.stream("/events?view=fleet", "a")
	expect(t, lines, "retry: 2000", "")
	w.fleet.Put(set("team-b", "bank"), pagetest.Row{Name: "bank-eu-1", Cluster: "eu-1"})
	expect(t, lines, ": nothing new", "changed") // another tenant's change is none of its business
	expect(t, lines, ": nothing new", "changed")
	w.fleet.Put(set("team-a", "shop"), pagetest.Row{Name: "shop-eu-1", Cluster: "eu-1", Health: "Degraded"})
	expect(t, lines, "event: changed", "")
	w.server.ApplicationChanged("team-a")
	expect(t, lines, "event: changed", "")
	w.tokens.Revoke("a")
	expect(t, lines, "event: logout", "")
	for range lines { // it ends
	}
	if n := w.server.hub.Streams(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

func TestStreamLimit(t *testing.T) {
	w := newWorld(t)
	for range 8 {
		expect(t, w.stream("/events?view=set:team-a/shop", "all"), "retry", "")
	}
	if a := w.get("/events?view=fleet", "all"); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "15" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

func TestAssetsAreImmutable(t *testing.T) {
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
		for _, other := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(a.body, -1) {
			if a := w.get("/assets/"+other[1], ""); a.StatusCode != http.StatusOK {
				t.Errorf("%s needs %s: %s", m[1], other[1], a.Status)
			}
		}
	}
}

// What nobody looks at is not held.
func TestTheFleetIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.get("/", "all")
	lines := w.stream("/events?view=fleet", "all")
	expect(t, lines, "retry", "")
	if w.server.forget(); w.server.Fleet.Held() == 0 {
		t.Error("it was forgotten while a page was open")
	}
	w.http.CloseClientConnections()
	for range lines { // it ends
	}
	testkit.Eventually(t, "nothing to be held", func() error {
		if w.server.forget(); w.server.Fleet.Held() != 0 {
			return fmt.Errorf("%d sets are held", w.server.Fleet.Held())
		}
		return nil
	})
	if a := w.get("/", "all"); a.StatusCode != http.StatusOK {
		t.Errorf("after that: %s", a.Status)
	}
}
