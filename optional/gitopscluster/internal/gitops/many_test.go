// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// atATime is the highest number of parallel writes of add-ons and ManifestWorks.
const atATime = 20

// served counts the clusters with a Secret, with a Secret for an agent, and with the agent's ManifestWork.
func (f *fleet) served() (registered, shaped, works int) {
	f.t.Helper()
	for _, s := range f.secrets(f.argocd) {
		registered++
		if strings.Contains(string(s.Data["server"]), "agentName=") {
			shaped++
		}
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWorkList"})
	if err := hub.client.List(context.Background(), &list, client.MatchingLabels{agent.OwnedLabel: "true"}); err != nil {
		f.t.Fatal(err)
	}
	for _, w := range list.Items {
		if w.Annotations[agent.ArgoNamespaceAnnotation] == f.argocd {
			works++
		}
	}
	return registered, shaped, works
}

// told counts the clusters of this fleet with an add-on that reports that the ManifestWork is not
// applied yet. This is the controller's last write for a cluster.
func (f *fleet) told() int {
	f.t.Helper()
	var list addonv1alpha1.ManagedClusterAddOnList
	if err := hub.client.List(context.Background(), &list, client.MatchingLabels{agent.OwnedLabel: "true"}); err != nil {
		f.t.Fatal(err)
	}
	told := 0
	for i := range list.Items {
		a := &list.Items[i]
		c := meta.FindStatusCondition(a.Status.Conditions, addonv1alpha1.ManagedClusterAddOnConditionAvailable)
		if a.Annotations[agent.ArgoNamespaceAnnotation] == f.argocd && c != nil && c.Reason == agent.ReasonWorkNotApplied {
			told++
		}
	}
	return told
}

// allServed waits until the controller has finished all writes for n clusters.
func (f *fleet) allServed(n int) {
	f.t.Helper()
	testkit.Eventually(f.t, fmt.Sprintf("%d agents", n), func() error {
		registered, shaped, works := f.served()
		if told := f.told(); shaped != n || works != n || told != n {
			return fmt.Errorf("%d are registered, %d with an agent, %d works, %d told", registered, shaped, works, told)
		}
		return nil
	})
}

// If many clusters are selected at once, the controller handles a few in parallel. After a restart it
// writes only for a new cluster.
func TestRegistration_handlesAFewClustersInParallel(t *testing.T) {
	const n = 60
	f := newFleet(t)
	f.withPrincipal()
	clusters := f.clusters(n + 1)
	for _, cluster := range clusters {
		f.available(cluster)
	}
	decision := f.placement("all", clusters[:n]...)
	record, stop := f.start()
	f.gitops("fleet", "all", withAgent)
	f.allServed(n)
	stop()
	if record.most > atATime || record.most < 2 {
		t.Errorf("%d add-ons and works were written at a time", record.most)
	}

	record, stop = f.start()
	f.decide(decision, clusters...)
	f.allServed(n + 1)
	stop()
	creates := map[string]int{}
	for _, w := range record.written() {
		switch fields := strings.Fields(w); {
		case fields[0] == "create":
			creates[fields[1]]++
		case fields[1] != "gitopsclusters/status" && !strings.Contains(w, clusters[n]):
			t.Errorf("at rest it wrote %s", w)
		}
	}
	if len(creates) != 3 || creates["secrets"] != 1 || creates["managedclusteraddons"] != 1 || creates["manifestworks"] != 1 {
		t.Errorf("for one more cluster it created %v", creates)
	}
}

// Too large manifests are refused by a GitOpsCluster's status. The cache does not keep them, and no write of
// the controller removes them from the object.
func TestManifests_stayInTheRefusedObject(t *testing.T) {
	f := newFleet(t)
	f.team = f.argocd
	f.placement("all", f.clusters(1)...)
	f.start()
	o := f.gitops("fleet", "all", withManifest(1))
	f.ready(o, 1)
	testkit.Edit(t, hub.client, o, withManifest(1<<20))
	at := f.says(o, v1beta1.ConditionSpecAccepted, metav1.ConditionFalse, intent.ReasonBadManifests)
	raw := at.Spec.ArgoCDAgentAddon.ArgoCDCRManifestWork.Manifests[0].Raw
	if !strings.Contains(at.Status.Message, "400 KiB") || len(raw) < 1<<20 {
		t.Errorf("the message is %q, the manifest has %d bytes", at.Status.Message, len(raw))
	}
	if err := hub.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	f.gone(o)
}

// everywhere calls do for each of n, sixteen in parallel.
func everywhere(n int, do func(i int)) {
	var wait sync.WaitGroup
	for worker := range 16 {
		wait.Go(func() {
			for i := worker; i < n; i += 16 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// crowd creates available clusters, and a Placement that selects them all with PlacementDecisions of 100
// clusters, as in OCM.
func (f *fleet) crowd(n int, placement string) []string {
	f.t.Helper()
	names := make([]string, n)
	everywhere(n, func(i int) {
		names[i] = unique("crowd")
		f.create(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: names[i]}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}})
		f.available(names[i])
	})
	f.create(&clusterv1beta1.Placement{ObjectMeta: metav1.ObjectMeta{Namespace: f.team, Name: placement}})
	for i := 0; i < n; i += 100 {
		d := &clusterv1beta1.PlacementDecision{ObjectMeta: metav1.ObjectMeta{
			Namespace: f.team, Name: fmt.Sprintf("%s-decision-%d", placement, i/100+1), Labels: map[string]string{clusterv1beta1.PlacementLabel: placement},
		}}
		f.create(d)
		f.decide(d, names[i:min(i+100, n)]...)
	}
	return names
}

// A pass over many large GitOpsClusters copies each of them once, and none of the manifests that are refused.
// Any team may create them, admitted or not.
func TestPass_copiesEachGitOpsClusterOnce(t *testing.T) {
	const n, size = 8, 300 << 10
	f := newFleet(t)
	testkit.Edit(t, hub.client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.argocd}}, func(n *corev1.Namespace) { n.Labels = nil })
	for i := range n {
		f.gitops(fmt.Sprintf("small-%d", i), "none")
		f.gitops(fmt.Sprintf("large-%d", i), "none", withManifest(size))
		f.gitops(fmt.Sprintf("refused-%d", i), "none", withManifest(4*size))
	}
	c, err := cache.New(hub.config, cache.Options{Scheme: hub.scheme, ByObject: Caches(f.argocd), DefaultTransform: intent.Transform})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Start(t.Context()) }()
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not start")
	}
	reader, err := client.New(hub.config, client.Options{Scheme: hub.scheme, Cache: &client.CacheOptions{Reader: c}})
	if err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{client: reader, options: f.options, assignments: NewAssignments("")}
	var all []*member
	observe := func() {
		t.Helper()
		if all, err = r.observe(t.Context()); err != nil || len(all) != 3*n {
			t.Fatalf("%d GitOpsClusters, %v", len(all), err)
		}
	}
	observe() // starts the cache's watches
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	observe()
	runtime.ReadMemStats(&after)
	if copied := after.TotalAlloc - before.TotalAlloc; copied > 2*n*size {
		t.Errorf("a pass over %d KiB of manifests allocates %d KiB", n*size>>10, copied>>10)
	}
}

