// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
)

// variable is a row of the table of argocd-agent's settings.
type variable struct{ flag, kind, entry, values string }

func variables(t *testing.T) map[string]variable {
	t.Helper()
	content, err := os.ReadFile("testdata/argocd-agent-" + Version + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]variable{}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			t.Fatalf("%q: want five columns", line)
		}
		known[f[0]] = variable{f[1], f[2], f[3], f[4]}
	}
	return known
}

// decoded returns the manifest with this kind and name in a ManifestWork, or nil.
func decoded[T any](t *testing.T, work *workv1.ManifestWork, kind, name string) *T {
	t.Helper()
	for _, m := range work.Spec.Workload.Manifests {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := json.Unmarshal(m.Raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind == kind && head.Metadata.Name == name {
			o := new(T)
			if err := json.Unmarshal(m.Raw, o); err != nil {
				t.Fatal(err)
			}
			return o
		}
	}
	return nil
}

// This version of argocd-agent reads every setting of the delivered Deployment. Every value has the
// setting's type.
func TestSettings_areReadByTheAgent(t *testing.T) {
	known := variables(t)
	for _, mode := range []string{ModeManaged, ModeAutonomous} {
		w := wanted(t)
		w.Mode = mode
		work := mustWork(t, w, "")
		delivered := decoded[appsv1.Deployment](t, work, "Deployment", DeploymentName)
		data := decoded[corev1.ConfigMap](t, work, "ConfigMap", SettingsName).Data
		c := delivered.Spec.Template.Spec.Containers[0]
		if !slices.Equal(c.Args, []string{"agent"}) || len(c.Command) > 0 {
			t.Errorf("the container runs %q %q; its image's entry point is argocd-agent", c.Command, c.Args)
		}
		told := map[string]string{}
		for _, e := range c.Env {
			row, ok := known[e.Name]
			if !ok {
				t.Errorf("argocd-agent %s reads no variable %s", Version, e.Name)
				continue
			}
			if e.ValueFrom.SecretKeyRef != nil {
				continue
			}
			key := e.ValueFrom.ConfigMapKeyRef.Key
			value, exists := data[key]
			if !exists || row.entry != "-" && row.entry != key {
				t.Errorf("%s is read from entry %q (there: %t), argocd-agent's own manifests call it %s", e.Name, key, exists, row.entry)
			}
			if !row.takes(value) {
				t.Errorf("%s=%q: want %s of %s", e.Name, value, row.kind, row.values)
			}
			told[row.flag] = value
		}
		if len(data) != len(told) {
			t.Errorf("%s mode: the ConfigMap has %d entries and %d are read", mode, len(data), len(told))
		}
		expect(t, mode, told)
	}
}

func (v variable) takes(value string) bool {
	var err error
	switch v.kind {
	case "int":
		_, err = strconv.Atoi(value)
	case "bool":
		_, err = strconv.ParseBool(value)
	}
	return err == nil && (v.values == "-" || slices.Contains(strings.Split(v.values, ","), value))
}

// The settings of a GitOpsCluster reach the agent under the names that argocd-agent reads.
func TestSettings_includeThoseOfTheGitOpsCluster(t *testing.T) {
	known, w := variables(t), wanted(t)
	w.KeepAlive = 50 * time.Second
	w.Settings = v1beta1.AgentSettings{
		AllowedNamespaces: []string{"team-*", "apps"}, CreateNamespace: true,
		Redis: &v1beta1.AgentRedis{Address: "gitops-redis:6379", SecretName: "initial", SecretKey: "password", CASecretName: "redis-ca"},
	}
	work := mustWork(t, w, "")
	data := decoded[corev1.ConfigMap](t, work, "ConfigMap", SettingsName).Data
	got := map[string]string{}
	for _, e := range decoded[appsv1.Deployment](t, work, "Deployment", DeploymentName).Spec.Template.Spec.Containers[0].Env {
		if ref := e.ValueFrom.SecretKeyRef; ref != nil {
			got[known[e.Name].flag] = ref.Name + "/" + ref.Key
			continue
		}
		got[known[e.Name].flag] = data[e.ValueFrom.ConfigMapKeyRef.Key]
	}
	for flag, want := range map[string]string{
		"--allowed-namespaces": "apps,team-*", "--create-namespace": "true", "--keep-alive-ping-interval": "50s", "--redis-addr": "gitops-redis:6379",
		"--redis-password": "initial/password", "--redis-tls-enabled": "true", "--redis-tls-ca-secret-name": "redis-ca",
	} {
		if got[flag] != want {
			t.Errorf("%s is %q, want %q", flag, got[flag], want)
		}
	}
}

// expect compares the settings with those that the principal requires.
func expect(t *testing.T, mode string, told map[string]string) {
	t.Helper()
	want := map[string]string{
		"--server-address": "principal.example.com", "--server-port": "443", "--agent-mode": mode, "--namespace": "argocd",
		"--creds": "mtls:any", "--root-ca-secret-name": "argocd-agent-ca", "--source-uid-mismatch-policy": "upsert",
		"--tls-client-cert": "/app/config/client-certificate/tls.crt", "--tls-client-key": "/app/config/client-certificate/tls.key",
		"--healthz-port": "8001", "--metrics-port": "8181",
		"--destination-based-mapping": "true", "--create-namespace": "false", "--ignore-unmanaged-apps": "true",
	}
	if mode == ModeAutonomous {
		for _, managedOnly := range []string{"--destination-based-mapping", "--create-namespace", "--ignore-unmanaged-apps"} {
			want[managedOnly] = ""
		}
	}
	for flag, value := range want {
		if told[flag] != value {
			t.Errorf("%s mode: %s is %q, want %q", mode, flag, told[flag], value)
		}
	}
}
