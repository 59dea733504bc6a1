// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// certificatePEM returns a self-signed certificate.
func certificatePEM(t *testing.T, cluster, group string, life time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: cluster}, NotBefore: start, NotAfter: start.Add(life)}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

var testCA []byte

func wanted(t *testing.T) Desired {
	t.Helper()
	if testCA == nil {
		testCA = certificatePEM(t, "ca", "", time.Hour)
	}
	return Desired{
		Cluster: "c1", Owner: types.NamespacedName{Namespace: "argocd", Name: "fleet"}, ArgoNamespace: "argocd", AgentNamespace: "argocd",
		Mode: ModeManaged, Address: "principal.example.com", Port: 443, Image: "quay.io/argoprojlabs/argocd-agent:v0.9.0",
		CABundle: testCA, Generation: 1,
	}
}

func mustWork(t *testing.T, w Desired, certificate string) *workv1.ManifestWork {
	t.Helper()
	work, err := Work(w, certificate)
	if err != nil {
		t.Fatal(err)
	}
	return work
}

// ids lists the manifests of a ManifestWork, and checks that each has one matching configuration.
func ids(t *testing.T, work *workv1.ManifestWork) []string {
	t.Helper()
	if len(work.Spec.Workload.Manifests) != len(work.Spec.ManifestConfigs) {
		t.Fatalf("%d manifests and %d configurations", len(work.Spec.Workload.Manifests), len(work.Spec.ManifestConfigs))
	}
	var all []string
	for i, m := range work.Spec.Workload.Manifests {
		var o struct {
			Metadata struct{ Namespace, Name string }
		}
		if err := json.Unmarshal(m.Raw, &o); err != nil {
			t.Fatal(err)
		}
		r := work.Spec.ManifestConfigs[i].ResourceIdentifier
		if o.Metadata.Namespace != r.Namespace || o.Metadata.Name != r.Name {
			t.Errorf("manifest %d is %s/%s, its configuration is for %+v", i, o.Metadata.Namespace, o.Metadata.Name, r)
		}
		all = append(all, fmt.Sprintf("%s %s/%s %s", r.Resource, r.Namespace, r.Name, work.Spec.ManifestConfigs[i].UpdateStrategy.Type))
	}
	return all
}