// withManifest adds a manifest of a size, with the form of the spec that may have manifests.
func withManifest(size int) func(*v1beta1.GitOpsCluster) {
	return func(o *v1beta1.GitOpsCluster) {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"x":%q}}`, strings.Repeat("x", size))
		o.Spec.ArgoServer, o.Spec.ArgoCDAgentAddon = nil, &v1beta1.ArgoCDAgentAddonSpec{
			ArgoCDCRManifestWork: &v1beta1.ArgoCDCRManifestWorkSpec{Manifests: []kruntime.RawExtension{{Raw: []byte(raw)}}},
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkThousandClusters selects 1,000 clusters with agents at once. It reports the time until all are
// registered, until all have their ManifestWork, and until every simulated agent is connected. It also
// reports memory and writes.
func BenchmarkThousandClusters(b *testing.B) {
	const n = 1000
	for b.Loop() {
		f := newFleet(b)
		f.withPrincipal()
		names := f.crowd(n, "all")
		record, stop := f.start()
		before, began := heap(), time.Now()
		o := f.gitops("fleet", "all", withAgent)
		var registered time.Duration
		tick := time.NewTicker(100 * time.Millisecond)
		for known, shaped, works := f.served(); shaped != n || works != n; known, shaped, works = f.served() {
			if known == n && registered == 0 {
				registered = time.Since(began)
			}
			if <-tick.C; time.Since(began) > 10*time.Minute {
				b.Fatalf("%d are registered, %d with an agent, %d works", known, shaped, works)
			}
		}
		b.ReportMetric(registered.Seconds(), "s-registered")
		b.ReportMetric(time.Since(began).Seconds(), "s-works")
		f.connect(names)
		for connected := 0; connected != n; <-tick.C {
			if err := hub.client.Get(b.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				b.Fatal(err)
			}
			if o.Status.Clusters != nil {
				connected = o.Status.Clusters.Connected
			}
			if time.Since(began) > 20*time.Minute {
				b.Fatalf("%d are connected: %+v", connected, o.Status.Conditions)
			}
		}
		tick.Stop()
		b.ReportMetric(time.Since(began).Seconds(), "s-connected")
		b.ReportMetric(float64(record.most), "at-a-time")
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		record.settled(b)
		written := map[string]int{}
		for _, w := range record.written() {
			verb, rest, _ := strings.Cut(w, " ")
			resource, _, _ := strings.Cut(rest, " ")
			written[verb+" "+resource]++
		}
		b.Logf("written: %v", written)
		b.ReportMetric(float64(len(record.written()))/n, "writes/cluster")
		rest := changes(record.counts())
		<-time.After(30 * time.Second)
		b.ReportMetric(float64(changes(record.counts())-rest), "writes-at-rest")
		stop()
	}
}
