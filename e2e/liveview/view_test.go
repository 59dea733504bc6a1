// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package liveview

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// streams has no timeout, because a page stays open.
var streams = &http.Client{}

// page is the open page of an Application: the stream of its tree.
type page struct {
	mu     sync.Mutex
	last   string // the last tree
	at     time.Time
	status int
	close  context.CancelFunc
	done   chan struct{}
}

// openPage opens the stream like Argo CD's page.
func openPage(t *testing.T, name, token string) *page {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &page{close: cancel, done: make(chan struct{})}
	t.Cleanup(p.leave)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+live.Server.Address+"/api/v1/stream/applications/"+name+"/resource-tree?appNamespace="+env.ArgoCDNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	go func() {
		defer close(p.done)
		response, err := streams.Do(r)
		if err != nil {
			return
		}
		defer response.Body.Close() // nothing was written
		d := json.NewDecoder(response.Body)
		for {
			var event struct {
				Result json.RawMessage
				Error  struct {
					HTTPCode int `json:"http_code"`
				}
			}
			if d.Decode(&event) != nil {
				return
			}
			p.mu.Lock()
			if p.status = event.Error.HTTPCode; p.status == 0 {
				p.status, p.last, p.at = response.StatusCode, string(event.Result), time.Now()
			}
			p.mu.Unlock()
		}
	}()
	return p
}

// leave closes the page.
func (p *page) leave() {
	p.close()
	<-p.done
}

// await waits until the page shows a tree that passes check.
func (p *page) await(t *testing.T, what string, check func(tree string) bool) time.Time {
	t.Helper()
	var at time.Time
	if err := env.Wait(t.Context(), what, func(context.Context) (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		at = p.at
		return p.last != "" && check(p.last), fmt.Sprint(p.status, " ", p.last)
	}); err != nil {
		t.Fatal(err)
	}
	return at
}

// get sends a request to the REST API as administrator.
func get(t *testing.T, path string) string {
	t.Helper()
	answer, status, err := live.Server.Request(t.Context(), http.MethodGet, path, live.Admin, nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, status, answer, err)
	}
	return string(answer)
}

// stored returns the unpacked value of a key in a Redis, or "".
func stored(t *testing.T, address, key string) string {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: address})
	defer c.Close() // nothing is buffered
	blob, err := c.Get(t.Context(), key+"|1.8.3.gz").Bytes()
	if errors.Is(err, redis.Nil) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return unpack(t, blob)
}

// tree decodes a tree and removes the UIDs, which the hub does not get.
func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	strip(decoded)
	for _, list := range []string{"nodes", "orphanedNodes"} {
		nodes, _ := decoded[list].([]any)
		slices.SortFunc(nodes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return decoded
}

func strip(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "uid")
		for _, item := range v {
			strip(item)
		}
	case []any:
		for _, item := range v {
			strip(item)
		}
	}
}

