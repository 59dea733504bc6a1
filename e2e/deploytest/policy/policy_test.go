// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub struct {
	config *rest.Config
	client client.Client
}

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub.config = c
		if hub.client, err = client.New(c, client.Options{}); err != nil {
			return err
		}
		for _, name := range []string{"argocd", "cluster1", "multicluster-integrations"} {
			if err := hub.client.Create(context.Background(), object("{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")); err != nil {
				return err
			}
		}
		for _, file := range []string{"base/rbac", "components/gitopsclusters", "components/rendered"} {
			text, err := os.ReadFile(filepath.Join(testkit.Root(), "deploy", file, "policy.yaml"))
			if err != nil {
				return err
			}
			for _, document := range bytes.Split(text, []byte("\n---\n")) {
				if err := hub.client.Create(context.Background(), object(string(document))); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func object(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(fmt.Sprintf("%v: %s", err, text)) // the test's own text
	}
	return o
}

// as returns a client of one of our accounts with all RBAC permissions, so that only the policy decides.
func as(t *testing.T, account string) client.Client {
	t.Helper()
	config := rest.CopyConfig(hub.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:multicluster-integrations:" + account, Groups: []string{"system:masters", "system:authenticated"}}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// request is a request of an account on an existing object, or to create an object.
type request struct {
	reason string
	object string
	// patch is a merge patch. With "" the request deletes the object, and with "create" it creates the
	// object.
	patch string
	want  string // part of the rejection, or "" if the request is admitted
}

// play sends each request for a fresh object. Each admitted object must also be admitted for an
// administrator.
func play(t *testing.T, account string, probe request, requests []request) {
	t.Helper()
	ours := as(t, account)
	try := func(r request) error {
		o := object(r.object)
		if r.patch == "create" {
			err := ours.Create(t.Context(), o)
			if err == nil {
				err = hub.client.Delete(context.Background(), o)
			}
			return err
		}
		if err := hub.client.Create(t.Context(), o); err != nil {
			t.Fatalf("%s: %v", r.reason, err)
		}
		defer func() {
			if err := hub.client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
			if err := hub.client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}()
		if r.patch == "" {
			return ours.Delete(t.Context(), o.DeepCopy())
		}
		return ours.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(r.patch)))
	}
	testkit.Eventually(t, "the policy to be in force", func() error {
		if try(probe) == nil {
			return errors.New(probe.reason + " is admitted")
		}
		return nil
	})
	for _, r := range requests {
		err := try(r)
		if (err == nil) != (r.want == "") || err != nil && !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got %v, want %q", r.reason, err, r.want)
		}
		if r.want == "" {
			continue
		}
		// The policy restricts only that account.
		o := object(r.object)
		o.SetName("control-" + o.GetName())
		if err := hub.client.Create(t.Context(), o, &client.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s: it is refused to an administrator: %v", r.reason, err)
		}
	}
}

