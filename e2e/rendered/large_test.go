// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package rendered

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// TestShards_holdALargeApplication checks that the plugin rejects an Application that is too large for one ManifestWork, with a
// remedy that works. A change of the number of shards re-creates no object on the cluster.
func TestShards_holdALargeApplication(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("large/%d.yaml", i)] = configMap(fmt.Sprint("c", i), 60<<10)
	}
	// The size exceeds the annotation of kubectl's apply.
	files["large/one.yaml"] = strings.Replace(configMap("one", 400<<10), "name: one", `name: one, annotations: {argocd.argoproj.io/sync-wave: "1"}`, 1)
	commitFiles(t, files)
	cluster := fleet.Managed[0]
	a := deploy(t, "large", cluster.Name, plugin("large", "namespace", "large", "create-namespace", "true"))
	refusal := awaitCondition(t, a, "it can hold 512000 bytes in 400 manifests; set parameter shards to ")
	remedy := regexp.MustCompile(`shards to "([0-9]+)"`).FindStringSubmatch(refusal)
	if remedy == nil {
		t.Fatalf("no remedy in %q", refusal)
	}
	shards, err := strconv.Atoi(remedy[1])
	must(t, err)
	missing(t, work(cluster.Name, "large"))

	configure := func(parameters ...string) {
		source := plugin("large", append([]string{"namespace", "large", "create-namespace", "true"}, parameters...)...)
		patch := fmt.Sprintf(`{"spec":{"source":%s}}`, toJSON(t, fmt.Sprintf("{repoURL: %q, targetRevision: main, %s}", env.RepositoryURL, source)))
		must(t, fleet.Hub.Client.Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(patch))))
	}
	before, after := strconv.Itoa(shards), strconv.Itoa(shards+1)
	configure("shards", before)
	awaitShards(t, a)
	made := configMaps(t, cluster)
	if len(made) != len(files) {
		t.Fatalf("%d ConfigMaps on the cluster, want %d", len(made), len(files))
	}

	configure("shards", after, "shards-before", before)
	awaitShards(t, a)
	configure("shards", after)
	awaitShards(t, a)
	awaitLean(t, cluster, len(files))
	if now := configMaps(t, cluster); !maps.Equal(made, now) {
		t.Errorf("ConfigMaps were made anew: %v, now %v", made, now)
	}
}

// awaitShards waits until an Application is healthy with its current parameters, in several ManifestWorks.
func awaitShards(t *testing.T, a *unstructured.Unstructured) {
	t.Helper()
	awaitObject(t, fleet.Hub, a, func(o *unstructured.Unstructured) (bool, string) {
		source, _, _ := unstructured.NestedMap(o.Object, "spec", "source")
		compared, _, _ := unstructured.NestedMap(o.Object, "status", "sync", "comparedTo", "source")
		sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
		resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
		well := sync == argocd.SyncSynced && health == argocd.HealthHealthy && reflect.DeepEqual(source, compared)
		return well && len(resources) > 2, fmt.Sprint(sync, " ", health, " in ", len(resources), " works")
	})
}

// awaitLean waits until the ManifestWorks of the Application contain n ConfigMaps together, and the agent has
// applied their current generation.
func awaitLean(t *testing.T, cluster *env.Cluster, n int) {
	t.Helper()
	env.Await(t, "each ConfigMap to be in one work", func(ctx context.Context) (bool, string) {
		works := &workv1.ManifestWorkList{}
		if err := fleet.Hub.Client.List(ctx, works, client.InNamespace(cluster.Name), client.HasLabels{contract.RenderedLabel}); err != nil {
			return false, err.Error()
		}
		held := 0
		for i := range works.Items {
			w := &works.Items[i]
			if w.Annotations[contract.RenderedApplicationAnnotation] != "large" {
				continue
			}
			held += len(w.Spec.Workload.Manifests) - 1 // and the namespace
			if applied := meta.FindStatusCondition(w.Status.Conditions, workv1.WorkApplied); applied == nil || applied.ObservedGeneration != w.Generation {
				return false, w.Name + " is not applied as it is"
			}
		}
		return held == n, fmt.Sprint(held, " of ", n)
	})
}

// configMaps returns the UIDs of the Application's ConfigMaps on a cluster, by name.
func configMaps(t *testing.T, cluster *env.Cluster) map[string]types.UID {
	t.Helper()
	list := &corev1.ConfigMapList{}
	must(t, cluster.Client.List(t.Context(), list, client.InNamespace("large")))
	made := map[string]types.UID{}
	for i := range list.Items {
		if name := list.Items[i].Name; name != "kube-root-ca.crt" {
			made[name] = list.Items[i].UID
		}
	}
	return made
}

func toJSON(t *testing.T, text string) string {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	must(t, err)
	return string(out)
}

func configMap(name string, size int) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {x: %s}}\n", name, strings.Repeat("x", size))
}
