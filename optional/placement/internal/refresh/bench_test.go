// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/clock"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The benchmarks run placement with Argo CD's own ApplicationSet controller (bin/argocd). Run them with:
// make bench-placement.

// applications are the Applications on the hub, from a watch.
type applications struct {
	mu    sync.Mutex
	names map[string]bool
	added map[string]time.Time
}

func (a *applications) seen(o any, is bool) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !is {
		delete(a.names, m.Name)
		delete(a.added, m.Name)
		return
	}
	if !a.names[m.Name] {
		a.names[m.Name], a.added[m.Name] = true, time.Now()
	}
}

func (a *applications) at(name string) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.added[name]
	return at, ok
}

func (a *applications) of(prefix string) (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.names {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func watchApplications(b *testing.B) *applications {
	b.Helper()
	c, err := cache.New(hub.config, cache.Options{Scheme: hub.scheme})
	if err != nil {
		b.Fatal(err)
	}
	kind := &metav1.PartialObjectMetadata{}
	kind.SetGroupVersionKind(argocd.GroupVersion.WithKind(argocd.ApplicationKind))
	ctx, stop := context.WithCancel(context.Background())
	b.Cleanup(stop)
	go func() { _ = c.Start(ctx) }()
	informer, err := c.GetInformer(ctx, kind)
	if err != nil {
		b.Fatal(err)
	}
	a := &applications{names: map[string]bool{}, added: map[string]time.Time{}}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { a.seen(o, true) }, DeleteFunc: func(o any) { a.seen(o, false) },
	}); err != nil {
		b.Fatal(err)
	}
	return a
}