func secret(name, kind, metadata string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: %s, metadata: {namespace: argocd, name: %s%s}}`, kind, name, metadata)
}

const (
	ofCluster = `, labels: {argocd.argoproj.io/secret-type: cluster}`
	ofAccount = `, annotations: {kubernetes.io/service-account.name: default}`
	ofOurs    = `, annotations: {apps.open-cluster-management.io/registered-by: multicluster-integrations}`
	asCluster = `{"metadata":{"labels":{"argocd.argoproj.io/secret-type":"cluster"}}}`
	data      = `{"stringData":{"name":"cluster1"}}`
	tokenType = "kubernetes.io/service-account-token"
)

func TestPropagation_isLimitedByItsPolicy(t *testing.T) {
	app := func(more string) string {
		return `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: argocd, name: a, labels: {l: l}, finalizers: [a/b]}, spec: {project: p, destination: {}}, operation: {sync: {}}` + more + `}`
	}
	large := app(`, status: {}`)
	large = strings.Replace(large, "destination: {}", `destination: {}, source: {repoURL: r, helm: {values: "`+strings.Repeat("x", 1<<20)+`"}}`, 1)
	const foreign, changes, lifetime = "does not register a cluster", "propagation may change status, annotations and finalizers", "neither create nor delete"
	play(t, "multicluster-integrations", request{"a Secret", secret("probe", "Opaque", ""), "create", "x"}, []request{
		{"a cluster's Secret", secret("c", "Opaque", ofCluster), "create", ""},
		{"its data", secret("c", "Opaque", ofCluster), data, ""},
		{"its deletion", secret("c", "Opaque", ofCluster), "", ""},
		{"its label, which somebody took off", secret("c", "Opaque", ofOurs), asCluster, ""},
		{"a Secret of any other kind", secret("s", "Opaque", ""), "create", "no others"},
		{"a repository's", secret("s", "Opaque", `, labels: {argocd.argoproj.io/secret-type: repository}`), "create", "no others"},
		{"an account's token", secret("s", tokenType, ofAccount), "create", "no others"},
		{"an account's token as a cluster's Secret", secret("s", tokenType, ofCluster+ofAccount), "create", "no others"},
		{"Argo CD's own Secret", secret("argocd-secret", "Opaque", ""), data, "no others"},
		{"Argo CD's own Secret as a cluster's", secret("argocd-secret", "Opaque", ""), asCluster, foreign},
		{"its deletion", secret("argocd-secret", "Opaque", ""), "", foreign},
		{"a cluster's Secret made another", secret("c", "Opaque", ofCluster), `{"metadata":{"labels":null}}`, "no others"},

		{"a status", app(""), `{"status":{"sync":{"status":"Synced"}}}`, ""},
		{"an annotation", app(""), `{"metadata":{"annotations":{"a":"b"}}}`, ""},
		{"a finalizer", app(""), `{"metadata":{"finalizers":["a/b","c/d"]}}`, ""},
		{"the end of an operation", app(""), `{"operation":null,"status":{"operationState":null}}`, ""},
		{"a status beside a large spec", large, `{"status":{"sync":{"status":"Synced"}}}`, ""},
		{"a spec", app(""), `{"spec":{"project":"other"}}`, changes},
		{"a source", app(""), `{"spec":{"source":{"repoURL":"r"}}}`, changes},
		{"a destination beside a status", app(""), `{"spec":{"destination":{"name":"hub"}},"status":{"sync":{"status":"Synced"}}}`, changes},
		{"another operation", app(""), `{"operation":{"sync":{"revision":"other"}}}`, changes},
		{"a first operation", strings.Replace(app(""), ", operation: {sync: {}}", "", 1), `{"operation":{"sync":{}}}`, changes},
		{"a label", app(""), `{"metadata":{"labels":{"l":"m"}}}`, changes},
		{"an owner", app(""), `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"b"}]}}`, changes},
		{"a new Application", app(""), "create", lifetime},
		{"a deletion", app(""), "", lifetime},
	})
}

func TestGitOpsCluster_isLimitedByItsPolicy(t *testing.T) {
	work := func(name string) string {
		return `{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {namespace: cluster1, name: ` + name + `}, spec: {workload: {manifests: []}}}`
	}
	const foreign, works = "this Secret neither registers", "gitopscluster may write ManifestWorks"
	play(t, "multicluster-integrations-gitopscluster", request{"a Secret", secret("probe", "Opaque", ""), "create", "x"}, []request{
		{"a cluster's Secret", secret("c", "Opaque", ofCluster), "create", ""},
		{"its data", secret("c", "Opaque", ofCluster), data, ""},
		{"its deletion", secret("c", "Opaque", ofCluster), "", ""},
		{"its label, which somebody took off", secret("c", "Opaque", ofOurs), asCluster, ""},
		{"its deletion without the label", secret("c", "Opaque", ofOurs), "", ""},
		{"its data without the label", secret("c", "Opaque", ofOurs), data, "no others"},
		{"the label of what another registered", secret("c", "Opaque", strings.Replace(ofOurs, ": multi", ": other", 1)), asCluster, foreign},
		{"the CA", secret("argocd-agent-ca", "Opaque", ""), "create", ""},
		{"the CA, of the type for certificates", strings.TrimSuffix(secret("argocd-agent-ca", "kubernetes.io/tls", ""), "}") + `, data: {tls.crt: "", tls.key: ""}}`, "create", ""},
		{"the principal's key", secret("argocd-agent-jwt", "Opaque", ""), data, ""},
		{"the principal's certificate, made again", secret("argocd-agent-principal-tls", "Opaque", ""), "", ""},
		{"the key of the CA", strings.Replace(secret("argocd-agent-ca-argocd", "Opaque", ""), "namespace: argocd", "namespace: multicluster-integrations", 1), "create", ""},
		{"a token in its place", strings.Replace(secret("argocd-agent-ca-argocd", tokenType, ofAccount), "namespace: argocd", "namespace: multicluster-integrations", 1), "create", "of types Opaque"},
		{"a token", secret("s", tokenType, ofAccount), "create", "of types Opaque"},
		{"a token as a cluster's Secret", secret("s", tokenType, ofCluster+ofAccount), "create", "of types Opaque"},
		{"a token as the CA", secret("argocd-agent-ca", tokenType, ofAccount), "create", "of types Opaque"},
		{"a Secret of any other kind", secret("s", "Opaque", ""), "create", "no others"},
		{"Argo CD's own Secret", secret("argocd-secret", "Opaque", ""), data, "no others"},
		{"Argo CD's own Secret as a cluster's", secret("argocd-secret", "Opaque", ""), asCluster, foreign},
		{"its deletion", secret("argocd-secret", "Opaque", ""), "", foreign},

		{"an agent", work("mci-argocd-agent"), "create", ""},
		{"an agent, changed", work("mci-argocd-agent"), `{"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}]}}}`, ""},
		{"an agent, removed", work("mci-argocd-agent"), "", ""},
		{"the look at one that leaves", work("mci-argocd-agent-leaving"), "create", ""},
		{"another work", work("addon"), "create", works},
		{"another's, changed", work("addon"), `{"spec":{"workload":{"manifests":[]}},"metadata":{"labels":{"a":"b"}}}`, works},
		{"another's, removed", work("addon"), "", works},
	})
}