func items(t *testing.T, text string) []any {
	t.Helper()
	var list []any
	if strings.HasPrefix(text, "{") {
		var answer struct{ Items []any }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Items
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return list
}

// works returns the ManifestWorks of liveview.
func works(t *testing.T) []workv1.ManifestWork {
	t.Helper()
	list := &workv1.ManifestWorkList{}
	if err := fleet.Hub.Client.List(t.Context(), list, client.MatchingLabels{"apps.open-cluster-management.io/liveview": "true"}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// awaitNothing waits until no object and no data of any view exist on the hub.
func awaitNothing(t *testing.T, names ...string) {
	t.Helper()
	if err := env.Wait(t.Context(), "the views to be taken back", func(ctx context.Context) (bool, string) {
		left := []string{}
		for _, w := range works(t) {
			left = append(left, w.Name)
		}
		for _, name := range names {
			for _, key := range []string{"app|resources-tree|", "app|managed-resources|"} {
				if stored(t, live.Views.HubRedis(), key+name) != "" {
					left = append(left, key+name)
				}
			}
			app := application(name)
			if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
				return false, err.Error()
			}
			if resources, found, _ := unstructured.NestedSlice(app.Object, "status", "resources"); found {
				left = append(left, fmt.Sprint(name, " ", resources))
			}
		}
		return len(left) == 0, fmt.Sprint(left)
	}); err != nil {
		t.Fatal(err)
	}
}

// shown waits until the hub has the tree and the managed resources that the cluster's Argo CD has. The
// cluster's Argo CD may write between two reads.
func shown(t *testing.T, cluster, name string) {
	t.Helper()
	if err := env.Wait(t.Context(), "tree and managed resources of "+name+" to be those of the cluster", func(context.Context) (bool, string) {
		diff := cmp.Diff(tree(t, stored(t, live.Views.ManagedRedis(cluster), "app|resources-tree|"+name)), tree(t, get(t, "/api/v1/applications/"+name+"/resource-tree"))) +
			cmp.Diff(items(t, stored(t, live.Views.ManagedRedis(cluster), "app|managed-resources|"+name)), items(t, get(t, "/api/v1/applications/"+name+"/managed-resources")))
		return diff == "", diff
	}); err != nil {
		t.Fatal(err)
	}
}

// The page shows the same tree as the cluster's own Argo CD, with Argo CD 3.2 and 2.14, and with OCM 1.2 and
// 0.16. When the page is closed, no data of the view remains.
func TestView_showsTheTreeOfTheCluster(t *testing.T) {
	names := []string{}
	for _, c := range fleet.Managed {
		name := c.Name + "-guestbook"
		names = append(names, name)
		began := time.Now()
		p := openPage(t, name, live.Admin)
		at := p.await(t, "the tree of "+name, func(text string) bool { return strings.Count(text, `"kind":"Deployment"`) > 0 })
		t.Logf("%s: complete after %s", name, at.Sub(began).Round(time.Millisecond))
		shown(t, c.Name, name)
		own := application(name)
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(own), own); err != nil {
			t.Fatal(err)
		}
		want, _, _ := unstructured.NestedSlice(own.Object, "status", "resources")
		if err := env.Wait(t.Context(), "status.resources of "+name, func(ctx context.Context) (bool, string) {
			app := application(name)
			err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(app), app)
			got, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
			return len(want) == 3 && cmp.Equal(want, got), fmt.Sprint(err, cmp.Diff(want, got))
		}); err != nil {
			t.Fatal(err)
		}
		// The tree names resources without UIDs, so argocd-server must not read such a resource on the hub.
		path := "/api/v1/applications/" + name + "/resource?appNamespace=argocd&namespace=guestbook&resourceName=guestbook-config&version=v1&kind=ConfigMap&group="
		if answer, status, err := live.Server.Request(t.Context(), http.MethodGet, path, live.Admin, nil); err != nil || status != http.StatusBadRequest || !strings.Contains(string(answer), "not found as part of application") {
			t.Errorf("the live manifest: %d %s %v", status, answer, err)
		}
		p.leave()
	}
	awaitNothing(t, names...)
}

// The command line has no open page. argocd-server refreshes an Application that it does not find in Redis,
// and answers that it is missing if the view arrives later. Each command must succeed in the end, also the
// tree, although its resources have no UIDs.
func TestView_servesTheCommandLine(t *testing.T) {
	const name = "cluster1-guestbook"
	awaitNothing(t, name)
	began := time.Now()
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"app", "resources", "argocd/" + name}, "guestbook-ui"},
		{[]string{"app", "diff", "argocd/" + name}, ""},
		{[]string{"app", "get", "argocd/" + name, "--output", "tree"}, "KIND/NAME"},
	} {
		if err := env.Wait(t.Context(), strings.Join(c.command, " "), func(ctx context.Context) (bool, string) {
			got, err := live.Server.CLI(ctx, append(c.command, "--auth-token", live.Admin)...)
			return err == nil && strings.Contains(got, c.want), fmt.Sprint(got, err)
		}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: after %s", c.command, time.Since(began).Round(time.Millisecond))
	}
	if len(works(t)) != 1 {
		t.Errorf("%d ManifestWorks, want 1", len(works(t)))
	}
	awaitNothing(t, name)
}

// argocd-server rejects a tenant without permissions, and liveview requests no view from a cluster.
func TestView_requestsNothingForAForbiddenTenant(t *testing.T) {
	p := openPage(t, "cluster1-guestbook", live.Tenant)
	<-p.done
	if p.status != http.StatusForbidden {
		t.Errorf("argocd-server answers %d %s, want 403", p.status, p.last)
	}
	// A view for a permitted user proves that the viewer has run since.
	q := openPage(t, "cluster2-guestbook", live.Admin)
	q.await(t, "the tree of cluster2-guestbook", func(text string) bool { return strings.Contains(text, "guestbook-ui") })
	for _, w := range works(t) {
		if w.Namespace == "cluster1" {
			t.Errorf("cluster1 has %s", w.Name)
		}
	}
	q.leave()
	awaitNothing(t, "cluster1-guestbook", "cluster2-guestbook")
}

const canary = "c4n4ry"