func TestWork(t *testing.T) {
	w := wanted(t)
	w.Settings.ClusterRole = "view"
	work := mustWork(t, w, "")
	want := []string{
		"namespaces /argocd CreateOnly",
		"serviceaccounts argocd/mci-argocd-agent ServerSideApply",
		"roles argocd/mci-argocd-agent ServerSideApply",
		"rolebindings argocd/mci-argocd-agent ServerSideApply",
		"clusterroles /mci-argocd-agent ServerSideApply",
		"clusterrolebindings /mci-argocd-agent ServerSideApply",
		"clusterrolebindings /mci-argocd-agent-live-view ServerSideApply",
		"configmaps argocd/argocd-agent-params ServerSideApply",
		"secrets argocd/argocd-agent-ca ServerSideApply",
		"deployments argocd/mci-argocd-agent ServerSideApply",
		"secrets argocd/mci-argocd-agent-open-cluster-management.io-mci-argocd-agent-client-cert ReadOnly",
	}
	if got := ids(t, work); !slices.Equal(got, want) {
		t.Errorf("the work carries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range work.Spec.ManifestConfigs {
		if ssa := c.UpdateStrategy.ServerSideApply; ssa != nil && (ssa.Force || ssa.FieldManager != "work-agent-mci-argocd-agent") {
			t.Errorf("%+v: applied as %q, by force: %t", c.ResourceIdentifier, ssa.FieldManager, ssa.Force)
		}
	}
	var stays []string
	for _, rule := range work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules {
		stays = append(stays, rule.Resource+"/"+rule.Name)
	}
	if want := []string{"namespaces/argocd", "secrets/" + ClientSecretName}; !slices.Equal(stays, want) {
		t.Errorf("%q stay when the work goes, want %q", stays, want)
	}
	if ca := decoded[corev1.Secret](t, work, "Secret", CASecretName); len(ca.Data) != 1 || string(ca.Data["ca.crt"]) != string(testCA) {
		t.Errorf("Secret %s has %d keys", CASecretName, len(ca.Data))
	}
	if looked := decoded[corev1.Secret](t, work, "Secret", ClientSecretName); looked == nil || len(looked.Data) != 0 {
		t.Error("the Secret that is looked at has content")
	}
}

// No rule has a wildcard. Only managed mode has permissions for Applications of all namespaces.
func TestWork_grantsNoWildcards(t *testing.T) {
	for mode, applications := range map[string]bool{ModeManaged: true, ModeAutonomous: false} {
		w := wanted(t)
		w.Mode = mode
		work := mustWork(t, w, "")
		cluster := decoded[rbacv1.ClusterRole](t, work, "ClusterRole", AddOnName)
		rules := slices.Concat(cluster.Rules, decoded[rbacv1.Role](t, work, "Role", AddOnName).Rules)
		for _, rule := range rules {
			for _, word := range slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups) {
				if strings.Contains(word, "*") {
					t.Errorf("rule %+v", rule)
				}
			}
		}
		all := slices.ContainsFunc(cluster.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "applications") })
		if all != applications || len(cluster.Rules) > 2 {
			t.Errorf("%s mode: the ClusterRole has %+v", mode, cluster.Rules)
		}
		if slices.ContainsFunc(cluster.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "secrets") }) {
			t.Errorf("%s mode: Secrets of every namespace", mode)
		}
		if decoded[rbacv1.ClusterRoleBinding](t, work, "ClusterRoleBinding", liveViewName) != nil {
			t.Errorf("%s mode: live view without being asked for", mode)
		}
		creates := func() bool {
			rules := decoded[rbacv1.ClusterRole](t, mustWork(t, w, ""), "ClusterRole", AddOnName).Rules
			return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.Resources, "namespaces") && slices.Contains(r.Verbs, "create")
			})
		}
		unasked := creates()
		if w.Settings.CreateNamespace = true; unasked || creates() != (mode == ModeManaged) {
			t.Errorf("%s mode: namespaces are created without being asked for: %v, when asked for: %v", mode, unasked, creates())
		}
	}
}

func TestDeployment_isRestricted(t *testing.T) {
	d := decoded[appsv1.Deployment](t, mustWork(t, wanted(t), ""), "Deployment", DeploymentName)
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || pod.ServiceAccountName != AddOnName {
		t.Errorf("%d replicas, strategy %s, ServiceAccount %s", *d.Spec.Replicas, d.Spec.Strategy.Type, pod.ServiceAccountName)
	}
	if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation ||
		!slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) || pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("security contexts %+v %+v", pod.SecurityContext, c.SecurityContext)
	}
	if p := c.ReadinessProbe.HTTPGet; p.Path != "/healthz" || p.Port.IntValue() != 8001 || c.LivenessProbe != nil {
		t.Errorf("probes %+v %+v", p, c.LivenessProbe)
	}
	if pod.Volumes[0].Secret.SecretName != ClientSecretName || !c.VolumeMounts[0].ReadOnly {
		t.Errorf("volumes %+v", pod.Volumes)
	}
}

// The API server rejects a change of a binding's role, so each role has a binding with a different name.
func TestWork_hasABindingForEachRole(t *testing.T) {
	names := map[string]string{}
	for _, role := range []string{"view", "admin", "team:actions"} {
		w := wanted(t)
		w.Settings.ClusterRole = role
		for _, m := range mustWork(t, w, "").Spec.Workload.Manifests {
			var b rbacv1.ClusterRoleBinding
			if err := json.Unmarshal(m.Raw, &b); err != nil {
				t.Fatal(err)
			}
			if b.Kind == "ClusterRoleBinding" && b.RoleRef.Name == role {
				names[b.Name] = role
			}
		}
	}
	if len(names) != 3 {
		t.Errorf("three roles have the bindings %v", names)
	}
}