func TestRendered_isLimitedByItsPolicy(t *testing.T) {
	work := func(labels, annotations string) string {
		return `{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {namespace: cluster1, name: w, finalizers: [a/b], labels: {` + labels + `}, annotations: {` + annotations + `}}, spec: {workload: {manifests: []}}}`
	}
	const mark = "apps.open-cluster-management.io/cluster-unreachable"
	marked := func(more string) string { return `{"metadata":{"annotations":{"` + mark + `":"now"` + more + `}}}` }
	own := work("apps.open-cluster-management.io/rendered: 'true'", "theirs: x")
	const annotations, others = "rendered may set and remove annotation", "rendered may change nothing"
	play(t, "multicluster-integrations-rendered", request{"a label", own, `{"metadata":{"labels":{"a":"b"}}}`, "x"}, []request{
		{"a mark", own, marked(""), ""},
		{"its removal", work("apps.open-cluster-management.io/rendered: 'true'", mark+": before"), `{"metadata":{"annotations":{"` + mark + `":null}}}`, ""},
		{"a mark on another's work", work("", ""), marked(""), "not of rendered mode"},
		{"another annotation", own, marked(`,"a":"b"`), annotations},
		{"a user's annotation", own, marked(`,"theirs":"y"`), annotations},
		{"and its removal", own, marked(`,"theirs":null`), annotations},
		{"a spec", own, `{"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}]}}}`, others},
		{"an executor", own, `{"spec":{"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"a","name":"b"}}}}}`, others},
		{"a label", own, `{"metadata":{"labels":{"a":"b"}}}`, others},
		{"a finalizer", own, `{"metadata":{"finalizers":[]}}`, others},
		{"an owner", own, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"b"}]}}`, others},
		{"a new work", own, "create", "neither create nor delete"},
		{"a deletion", own, "", "neither create nor delete"},
	})
}
