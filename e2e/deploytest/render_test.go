// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// namespace is the namespace of the pod.
const namespace = "multicluster-integrations"

// binaries are the names of the three containers and of their modules.
var binaries = []string{"propagation", "resourcesync", "aggregation"}

// variants are the overlays, and the chart's values, or files of values, that must render the same.
var variants = []struct {
	overlay string
	values  []string
}{
	{"ocm", nil},
	{"ha", []string{"replicas=2"}},
	{"rhacm", []string{"values-rhacm.yaml"}},
	{"rhacm-ha", []string{"values-rhacm.yaml", "replicas=2"}},
}

func deployPath(elements ...string) string {
	return filepath.Join(append([]string{testkit.Root(), "deploy"}, elements...)...)
}

// run runs a program and returns its output. If the program fails, the test ends.
func run(t *testing.T, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := try(t, name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, stdout, stderr)
	}
	return stdout, stderr
}

func try(t *testing.T, name string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	command := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) // clean-ups run after the context's end
	command.Dir, command.Stdout, command.Stderr = testkit.Root(), &out, &errs
	err = command.Run()
	return out.String(), errs.String(), err
}

func tool(name string) string { return filepath.Join(testkit.Root(), "bin", name) }

// kustomize renders an overlay with components.
func kustomize(t *testing.T, overlay string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	return shipped(t, filepath.Join("overlays", overlay), components...)
}

// shipped renders a folder of deploy with components.
func shipped(t *testing.T, folder string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := env.Render(t.Context(), testkit.Root(), folder, components...)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func helmArgs(verb, namespace string, values ...string) []string {
	args := []string{verb, "multicluster-integrations", deployPath("chart"), "--namespace", namespace, "--kube-version", "1.34.0"}
	for _, v := range values {
		if strings.HasSuffix(v, ".yaml") {
			args = append(args, "--values", deployPath("chart", v))
			continue
		}
		args = append(args, "--set", v)
	}
	return args
}

// chart renders the chart.
func chart(t *testing.T, values ...string) []*unstructured.Unstructured {
	t.Helper()
	return chartIn(t, namespace, values...)
}

// chartIn renders the chart for a namespace.
func chartIn(t *testing.T, namespace string, values ...string) []*unstructured.Unstructured {
	t.Helper()
	out, _ := run(t, tool("helm"), helmArgs("template", namespace, values...)...)
	return parse(t, out)
}

func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("parse rendered manifests: %v", err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func identity(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s %s/%s", o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), o.GetName())
}

func byIdentity(t *testing.T, objects []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any, len(objects))
	for _, o := range objects {
		if _, twice := all[identity(o)]; twice {
			t.Errorf("%s is rendered twice", identity(o))
		}
		all[identity(o)] = o.Object
	}
	return all
}

// find returns the first object of a kind.
func find(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind {
			return o
		}
	}
	t.Fatalf("no %s is rendered", kind)
	return nil
}