// No value of a Secret leaves the cluster, neither in data, nor in annotations, nor in last-applied
// configuration.
func TestView_hasNoValuesOfSecrets(t *testing.T) {
	if _, err := fleet.Git.Commit(t.Context(), "Serve a Secret", map[string]string{"secret/secret.yaml": `
apiVersion: v1
kind: Secret
metadata:
  name: hidden
  annotations: {tool: "` + canary + `", argocd.argoproj.io/sync-options: ServerSideApply=false}
stringData: {password: "` + canary + `", another: "` + canary + `"}
`}); err != nil {
		t.Fatal(err)
	}
	deploy(t, "secret", "cluster1", "secret")
	p := openPage(t, "secret", live.Admin)
	p.await(t, "the tree", func(text string) bool { return strings.Contains(text, "hidden") })
	for _, key := range []string{"app|resources-tree|secret", "app|managed-resources|secret"} {
		if text := stored(t, live.Views.HubRedis(), key); text == "" || strings.Contains(text, canary) {
			t.Errorf("%s: %s", key, text)
		}
	}
	if text := stored(t, live.Views.HubRedis(), "app|managed-resources|secret"); !strings.Contains(text, "++++++++") {
		t.Errorf("no manifest of the Secret: %s", text)
	}
	requested := &corev1.ConfigMapList{}
	if err := fleet.Managed[0].Client.List(t.Context(), requested, client.InNamespace("multicluster-integrations-observer"), client.HasLabels{"apps.open-cluster-management.io/liveview"}); err != nil || len(requested.Items) != 1 {
		t.Fatal(len(requested.Items), err)
	}
	onHub := works(t)
	if len(onHub) != 1 {
		t.Fatalf("%d ManifestWorks", len(onHub))
	}
	feedback := *onHub[0].Status.ResourceStatus.Manifests[0].StatusFeedbacks.Values[0].Value.String
	for what, text := range map[string]string{"the ConfigMap": requested.Items[0].Data["views"], "the ManifestWork": feedback} {
		if got := sent(t, text, "secret"); !strings.Contains(got, "++++++++") || strings.Contains(text+got, canary) {
			t.Errorf("%s: %s", what, got)
		}
	}
	for _, name := range []string{"liveview", "cluster1-observer"} {
		process, err := fleet.Processes.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if log, err := os.ReadFile(process.Log); err != nil || strings.Contains(string(log), canary) {
			t.Errorf("the log of %s: %s %v", name, log, err)
		}
	}
	p.leave()
	awaitNothing(t, "secret")
}

// sent returns the unpacked view of an Application in the observer's output.
func sent(t *testing.T, text, name string) string {
	t.Helper()
	var views map[string]struct{ Blob []byte }
	if err := json.Unmarshal([]byte(text), &views); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return unpack(t, views[name].Blob)
}

