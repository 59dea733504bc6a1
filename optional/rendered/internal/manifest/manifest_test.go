// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"testing"
)

func read(t *testing.T, texts ...string) []Manifest {
	t.Helper()
	var all []Manifest
	for i, text := range texts {
		manifests, err := Decode(fmt.Sprintf("%d.yaml", i+1), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, manifests...)
	}
	return all
}

func annotated(t *testing.T, annotations string) *Manifest {
	t.Helper()
	return &read(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: b, annotations: {"+annotations+"}}}")[0]
}

func TestPhase(t *testing.T) {
	cases := map[string]struct {
		reason, annotations, phase string
		skip                       bool
		err                        string
	}{
		"none":       {reason: "most manifests", annotations: ""},
		"argocd":     {reason: "Argo CD's own", annotations: "argocd.argoproj.io/hook: PostSync", phase: "PostSync"},
		"helm":       {reason: "install and upgrade are one sync", annotations: "helm.sh/hook: 'pre-install, pre-upgrade'", phase: "PreSync"},
		"both":       {reason: "Argo CD's wins, as there", annotations: "helm.sh/hook: pre-install, argocd.argoproj.io/hook: Sync", phase: "Sync"},
		"postDelete": {reason: "Argo CD runs it when the Application goes", annotations: "helm.sh/hook: post-delete", phase: "PostDelete"},
		"crd":        {reason: "Helm 2 marked definitions that way; they are no hooks", annotations: "helm.sh/hook: crd-install"},
		"test":       {reason: "no sync runs tests", annotations: "helm.sh/hook: test", skip: true},
		"rollback":   {reason: "Argo CD knows no such verb", annotations: "helm.sh/hook: pre-rollback", skip: true},
		"alsoTest":   {reason: "a hook of a sync, too", annotations: "helm.sh/hook: 'test,post-install'", phase: "PostSync"},
		"skip":       {reason: "asked for", annotations: "argocd.argoproj.io/hook: Skip", skip: true},
		"preDelete":  {reason: "its work would be deleted unprepared", annotations: "helm.sh/hook: pre-delete", err: `Job b/a: annotation helm.sh/hook: "pre-delete" is no hook that rendered mode has`},
		"unknown":    {reason: "misspelt: it would never run", annotations: "argocd.argoproj.io/hook: presync", err: `Job b/a: annotation argocd.argoproj.io/hook: "presync" is no hook that rendered mode has`},
		"two":        {reason: "the second run would find the first one's Job", annotations: "argocd.argoproj.io/hook: 'PreSync,PostSync'", err: "Job b/a: annotation argocd.argoproj.io/hook: want one phase; give a second hook another name"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			phase, skip, err := annotated(t, c.annotations).Phase()
			if phase != c.phase || skip != c.skip || errorText(err) != c.err {
				t.Errorf("%s: phase %q, skip %t, error %v", c.reason, phase, skip, err)
			}
		})
	}
}

