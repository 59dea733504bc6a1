// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// These are the names in rendered mode: the ApplicationSet of the example, and an Application without owner.
const (
	renderedSet  = "guestbook-rendered"
	renderedKept = "kept-rendered"
)

// rendered returns the cluster of each hub Application in rendered mode.
func rendered() map[string]string {
	all := map[string]string{renderedKept: "cluster1"}
	for _, c := range fleet.Managed {
		all[c.Name+"-"+renderedSet] = c.Name
	}
	return all
}

// prepareRendered applies the objects that a platform sets up once for rendered mode.
func prepareRendered(ctx context.Context) (err error) {
	defer must.Return(&err)
	for _, c := range fleet.Managed {
		must.OK(c.ApplyFiles(ctx, env.Rendered("managed")))
	}
	return fleet.Hub.ApplyFiles(ctx, env.Rendered("hub"))
}

// createRendered deploys the example's ApplicationSet and an Application from its template. Both deploy to the
// namespace of the pulled guestbook, so each has a separate Deployment.
func createRendered(t *testing.T) {
	t.Helper()
	if _, err := fleet.Git.Commit(t.Context(), "Render", map[string]string{
		renderedSet + "/deployment.yaml":  deployment(renderedSet),
		renderedKept + "/deployment.yaml": deployment(renderedKept),
	}); err != nil {
		t.Fatal(err)
	}
	objects, err := env.ReadObjects(env.Rendered("app-set.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	set := objects[0]
	setField(t, set, renderedSet, "spec", "template", "spec", "source", "path")

	template, _, err := unstructured.NestedMap(set.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	a := &unstructured.Unstructured{Object: template}
	a.SetAPIVersion("argoproj.io/v1alpha1")
	a.SetKind("Application")
	a.SetNamespace(env.ArgoCDNamespace)
	a.SetName(renderedKept)
	setField(t, a, renderedKept, "spec", "source", "path")
	setField(t, a, rendered()[renderedKept], "spec", "destination", "namespace")

	if err := fleet.Hub.Apply(t.Context(), set, a); err != nil {
		t.Fatal(err)
	}
}

func setField(t *testing.T, o *unstructured.Unstructured, value string, fields ...string) {
	t.Helper()
	if before, found, err := unstructured.NestedString(o.Object, fields...); err != nil || !found || before == "" {
		t.Fatalf("%s has no field %s: %v", o.GetName(), strings.Join(fields, "."), err)
	}
	if err := unstructured.SetNestedField(o.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}