// The agent restarts if a setting changes that it reads only at its start. Other changes do not restart it.
func TestDigest(t *testing.T) {
	base := wanted(t)
	of := func(w Desired, certificate string) string {
		return decoded[appsv1.Deployment](t, mustWork(t, w, certificate), "Deployment", DeploymentName).Spec.Template.Annotations[CertificatesAnnotation]
	}
	same := base
	same.Owner.Name, same.Generation, same.Settings.ClusterRole, same.Image = "other", 2, "view", "other"
	if of(same, "a") != of(base, "a") {
		t.Error("the digest follows what the agent does not read, or what changes the pod anyway")
	}
	seen := map[string]string{of(base, "a"): "nothing"}
	for what, change := range map[string]func(*Desired){
		"address":     func(w *Desired) { w.Address = "other" },
		"port":        func(w *Desired) { w.Port = 8443 },
		"mode":        func(w *Desired) { w.Mode = ModeAutonomous },
		"CA":          func(w *Desired) { w.CABundle = slices.Concat(w.CABundle, w.CABundle) },
		"certificate": func(*Desired) {},
		"settings":    func(w *Desired) { w.Settings.AllowedNamespaces = []string{"team-*"} },
	} {
		w, certificate := base, "a"
		change(&w)
		if what == "certificate" {
			certificate = "b"
		}
		if d := of(w, certificate); seen[d] != "" {
			t.Errorf("%s and %s have one digest", what, seen[d])
		} else {
			seen[d] = what
		}
	}
}

// A CA bundle with a key, or with anything but certificates, does not leave the hub.
func TestWork_includesOnlyCertificates(t *testing.T) {
	w := wanted(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("secret")})
	for what, bundle := range map[string][]byte{
		"nothing": nil, "key": key, "key after": slices.Concat(testCA, key), "key before": slices.Concat(key, testCA),
		"text": []byte("secret"), "text after": slices.Concat(testCA, []byte("secret")), "broken": testCA[:len(testCA)-20],
	} {
		w.CABundle = bundle
		if _, err := Work(w, ""); err == nil || strings.Contains(err.Error(), "secret ") || !strings.Contains(err.Error(), CASecretName) {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.CABundle = slices.Concat(testCA, testCA, []byte("\n"))
	if _, err := Work(w, ""); err != nil {
		t.Errorf("two certificates: %v", err)
	}
}

func TestMirrored(t *testing.T) {
	const image = "quay.io/argoprojlabs/argocd-agent:v0.9.0"
	for name, c := range map[string]struct{ reason, registries, want string }{
		"none":   {"without the annotation an image is as it is", "", image},
		"prefix": {"a source is the beginning of a name", `{"registries":[{"source":"quay.io/argoprojlabs","mirror":"r.example.com/x"}]}`, "r.example.com/x/argocd-agent:v0.9.0"},
		"slash":  {"with or without a slash", `{"registries":[{"source":"quay.io/argoprojlabs/","mirror":"r.example.com/x/"}]}`, "r.example.com/x/argocd-agent:v0.9.0"},
		"other":  {"another source does not count", `{"registries":[{"source":"docker.io","mirror":"r.example.com"}]}`, image},
		"all":    {"no source is every source", `{"registries":[{"source":"","mirror":"r.example.com/x"}]}`, "r.example.com/x/argocd-agent:v0.9.0"},
		"last":   {"the last that matches counts, as for add-ons", `{"registries":[{"source":"quay.io","mirror":"a"},{"source":"docker.io","mirror":"b"},{"source":"quay.io/argoprojlabs","mirror":"c"}]}`, "c/argocd-agent:v0.9.0"},
		"pull":   {"the pull Secret is not ours to copy", `{"pullSecret":"a.b","registries":[]}`, image},
	} {
		registries, err := Registries(c.registries)
		if got := Mirrored(image, registries); err != nil || got != c.want {
			t.Errorf("%s: %s: got %q, %v", name, c.reason, got, err)
		}
	}
	for _, broken := range []string{"{", "[]", `{"registries":{}}`} {
		if got, err := Registries(broken); err == nil {
			t.Errorf("%q became %v", broken, got)
		}
	}
}
