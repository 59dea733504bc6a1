// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	cases := map[string]struct {
		reason, text string
		want         []string // the objects as JSON
		err          string
	}{
		"empty":     {reason: "an empty file holds nothing", text: ""},
		"comments":  {reason: "nor does one of comments and separators", text: "# a\n---\n---\n# b\n---\n"},
		"documents": {reason: "several documents, with and without separators around", text: "---\n" + object + "\n---\n" + object + "\n---\n", want: []string{object, object}},
		"json":      {reason: "JSON, indented by tabs", text: "{\n\t\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\"}\n}\n", want: []string{object}},
		"list":      {reason: "a list is taken apart, within a list too", text: `{apiVersion: v1, kind: List, items: [` + object + `, {apiVersion: v1, kind: ConfigMapList, items: [` + object + `]}]}`, want: []string{object, object}},
		"emptyList": {reason: "a list may be empty", text: `{apiVersion: v1, kind: List, items: []}`},
		"crlf":      {reason: "an editor on another system", text: strings.ReplaceAll("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n", "\n", "\r\n"), want: []string{object}},
		"nulls": {
			reason: "one null that the API server drops makes an Application OutOfSync for ever",
			text:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null, labels: null}, data: null, list: [{x: null}, null]}`,
			want:   []string{`{"apiVersion":"v1","kind":"ConfigMap","list":[{},null],"metadata":{"name":"a"}}`},
		},
		"status": {
			reason: "the status is the cluster's", text: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, status: {ready: true}}`, want: []string{object},
		},
		"embeddedStatus": {
			reason: "what marshalling a Go type leaves in a volume claim template",
			text:   `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {}, status: {}}]}}`,
			want:   []string{`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{}}]}}`},
		},
		"fieldsNamedStatus": {
			reason: "a field may be called status: the subresource of a definition, a key of a ConfigMap",
			text:   `{apiVersion: v1, kind: X, metadata: {name: a}, data: {status: open}, subresources: {status: {}}, properties: {metadata: {}, spec: {}, status: {type: object}}}`,
			want: []string{`{"apiVersion":"v1","data":{"status":"open"},"kind":"X","metadata":{"name":"a"},` +
				`"properties":{"metadata":{},"spec":{},"status":{"type":"object"}},"subresources":{"status":{}}}`},
		},
		"numbers": {
			reason: "numbers are handed on as they are written", text: `{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"n":[9007199254740993,1.50,1e3]}`,
			want: []string{`{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"n":[9007199254740993,1.50,1e3]}`},
		},

		"notYAML":      {reason: "the document helps to find it", text: object + "\n---\na: b: c\n", err: "f, document 2: yaml: mapping values are not allowed in this context"},
		"text":         {reason: "not an object", text: "hello", err: "f, document 1: want a Kubernetes object"},
		"values":       {reason: "a values file is YAML, too", text: "replicas: 3", err: "f, document 1: want a Kubernetes object with apiVersion, kind and metadata"},
		"apiVersion":   {reason: "two slashes", text: `{apiVersion: a/b/c, kind: X, metadata: {name: a}}`, err: "f, document 1: want a Kubernetes object with apiVersion, kind and metadata"},
		"generateName": {reason: "each render would be another object", text: `{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}`, err: "f, document 1: Pod: want metadata.name as a string; generateName cannot be delivered"},
		"numberAsName": {reason: "YAML makes a number of it", text: `{apiVersion: v1, kind: Pod, metadata: {name: 1}}`, err: "f, document 1: Pod: want metadata.name as a string; generateName cannot be delivered"},
		"namespace":    {reason: "the same", text: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 1}}`, err: "f, document 1: Pod a: want metadata.namespace as a string"},
		"annotation":   {reason: "the API server would refuse the whole work", text: `{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {x: 1}}}`, err: "f, document 1: Pod: want metadata.annotations[x] as a string, in quotes"},
		"labels":       {reason: "the same", text: `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: [x]}}`, err: "f, document 1: Pod: want metadata.labels as a map"},
		"item":         {reason: "the item is named", text: `{apiVersion: v1, kind: List, items: [` + object + `, {data: {}}]}`, err: "f, document 1, item 2: want a Kubernetes object with apiVersion, kind and metadata"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			manifests, err := Decode("f", []byte(c.text))
			if got := errorText(err); got != c.err {
				t.Fatalf("%s: error %q, want %q", c.reason, got, c.err)
			}
			var got []string
			for _, m := range manifests {
				text, err := json.Marshal(m.Object)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(text))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// Decode either returns manifests or an error with the document's position. A returned manifest can be
// written and decoded again without a change.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"---\na: &a {b: *a}\n", "apiVersion: v1\nkind: List\nitems: [null, {apiVersion: v1, kind: X, metadata: {name: a, annotations: {a: b}}}]\n---\n{}",
		"{\"apiVersion\":\"v1\",\"kind\":\"X\",\"metadata\":{\"name\":\"a\"}}{\"apiVersion\":\"v1\"}", "\xff\xfe", "a: !!binary x", "? [a]: b", "\t{}", "--- |\n text\n...\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		manifests, err := Decode("f", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f, document ") {
				t.Fatalf("the error does not say where: %v", err)
			}
			return
		}
		for i := range manifests {
			first, err := json.Marshal(manifests[i].Object)
			if err != nil {
				t.Fatalf("%s cannot be written: %v", &manifests[i], err)
			}
			again, err := Decode("f", first)
			if err != nil || len(again) != 1 {
				t.Fatalf("%s is read as %d objects: %v", first, len(again), err)
			}
			second, err := json.Marshal(again[0].Object)
			if err != nil || string(first) != string(second) {
				t.Fatalf("read again, %s becomes %s: %v", first, second, err)
			}
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
