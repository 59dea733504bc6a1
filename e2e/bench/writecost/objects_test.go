// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package writecost

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

type fields = map[string]any

// object is an object that one writer at a time writes repeatedly.
type object struct {
	path, version string
	body          []byte // the server's last version, if the way of writing needs it
	writes        int
}

// These are the field managers of an Application before the mirror's first patch.
const (
	creator = "?fieldManager=argocd-applicationset-controller"
	deliver = "?fieldManager=multicluster-integrations-deliver"
	mirror  = "?fieldManager=multicluster-integrations-mirror"
	agent   = "?fieldManager=work-agent"
)

const argoCD = "argoproj.io"

func applications(group string) string {
	return "/apis/" + group + "/v1alpha1/namespaces/" + simulate.Namespace + "/applications"
}

// application creates an Application of a CRD and writes its first status.
func (s *server) application(ctx context.Context, group, status, name string) (*object, error) {
	app := decode(simulate.Application("set00", "0f7b1b1e-0000-4000-8000-000000000000", name))
	app["apiVersion"] = group + "/v1alpha1"
	o := &object{path: applications(group) + "/" + simulate.ApplicationName("set00", name)}
	calls := []call{
		{method: http.MethodPost, path: applications(group) + creator, contentType: jsonType, body: encode(app)},
		{method: http.MethodPatch, path: o.path + deliver, contentType: mergePatch, body: []byte(`{"metadata":{"annotations":{"apps.open-cluster-management.io/seen":"1"}}}`)},
		{method: http.MethodPatch, path: o.path + status + mirror, contentType: mergePatch, body: simulate.ApplicationStatus(simulate.Revision(0))},
	}
	return o, s.perform(ctx, o, calls)
}

func (s *server) perform(ctx context.Context, o *object, calls []call) (err error) {
	for _, c := range calls {
		if o.body, err = s.do(ctx, c); err != nil {
			return err
		}
	}
	o.version, err = version(o.body)
	return err
}

const cluster = "writecost"

// work creates a ManifestWork with the given feedback rules and writes the agent's first status.
func (s *server) work(ctx context.Context, name string, rules []workv1.JsonPath) (*object, error) {
	work, o := workObject(name, rules)
	return o, s.perform(ctx, o, []call{
		{method: http.MethodPost, path: simulate.WorksIn(cluster) + deliver, contentType: jsonType, body: encode(work)},
		{method: http.MethodPatch, path: o.path + agent, contentType: mergePatch, body: []byte(`{"metadata":{"finalizers":["cluster.open-cluster-management.io/manifest-work-cleanup"]}}`)},
		{method: http.MethodPatch, path: o.path + "/status" + agent, contentType: mergePatch, body: simulate.WorkStatus("set00", name, 1, simulate.Healthy(simulate.Revision(0)))},
	})
}

func workObject(name string, rules []workv1.JsonPath) (fields, *object) {
	_, body := simulate.ReportOnlyWork("set00", name)
	work := decode(body)
	metadata, spec := work["metadata"].(fields), work["spec"].(fields)
	metadata["namespace"], metadata["name"] = cluster, name
	config := fields{
		"resourceIdentifier": fields{"group": argoCD, "resource": "applications", "namespace": simulate.Namespace, "name": simulate.ApplicationName("set00", name)},
		"feedbackScrapeType": "Watch",
		"updateStrategy": fields{"type": "ServerSideApply", "serverSideApply": fields{"force": false, "fieldManager": "work-agent", "ignoreFields": []fields{{
			"condition": "OnSpokeChange", "jsonPaths": []string{".operation", ".metadata.annotations['argocd\\.argoproj\\.io/refresh']"},
		}}}},
	}
	if len(rules) > 0 {
		config["feedbackRules"] = []fields{{"type": "JSONPaths", "jsonPaths": rules}}
	}
	manifests := spec["workload"].(fields)["manifests"].([]any)
	namespace := fields{"apiVersion": "v1", "kind": "Namespace", "metadata": fields{"name": simulate.Namespace}}
	spec["workload"] = fields{"manifests": append([]any{namespace}, manifests...)}
	shared := fields{"resourceIdentifier": fields{"group": "", "resource": "namespaces", "namespace": "", "name": simulate.Namespace}}
	created := maps.Clone(shared)
	created["feedbackScrapeType"], created["updateStrategy"] = "Poll", fields{"type": "CreateOnly"}
	spec["manifestConfigs"] = []fields{created, config}
	spec["deleteOption"] = fields{"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": fields{"orphaningRules": []any{shared["resourceIdentifier"]}}}
	return work, &object{path: simulate.WorksIn(cluster) + "/" + name}
}

// variantCRDs are variants of Argo CD's CRD of Applications with other schemas, each in a separate group.
var variantCRDs = map[string]func(version, schema fields){
	"open." + argoCD:       func(_, s fields) { reopen(s, "spec", "status", "operation") },
	"openspec." + argoCD:   func(_, s fields) { reopen(s, "spec", "operation") },
	"openstatus." + argoCD: func(_, s fields) { reopen(s, "status") },
	"sub." + argoCD:        func(v, _ fields) { v["subresources"] = fields{"status": fields{}} },
}

func reopen(schema fields, names ...string) {
	for _, name := range names {
		schema["properties"].(fields)[name] = fields{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
}

// install creates the variants of Argo CD's CRD and the namespaces.
func (s *server) install(b *testing.B) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(testkit.Root(), "bin", "crds", "argocd", "application-crd.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	for group, change := range variantCRDs {
		var crd fields
		if err := yaml.Unmarshal(text, &crd); err != nil {
			b.Fatal(err)
		}
		crd["metadata"] = fields{"name": "applications." + group}
		spec := crd["spec"].(fields)
		spec["group"] = group
		v := spec["versions"].([]any)[0].(fields)
		change(v, v["schema"].(fields)["openAPIV3Schema"].(fields))
		s.must(b, call{method: http.MethodPost, path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", contentType: jsonType, body: encode(crd)})
		testkit.Until(b, "the variants of the CRD to be served", func() bool {
			_, err := s.do(b.Context(), call{method: http.MethodGet, path: applications(group)})
			return err == nil
		})
	}
	for _, name := range []string{simulate.Namespace, cluster} {
		if _, err := s.do(b.Context(), call{method: http.MethodGet, path: simulate.Namespaces + "/" + name}); err != nil {
			s.must(b, call{method: http.MethodPost, path: simulate.Namespaces, contentType: jsonType, body: simulate.NamespaceObject(name)})
		}
	}
}

func (s *server) must(b *testing.B, c call) {
	b.Helper()
	if _, err := s.do(b.Context(), c); err != nil {
		b.Fatal(err)
	}
}

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		return nil // maps of strings and numbers always encode
	}
	return out
}

// decode decodes a body that is known to be an object.
func decode(body []byte) (o fields) {
	if err := json.Unmarshal(body, &o); err != nil {
		return fields{}
	}
	return o
}

var feedback = contract.FeedbackPaths(0)