func unpack(t *testing.T, blob []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(blob))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// deploy is [create], and waits until the Application is healthy.
func deploy(t *testing.T, name, cluster, path string) {
	t.Helper()
	create(t, name, cluster, path, "name: "+cluster)
	if err := live.AwaitHealthy(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// create creates a pulled Application of a path of the repository, with a destination on the hub. It deletes
// the Application when the test ends.
func create(t *testing.T, name, cluster, path, destination string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  namespace: argocd
  name: %s
  labels: {apps.open-cluster-management.io/pull-to-ocm-managed-cluster: "true"}
  annotations: {apps.open-cluster-management.io/ocm-managed-cluster: %s, argocd.argoproj.io/skip-reconcile: "true"}
  finalizers: [resources-finalizer.argocd.argoproj.io]
spec:
  project: guestbook
  source: {repoURL: %q, targetRevision: main, path: %s}
  destination: {%s, namespace: guestbook}
  syncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 2, backoff: {duration: 1s, factor: 2, maxDuration: 2s}}}
`, name, cluster, env.RepositoryURL, path, destination), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Hub.Client.Delete(context.WithoutCancel(t.Context()), o); err != nil {
			t.Error(err)
		}
	})
}

// For an unreachable cluster the page shows the last tree with a note, even after the page was closed and the
// viewer was restarted. The note disappears when the cluster is reachable again.
func TestView_showsTheLastTreeOfAnUnreachableCluster(t *testing.T) {
	const name = "cluster1-guestbook"
	p := openPage(t, name, live.Admin)
	p.await(t, "the tree", func(text string) bool { return strings.Contains(text, "guestbook-ui") })
	if err := live.SetAway(t.Context(), "cluster1", true); err != nil {
		t.Fatal(err)
	}
	unavailable := func(text string) bool {
		return strings.Contains(text, "guestbook-ui") && strings.Contains(text, "away since ")
	}
	p.await(t, "the word that cluster1 is away", unavailable)
	p.leave()
	viewer, err := fleet.Processes.Get("liveview")
	if err != nil {
		t.Fatal(err)
	}
	if err := viewer.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := viewer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	openPage(t, name, live.Admin).await(t, "the last tree", unavailable)
	if err := live.SetAway(t.Context(), "cluster1", false); err != nil {
		t.Fatal(err)
	}
	q := openPage(t, name, live.Admin)
	q.await(t, "a tree of a cluster that is back", func(text string) bool {
		return strings.Contains(text, "guestbook-ui") && !strings.Contains(text, "away since ")
	})
	q.leave()
}

func application(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"namespace": env.ArgoCDNamespace, "name": name},
	}}
}

// The test opens ten Applications, each on a separate page, with no view of them on the hub before.
// LIVEVIEW_APPLICATIONS changes their number, and LIVEVIEW_AT_A_TIME how many are opened together. Each tree
// equals the tree of the cluster's own Argo CD. LIVEVIEW_LIMIT limits the 99th percentile, for an idle
// machine.
func TestView_showsManyApplications(t *testing.T) {
	n, together := 10, 10
	for name, count := range map[string]*int{"LIVEVIEW_APPLICATIONS": &n, "LIVEVIEW_AT_A_TIME": &together} {
		if text := os.Getenv(name); text != "" {
			if _, err := fmt.Sscan(text, count); err != nil || *count < 1 {
				t.Fatalf("%s is %q", name, text)
			}
		}
	}
	files, names := map[string]string{}, make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("many-%03d", i)
		files[names[i]+"/all.yaml"] = fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: many-%03d}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: many-%03d}, spec: {ports: [{port: 80}]}}\n", i, i)
	}
	if _, err := fleet.Git.Commit(t.Context(), "Serve many", files); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		create(t, name, "cluster1", name, "name: cluster1")
	}
	for _, name := range names {
		if err := live.AwaitHealthy(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	api, err := fleet.Processes.Get("hub-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	idle := map[string]int{}
	if n > 10 { // a measurement: the writes of the idle fleet
		idle = writes(t)
		<-time.After(idleFor)
		idle = since(t, idle)
	}
	before, began, written := processor(t, api.PID()), time.Now(), writes(t)
	took := make([]time.Duration, n)
	for i := 0; i < n; i += together {
		pages := make([]*page, 0, together)
		started := time.Now()
		for _, name := range names[i:min(i+together, n)] {
			pages = append(pages, openPage(t, name, live.Admin))
		}
		for j, p := range pages {
			name := names[i+j]
			took[i+j] = p.await(t, "the tree of "+name, func(text string) bool { return strings.Count(text, `"name":"`+name+`"`) >= 2 }).Sub(started)
			shown(t, "cluster1", name)
			p.leave()
		}
	}
	t.Logf("the API server of the hub used %s of a processor in %s for %d views, and wrote %v; in %s without a page %v", processor(t, api.PID())-before, time.Since(began).Round(time.Millisecond), n, since(t, written), idleFor, idle)
	slices.Sort(took)
	p99 := took[(n*99-1)/100]
	t.Logf("%d Applications: p50 %s, p99 %s, slowest %s", n, took[n/2].Round(time.Millisecond), p99.Round(time.Millisecond), took[n-1].Round(time.Millisecond))
	if text := os.Getenv("LIVEVIEW_LIMIT"); text != "" {
		limit, err := time.ParseDuration(text)
		if err != nil || p99 > limit {
			t.Errorf("p99 %s, want %s: %v", p99, limit, err)
		}
	}
	awaitNothing(t, names...)
	t.Logf("until nothing was left, in %s, it wrote %v", time.Since(began).Round(time.Millisecond), since(t, written))
}

const idleFor = 10 * time.Second

var writeMetric = regexp.MustCompile(`(?m)^apiserver_request_total\{code="2\d\d",.*resource="(manifestworks|applications)",.*subresource="(\w*)",verb="(POST|PUT|PATCH|APPLY|DELETE)",.*\} (\d+)$`)

// writes returns how many writes of ManifestWorks and Applications the hub's API server has served, by
// resource and verb.
func writes(t *testing.T) map[string]int {
	t.Helper()
	c, err := rest.HTTPClientFor(fleet.Hub.Config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fleet.Hub.Config.Host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // nothing was written
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, m := range writeMetric.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(m[4])
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(m[1]+"/"+m[2], "/")+" "+m[3]] += n
	}
	if len(all) == 0 {
		t.Fatal("no metric of writes")
	}
	return all
}

// since returns the writes since before.
func since(t *testing.T, before map[string]int) map[string]int {
	t.Helper()
	now := writes(t)
	for key := range now {
		if now[key] -= before[key]; now[key] == 0 {
			delete(now, key)
		}
	}
	return now
}

// processor returns the processor time of a process so far.
func processor(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var user, system time.Duration
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return (user + system) * 10 * time.Millisecond
}