func startArgoCD(b *testing.B) {
	b.Helper()
	folder := b.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: hub.config.Host, CertificateAuthorityData: hub.config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"hub": {ClientCertificateData: hub.config.CertData, ClientKeyData: hub.config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"hub": {Cluster: "hub", AuthInfo: "hub", Namespace: "argocd"}},
		CurrentContext: "hub",
	}, kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}}",
		"{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: default, namespace: argocd}, spec: {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]}}",
	} {
		create(b, object(b, text))
	}
	logs, err := os.Create(filepath.Join(folder, "applicationset-controller.log"))
	if err != nil {
		b.Fatal(err)
	}
	metrics := free(b)
	ctx, stop := context.WithCancel(context.Background())
	command := testkit.Command(ctx, filepath.Join(testkit.Root(), "bin", "argocd"), "--kubeconfig", kubeconfig, "--namespace", "argocd",
		"--metrics-addr", metrics, "--probe-addr", free(b), "--webhook-addr", free(b), "--argocd-repo-server", free(b), "--repo-server-plaintext")
	command.Env = append(os.Environ(), "ARGOCD_BINARY_NAME=argocd-applicationset-controller", "KUBECONFIG="+kubeconfig)
	command.Stdout, command.Stderr = logs, logs
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stop()
		_ = command.Wait() // the process was killed
		if text, err := os.ReadFile(logs.Name()); err == nil && b.Failed() {
			b.Logf("the ApplicationSet controller:\n%s", text[max(0, len(text)-4000):])
		}
	})
	testkit.Until(b, "the ApplicationSet controller", func() bool {
		response, err := http.Get("http://" + metrics + "/metrics")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

func free(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func object(b *testing.B, text string) *unstructured.Unstructured {
	b.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		b.Fatal(err)
	}
	return o
}

// realSet creates an ApplicationSet that makes Application "<name>-<cluster>" for each cluster of the
// Placement with the same name.
func realSet(b *testing.B, name string, requeue int) {
	b.Helper()
	create(b, object(b, fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {namespace: argocd, name: %[1]s}, spec: {
goTemplate: true, syncPolicy: {preserveResourcesOnDeletion: true},
generators: [{clusterDecisionResource: {configMapRef: ocm-placement-generator, requeueAfterSeconds: %[2]d, labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: %[1]s}}}}],
template: {metadata: {name: '%[1]s-{{.name}}', labels: {%[3]s: "true"}}, spec: {project: default, source: {repoURL: 'https://git.example.com/apps.git', path: guestbook, targetRevision: main},
destination: {server: 'https://kubernetes.default.svc', namespace: guestbook}}}}}`, name, requeue, contract.PullLabel)))
}

func registerReal(b *testing.B, cluster string) {
	b.Helper()
	create(b, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "argocd", Name: cluster + "-cluster-secret",
			Labels: map[string]string{argocd.SecretTypeLabel: argocd.SecretTypeCluster, contract.RegisteredNameLabel: cluster},
		},
		StringData: map[string]string{"name": cluster, "server": "https://" + cluster + "-control-plane", "config": "{}"},
	})
}

func clusterName(i int) string { return fmt.Sprintf("c%04d", i) }

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = clusterName(i)
	}
	return all
}

// has waits until a set has exactly the Applications of these clusters.
func (a *applications) has(b *testing.B, set string, clusters []string) {
	b.Helper()
	want := make([]string, 0, len(clusters))
	for _, c := range clusters {
		want = append(want, set+"-"+c)
	}
	slices.Sort(want)
	testkit.Eventually(b, fmt.Sprintf("%d Applications of %s", len(want), set), func() error {
		if is := a.of(set + "-"); !slices.Equal(is, want) {
			return fmt.Errorf("there are %d", len(is))
		}
		return nil
	})
}

// BenchmarkDecisionToApplication reports the time from the write of a decision to the creation of the new
// cluster's Application.
func BenchmarkDecisionToApplication(b *testing.B) {
	const changes = 100
	apps := watchApplications(b)
	for i := range changes + 1 {
		registerReal(b, clusterName(i))
	}
	startArgoCD(b)
	startWith(b, absence)
	decide(b, "argocd", "grow", "grow-decision-1", clusterName(0))
	realSet(b, "grow", 3600)
	apps.has(b, "grow", names(1))
	for b.Loop() {
		var took []time.Duration
		for i := range changes {
			began := time.Now()
			decide(b, "argocd", "grow", "grow-decision-1", names(i+2)...)
			var at time.Time
			testkit.Until(b, "the Application", func() (ok bool) {
				at, ok = apps.at("grow-" + clusterName(i+1))
				return ok
			})
			took = append(took, at.Sub(began))
		}
		slices.Sort(took)
		b.ReportMetric(took[changes/2].Seconds(), "s/p50")
		b.ReportMetric(took[changes*99/100-1].Seconds(), "s/p99")
	}
}

// BenchmarkGrowth reports how often an ApplicationSet is refreshed when its Placement grows by 500
// clusters. OCM writes them in decisions of 100.
func BenchmarkGrowth(b *testing.B) {
	const clusters = 500
	apps := watchApplications(b)
	for i := range clusters + 1 {
		registerReal(b, clusterName(i))
	}
	startArgoCD(b)
	writes, _ := startWith(b, absence)
	decide(b, "argocd", "grow", "grow-decision-0", clusterName(clusters))
	realSet(b, "grow", 3600)
	testkit.Until(b, "the first Application", func() bool { return len(apps.of("grow-")) == 1 })
	testkit.Until(b, "the first refresh", func() bool { return writes.Load() > 0 && !setOf(b, "argocd", "grow").Refreshing() })
	for b.Loop() {
		before := writes.Load()
		for i := range clusters / 100 {
			decide(b, "argocd", "grow", fmt.Sprintf("grow-decision-%d", i+1), names(clusters)[i*100:(i+1)*100]...)
		}
		began := time.Now()
		testkit.Until(b, "every Application", func() bool { return len(apps.of("grow-")) == clusters+1 })
		b.ReportMetric(time.Since(began).Seconds(), "s/all")
		testkit.Until(b, "the last refresh", func() bool { return !setOf(b, "argocd", "grow").Refreshing() })
		clock.Sleep(context.Background(), 5*time.Second) // includes a late refresh
		b.ReportMetric(float64(writes.Load()-before), "refreshes")
	}
}

// BenchmarkFlips changes decisions at random, as fast as the API server allows. In the end the Applications
// agree with the decisions.
func BenchmarkFlips(b *testing.B) {
	const sets, clusters, flips = 20, 20, 10_000
	apps := watchApplications(b)
	for i := range clusters {
		registerReal(b, clusterName(i))
	}
	startArgoCD(b)
	writes, _ := startWith(b, absence)
	random := rand.New(rand.NewPCG(1, 2))
	selected := make([]map[string]bool, sets)
	for s := range sets {
		selected[s] = map[string]bool{clusterName(0): true}
		name := fmt.Sprintf("flip%02d", s)
		decide(b, "argocd", name, name+"-decision-1", clusterName(0))
		realSet(b, name, 3600)
	}
	for b.Loop() {
		before, began := writes.Load(), time.Now()
		for range flips {
			s, cluster := random.IntN(sets), clusterName(random.IntN(clusters))
			if selected[s][cluster] {
				delete(selected[s], cluster)
			} else {
				selected[s][cluster] = true
			}
			name := fmt.Sprintf("flip%02d", s)
			decide(b, "argocd", name, name+"-decision-1", sorted(selected[s])...)
		}
		b.ReportMetric(float64(flips)/time.Since(began).Seconds(), "flips/s")
		ended := time.Now()
		for s := range sets {
			apps.has(b, fmt.Sprintf("flip%02d", s), sorted(selected[s]))
		}
		b.ReportMetric(time.Since(ended).Seconds(), "s/settled")
		b.ReportMetric(float64(writes.Load()-before), "refreshes")
	}
}

func sorted(of map[string]bool) []string {
	all := make([]string, 0, len(of))
	for name := range of {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// BenchmarkRest reports the request rate of an idle hub with 1,000 ApplicationSets: with placement, and
// with a requeue of three seconds instead.
func BenchmarkRest(b *testing.B) {
	const sets = 1000
	const window = time.Minute
	apps := watchApplications(b)
	registerReal(b, clusterName(0))
	writes, stop := startWith(b, absence)
	for s := range sets {
		name := fmt.Sprintf("rest%04d", s)
		decide(b, "argocd", name, name+"-decision-1", clusterName(0))
		realSet(b, name, 3600)
	}
	startArgoCD(b)
	settled := func() {
		testkit.Until(b, "every Application", func() bool { return len(apps.of("rest")) == sets })
		last, now := 0.0, requests(b)
		for range 60 { // until the rate is steady without a refresh, even on a busy machine
			refreshes := writes.Load()
			clock.Sleep(context.Background(), 10*time.Second)
			rate := requests(b) - now
			if now += rate; math.Abs(rate-last) <= max(last/5, 10) && writes.Load() == refreshes {
				return
			}
			last = rate
		}
		b.Fatal("the rate of requests is not steady")
	}
	for b.Loop() {
		settled()
		before := requests(b)
		clock.Sleep(context.Background(), window)
		with := (requests(b) - before) / window.Seconds()
		stop()
		for s := range sets {
			patch(b, hub.client, "argocd", fmt.Sprintf("rest%04d", s),
				fmt.Sprintf(`{"spec":{"generators":[{"clusterDecisionResource":{"configMapRef":"ocm-placement-generator","requeueAfterSeconds":3,"labelSelector":{"matchLabels":{"cluster.open-cluster-management.io/placement":"rest%04d"}}}}]}}`, s))
		}
		settled()
		before = requests(b)
		clock.Sleep(context.Background(), window)
		polled := (requests(b) - before) / window.Seconds()
		b.ReportMetric(with, "requests/s/placement")
		b.ReportMetric(polled, "requests/s/requeue3s")
	}
}

// requests returns the number of requests that the API server has answered for the resources of the
// benchmark.
func requests(b *testing.B) (total float64) {
	b.Helper()
	c, err := rest.HTTPClientFor(hub.config)
	if err != nil {
		b.Fatal(err)
	}
	response, err := c.Get(strings.TrimSuffix(hub.config.Host, "/") + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "apiserver_request_total{") {
			continue
		}
		for _, resource := range []string{"applicationsets", "applications", "appprojects", "placementdecisions", "configmaps", "secrets"} {
			if strings.Contains(line, `resource="`+resource+`"`) {
				value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
				if err != nil {
					b.Fatal(err)
				}
				total += value
			}
		}
	}
	if lines.Err() != nil || total == 0 {
		b.Fatalf("the API server's metrics count no requests: %s, %v", response.Status, lines.Err())
	}
	return total
}