func TestWave(t *testing.T) {
	cases := map[string]struct {
		reason, annotations string
		wave                int
		err                 string
	}{
		"none":   {reason: "zero, as in Argo CD"},
		"wave":   {reason: "negative ones come first", annotations: "argocd.argoproj.io/sync-wave: '-3'", wave: -3},
		"weight": {reason: "Helm's order within a phase", annotations: "helm.sh/hook-weight: '5'", wave: 5},
		"both":   {reason: "Argo CD's wins, as there", annotations: "helm.sh/hook-weight: '5', argocd.argoproj.io/sync-wave: '0'"},
		"text":   {reason: "it would silently be wave 0", annotations: "argocd.argoproj.io/sync-wave: first", err: "Job b/a: annotation argocd.argoproj.io/sync-wave: want a whole number"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wave, err := annotated(t, c.annotations).Wave()
			if wave != c.wave || errorText(err) != c.err {
				t.Errorf("%s: wave %d, error %v", c.reason, wave, err)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x},
		spec: {group: example.com, scope: Cluster, names: {kind: Fleet, plural: fleet}}}`
	cases := map[string]struct{ reason, text, namespace, want, err string }{
		"given":      {reason: "what names a namespace keeps it", text: "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}", namespace: "c", want: "Pod b/a"},
		"default":    {reason: "what names none gets the parameter's", text: "{apiVersion: v1, kind: Pod, metadata: {name: a}}", namespace: "c", want: "Pod c/a"},
		"cluster":    {reason: "the agent would look for it in a namespace", text: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, namespace: b}}", namespace: "c", want: "ClusterRole a"},
		"definition": {reason: "a definition in the same render tells", text: "{apiVersion: example.com/v1, kind: Fleet, metadata: {name: a}}", namespace: "c", want: "Fleet a"},
		"parameter":  {reason: "or a parameter", text: "{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: a}}", namespace: "c", want: "ClusterIssuer a"},
		"neither": {
			reason: "the agent would fail later, and say less", text: "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
			err: "parameter namespace: want the namespace on the managed cluster for Pod a, which names none (1.yaml, document 1); for a kind without namespaces set parameter cluster-scoped",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			manifests := read(t, c.text, definition)
			types := NewTypes(manifests, nil, []string{"ClusterIssuer.cert-manager.io"})
			if err := Place(manifests, types, c.namespace); errorText(err) != c.err {
				t.Fatalf("%s: error %v", c.reason, err)
			}
			if got := manifests[0].String(); c.err == "" && got != c.want {
				t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: {password: aHVudGVyMg==}}"
	cases := map[string]struct {
		reason  string
		texts   []string
		allowed bool
		err     string
	}{
		"secret": {reason: "it would stand in clear text", texts: []string{secret}, err: "Secret b/a would stand unencrypted in the hub's ManifestWork and in Argo CD's UI: use an external or sealed secret"},
		"stringData": {
			reason: "the same in other letters", texts: []string{"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: hunter2}}"},
			err: "Secret a would stand unencrypted in the hub's ManifestWork and in Argo CD's UI: use an external or sealed secret",
		},
		"allowed":       {reason: "the platform decided so", texts: []string{secret}, allowed: true},
		"emptySecret":   {reason: "a token controller fills it on the cluster", texts: []string{"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: kubernetes.io/service-account-token}"}},
		"foreignSecret": {reason: "sealed: another group's Secret is encrypted", texts: []string{"{apiVersion: example.com/v1, kind: Secret, metadata: {name: a}, data: {x: y}}"}},
		"twice": {
			reason: "OCM's webhook refuses the same, and says less", texts: []string{"{apiVersion: v1, kind: Pod, metadata: {name: a}}", "{apiVersion: v1, kind: Pod, metadata: {name: a}}"},
			err: "2.yaml, document 1: Pod a is already in 1.yaml, document 1",
		},
		"versions": {
			reason: "two versions of one object are one object", texts: []string{"{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a}}", "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}}"},
			err: "2.yaml, document 1: HorizontalPodAutoscaler a is already in 1.yaml, document 1",
		},
		"confirmed": {
			reason: "no user could confirm: it would be pruned at once", texts: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {argocd.argoproj.io/sync-options: 'Replace=true, Prune=confirm'}}}"},
			err: "1.yaml, document 1: ConfigMap a: rendered mode has no sync option Prune=confirm: use Prune=false",
		},
		"elsewhere": {reason: "the same name in another namespace is another object", texts: []string{"{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: p}}", "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: q}}"}},
		"work": {
			reason: "nesting is nearly always a mistake", texts: []string{"{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: a}}"},
			err: "1.yaml, document 1: ManifestWork a would deliver from the managed cluster, which has neither hub nor Argo CD: take it out of the source",
		},
		"application": {
			reason: "the same", texts: []string{"{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}"},
			err: "1.yaml, document 1: Application a would deliver from the managed cluster, which has neither hub nor Argo CD: take it out of the source",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := Check(read(t, c.texts...), c.allowed); errorText(err) != c.err {
				t.Errorf("%s: error %q, want %q", c.reason, errorText(err), c.err)
			}
		})
	}
}

func TestHealthyWhen_removesTheAnnotation(t *testing.T) {
	m := annotated(t, "apps.open-cluster-management.io/healthy-when: 'object.spec.x'")
	if rule := m.HealthyWhen(); rule != "object.spec.x" {
		t.Errorf("the rule is %q", rule)
	}
	if _, found := child(m.Object, "metadata")["annotations"]; found {
		t.Error("an empty map of annotations is left, which the API server drops")
	}
	if m.HealthyWhen() != "" {
		t.Error("the rule is still there")
	}
}
