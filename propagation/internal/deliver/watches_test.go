// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/appcache"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// A change of an AppProject reaches each work that carries it, also one whose Application is gone
// or names another project by now.
func TestOfProject_reachesWorksThatCarryIt(t *testing.T) {
	for name, c := range map[string]struct {
		reason, namespace, carries, changed string
		want                                bool
	}{
		"carried": {reason: "the work carries it", namespace: "team", carries: "wide", changed: "wide", want: true},
		"another": {reason: "it carries another one", namespace: "team", carries: "wide", changed: "narrow"},
		"default": {reason: "whether it admits the namespace is judged", namespace: "team", carries: "default", changed: "default", want: true},
		"argocd":  {reason: "the default project says nothing about the administrator's own", namespace: "argocd", carries: "default", changed: "default"},
	} {
		app := settled(t).app
		app.Namespace, app.Spec = c.namespace, json.RawMessage(`{"project":"`+c.carries+`","destination":{}}`)
		indexed := indexer(t)
		if err := indexed.Add(appcache.Compact(workOn(t, app, "cluster1", nil))); err != nil {
			t.Fatal(err)
		}
		_, wa := newReconciler(clients{client: noObjects{}, index: manifestcache.NewIndex(indexed), options: Options{ArgoCDNamespace: "argocd"}}, nil)
		var keys []client.ObjectKey
		for _, r := range wa.ofProject(t.Context(), project(c.changed, "team", "*")) {
			keys = append(keys, r.NamespacedName)
		}
		if got := slices.Contains(keys, client.ObjectKeyFromObject(app)); got != c.want {
			t.Errorf("%s: %s: it reaches %v", name, c.reason, keys)
		}
	}
}

// noObjects is a cache without any.
type noObjects struct{ client.Client }

func (noObjects) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }
