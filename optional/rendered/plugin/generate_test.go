// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/wrap"
)

var update = flag.Bool("update", false, "write the golden files again")

const namespace = `{"name":"namespace","string":"guestbook"}`

// golden has the sources of the ManifestWorks in testdata/NAME.json.
var golden = map[string]application{
	"directory": {path: "guestbook", parameters: `[` + namespace + `,{"name":"create-namespace","string":"true"}]`},
	"helm": {path: "chart", name: "team_guestbook", args: []string{"--executor=guestbook/deployer"}, parameters: `[` + namespace +
		`,{"name":"release","string":"ui"},{"name":"kube-version","string":"1.33.1"},{"name":"values-files","array":["../shared/values.yaml"]},{"name":"values","map":{"image.tag":"v2,v3"}}]`},
	"kustomize": {path: "kustomize", name: "db", parameters: "null"},
}

func TestGenerate_matchesTheGoldenFiles(t *testing.T) {
	for name, app := range golden {
		t.Run(name, func(t *testing.T) {
			out, errs, err := app.generate(t, filepath.Join("testdata", "repository"))
			if err != nil || errs != "" {
				t.Fatalf("%v: %s", err, errs)
			}
			if again, _, err := app.generate(t, filepath.Join("testdata", "repository")); err != nil || again != out {
				t.Errorf("the second run prints something else: %v", err)
			}
			var indented bytes.Buffer
			for _, work := range works(t, out) {
				text, err := json.Marshal(work)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Indent(&indented, text, "", "  "); err != nil {
					t.Fatal(err)
				}
				indented.WriteByte('\n')
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, indented.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), indented.String()); diff != "" {
				t.Errorf("(-%s +got), -update writes it again:\n%s", file, diff)
			}
		})
	}
}

func works(t *testing.T, stream string) []wrap.Work {
	t.Helper()
	var all []wrap.Work
	for decoder := json.NewDecoder(strings.NewReader(stream)); ; {
		var w wrap.Work
		err := decoder.Decode(&w)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("Argo CD cannot read the stream: %v", err)
		}
		all = append(all, w)
	}
}

// A parameter and a flag leave parts out of the output.
func TestGenerate_leavesOut(t *testing.T) {
	chart := golden["helm"]
	out, errs, err := chart.generate(t, filepath.Join("testdata", "repository"))
	if err != nil || !strings.Contains(out, `"kind":"CustomResourceDefinition"`) || !strings.Contains(out, "feedbackScrapeType") {
		t.Fatalf("there is nothing to leave out: %v %s\n%s", err, errs, out)
	}
	chart.parameters = strings.Replace(chart.parameters, "[", `[{"name":"skip-crds","string":"true"},`, 1)
	chart.args = append([]string{"--feedback=poll"}, chart.args...)
	out, errs, err = chart.generate(t, filepath.Join("testdata", "repository"))
	if err != nil || len(works(t, out)) == 0 {
		t.Fatalf("%v: %s", err, errs)
	}
	for _, left := range []string{`"kind":"CustomResourceDefinition"`, "feedbackScrapeType"} {
		if strings.Contains(out, left) {
			t.Errorf("the works have %s", left)
		}
	}
}

const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}"

// An error is one line on stderr, which Argo CD shows. Nothing is printed to stdout, because Argo CD would
// prune the objects that are missing in the output.
func TestGenerate_reportsAnErrorInOneLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  map[string]string
		app    application
		want   string
	}{
		"nothing":     {reason: "Argo CD would prune everything", files: map[string]string{"app/README.md": ""}, want: `nothing was rendered from app: that would remove everything; set parameter allow-empty to "true" to mean it`},
		"onlySkipped": {reason: "the same", files: map[string]string{"app/a.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b, annotations: {helm.sh/hook: test}}}"}, want: "nothing was rendered from app"},
		"secret": {
			reason: "the data are not in the message", files: map[string]string{"app/a.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, stringData: {password: hunter2}}"},
			want: "Secret b/a would stand unencrypted",
		},
		"duplicate":   {reason: "both files are named", files: map[string]string{"app/a.yaml": configMap, "app/b/c.yaml": configMap}, want: "b/c.yaml, document 1: ConfigMap b/a is already in a.yaml, document 1"},
		"notAnObject": {reason: "file and document are named", files: map[string]string{"app/a.yaml": configMap + "\n---\nx: 1"}, want: "a.yaml, document 2: want a Kubernetes object"},
		"noCluster":   {reason: "Argo CD passes an empty destination on", app: application{cluster: "NONE"}, want: "spec.destination.namespace: want the name of the target ManagedCluster"},
		"hub":         {reason: "Argo CD's own namespace is no cluster", app: application{cluster: "argocd"}, want: "spec.destination.namespace: want the name of the target ManagedCluster"},
		"otherHub":    {reason: "wherever Argo CD lives", app: application{cluster: "openshift-gitops", args: []string{"--argocd-namespace=openshift-gitops"}}, want: "spec.destination.namespace: want"},
		"parameter":   {reason: "misspelt", app: application{parameters: `[{"name":"shard","string":"2"}]`}, want: `parameter "shard": want one of `},
		"type":        {reason: "of another type", app: application{parameters: `[{"name":"shards","array":["2"]}]`}, want: "parameter shards: want a whole number from 1 to 256, as a string"},
		"chart":       {reason: "the tool says what is missing", files: map[string]string{"app/Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0, dependencies: [{name: redis, version: 1.0.0, repository: 'https://example.com'}]}"}, app: application{parameters: "[" + namespace + "]"}, want: "helm: "},
		"template":    {reason: "the same", files: map[string]string{"app/Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}", "app/templates/a.yaml": "{{ fail \"no way\" }}"}, app: application{parameters: "[" + namespace + "]"}, want: "no way"},
		"kustomize":   {reason: "the same", files: map[string]string{"app/kustomization.yaml": "resources: [nowhere.yaml]"}, want: "kustomize: "},
		"outside":     {reason: "kustomize may not read what is not below", files: map[string]string{"app/kustomization.yaml": "resources: [../a.yaml]", "a.yaml": configMap}, want: "kustomize: "},
		"release":     {reason: "an Application's name may be too long for Helm", files: map[string]string{"app/Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}"}, app: application{name: strings.Repeat("a", 54), parameters: "[" + namespace + "]"}, want: "parameter release: want a name"},
		"large":       {reason: "alone too large", files: map[string]string{"app/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {x: " + strings.Repeat("x", 2000) + "}}"}, app: application{args: []string{"--size-limit=1Ki"}}, want: "ConfigMap b/a alone has 2097 bytes; a ManifestWork holds 1024"},
		"work":        {reason: "nested", files: map[string]string{"app/a.yaml": "{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: a, namespace: b}}"}, want: "a.yaml, document 1: ManifestWork b/a would deliver from the managed cluster"},
		"flag":        {reason: "a wrong flag is the platform's mistake", app: application{args: []string{"--secrets=maybe"}}, want: "--secrets: want refuse or allow"},
		"limit":       {reason: "the same", app: application{args: []string{"--size-limit=500KiB"}}, want: "--size-limit: want a quantity from 1Ki to 1Mi, such as 500Ki"},
		"executor":    {reason: "the same", app: application{args: []string{"--executor=deployer"}}, want: "--executor: want NAMESPACE/NAME of a ServiceAccount"},
		"feedback":    {reason: "the same", app: application{args: []string{"--feedback=never"}}, want: "--feedback: want watch or poll"},
		"unknownFlag": {reason: "one line, no usage", app: application{args: []string{"--plugin"}}, want: "flag provided but not defined: -plugin"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.files == nil {
				c.files = map[string]string{"app/a.yaml": configMap}
			}
			c.app.path = "app"
			if c.app.cluster == "NONE" {
				c.app.cluster = " "
			}
			out, errs, err := c.app.generate(t, repository(t, c.files))
			if err == nil || out != "" {
				t.Fatalf("%s: accepted: %s", c.reason, out)
			}
			if !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 || len(errs) > 1100 || strings.Contains(errs, "hunter2") {
				t.Errorf("%s: stderr is %q, want %q", c.reason, errs, c.want)
			}
		})
	}
}

// A values file must be in the repository, in any folder.
func TestGenerate_readsValuesFilesOfTheRepository(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(outside, []byte("{message: outside}"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"team/app/Chart.yaml": "{apiVersion: v2, name: a, version: 1.0.0}", "team/app/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: {{ .Values.message }}}}",
		"shared/values.yaml": "message: shared",
	}
	dir := repository(t, files)
	for link, target := range map[string]string{"inside.yaml": "../../shared/values.yaml", "outside.yaml": outside} {
		if err := os.Symlink(target, filepath.Join(dir, "team", "app", link)); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct{ reason, file, want, err string }{
		"shared":   {reason: "above the chart, in the repository", file: "../../shared/values.yaml", want: `"x":"shared"`},
		"link":     {reason: "a link within the repository", file: "inside.yaml", want: `"x":"shared"`},
		"above":    {reason: "another Application's files are near", file: "../../../x/values.yaml", err: "values-files: ../../../x/values.yaml leaves the repository\n"},
		"absolute": {reason: "a file of the sidecar", file: outside, err: "values-files: " + outside + " leaves the repository\n"},
		"linkOut":  {reason: "the same, by a link", file: "outside.yaml", err: "values-files: outside.yaml leaves the repository\n"},
		"missing":  {reason: "misspelt", file: "value.yaml", err: "values-files: value.yaml is not in the repository\n"},
		"url":      {reason: "helm would fetch it", file: "https://example.com/values.yaml", err: "values-files: https://example.com/values.yaml is not in the repository\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			app := application{path: "team/app", parameters: fmt.Sprintf(`[%s,{"name":"values-files","array":[%q]}]`, namespace, c.file)}
			out, errs, _ := app.generate(t, dir)
			if errs != c.err || !strings.Contains(out, c.want) {
				t.Errorf("%s: stderr %q, want %q; stdout %s", c.reason, errs, c.err, out)
			}
		})
	}
}

func TestGenerate_allowsEmptyOutput(t *testing.T) {
	app := application{path: "app", parameters: `[{"name":"allow-empty","string":"true"}]`}
	if out, errs, err := app.generate(t, repository(t, map[string]string{"app/README.md": ""})); err != nil || out != "" {
		t.Errorf("%v: %q %q", err, out, errs)
	}
}

func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
