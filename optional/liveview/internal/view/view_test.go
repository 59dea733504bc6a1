// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

const oneNode = `{"nodes":[{"kind":"Deployment","group":"apps","name":"ui","uid":"u-1","info":[{"name":"Revision","value":"Rev:1"}]},
{"kind":"ReplicaSet","group":"apps","name":"ui-1","uid":"u-2","parentRefs":[{"kind":"Deployment","group":"apps","name":"ui","uid":"u-1"}],"aNewerField":{"n":12345678901234567890}}]}`

// send encodes a view and decodes it again, as the observer and the viewer do.
func send(t *testing.T, v View, note string) (View, string) {
	t.Helper()
	blob, message, err := Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	if n := base64.StdEncoding.EncodedLen(len(blob)); n > MaxEncoded {
		t.Errorf("%d bytes, at most %d", n, MaxEncoded)
	}
	got, err := Decode(blob, note)
	if err != nil {
		t.Fatal(err)
	}
	return got, message
}

func TestView_keepsFieldsOfNewerArgoCD(t *testing.T) {
	got, cut := send(t, View{Tree: []byte(oneNode), Resources: []byte(`[{"kind":"Deployment","liveState":"{\"a\":1}","x":1.50}]`), Status: []byte(`{"resources":[{"kind":"Deployment","new":true}],"sync":{"status":"Synced"}}`)}, "")
	if cut != "" {
		t.Errorf("cut: %s", cut)
	}
	for _, want := range []string{`"aNewerField":{"n":12345678901234567890}`, `"value":"Rev:1"`} {
		if !strings.Contains(string(got.Tree), want) {
			t.Errorf("no %s in %s", want, got.Tree)
		}
	}
	if want := `[{"kind":"Deployment","liveState":"{\"a\":1}","x":1.50}]`; string(got.Resources) != want {
		t.Errorf("got %s, want %s", got.Resources, want)
	}
	if want := `{"resources":[{"kind":"Deployment","new":true}]}`; string(got.Status) != want {
		t.Errorf("got %s, want %s", got.Status, want)
	}
}

// Decode removes UIDs, because argocd-server would search the hub for a resource with that UID. A parent
// gets a UID that no resource has. Otherwise argocd's command line would loop forever over a resource that
// is its own parent.
func TestDecode_leavesOutUIDs(t *testing.T) {
	for _, tree := range []string{
		oneNode,
		// argocd-server uses encoding/json, which ignores the case of field names.
		`{"Nodes":[{"kind":"Pod","UID":"u","Uid":"v"}],"nodes":[{"kind":"Pod","UID":"u","parentRefs":[{"uID":"w"}],"ParentRefs":[{"kind":"ReplicaSet"}]}],"ORPHANEDNODES":[{"uid":"x"}]}`,
	} {
		got, _ := send(t, View{Tree: []byte(tree), Resources: []byte("[]")}, "")
		var decoded struct {
			Nodes []struct {
				UID        string
				ParentRefs []struct{ UID string }
			}
		}
		if err := json.Unmarshal(got.Tree, &decoded); err != nil {
			t.Fatal(err)
		}
		for _, n := range decoded.Nodes {
			if n.UID != "" {
				t.Errorf("a UID in %s", got.Tree)
			}
			for _, parent := range n.ParentRefs {
				if parent.UID != noUID {
					t.Errorf("a parent with UID %q in %s", parent.UID, got.Tree)
				}
			}
		}
		if strings.Contains(withoutNoUID(got.Tree), `"uid":`) {
			t.Errorf("a UID in %s", got.Tree)
		}
	}
}

func withoutNoUID(tree []byte) string {
	return strings.ToLower(strings.ReplaceAll(string(tree), `"uid":"`+noUID+`"`, ""))
}

func TestDecode_showsNoteAtTheTopOnly(t *testing.T) {
	got, _ := send(t, View{Tree: []byte(oneNode), Resources: []byte("[]")}, "away")
	if n := strings.Count(string(got.Tree), `{"name":"View","value":"away"}`); n != 1 {
		t.Errorf("%d notes in %s", n, got.Tree)
	}
}

func TestDecode_keepsLinksOfTheWebOnly(t *testing.T) {
	tree := `{"nodes":[{"kind":"Ingress","networkingInfo":{"externalURLs":["https://a.example","javascript:alert(1)","data:text/html,x","http://b.example"," javascript:alert(1)"]}}]}`
	got, _ := send(t, View{Tree: []byte(tree), Resources: []byte("[]")}, "")
	if want := `"externalURLs":["https://a.example","http://b.example"]`; !strings.Contains(string(got.Tree), want) {
		t.Errorf("got %s, want %s", got.Tree, want)
	}
}

func TestEncode_masksSecrets(t *testing.T) {
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": map[string]any{"a": "++++++++", "b": "canary"}, "stringData": map[string]any{"c": "canary"},
		"metadata": map[string]any{
			"name": "s", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "canary", "argocd.argoproj.io/sync-wave": "1"},
			"managedFields": []any{"canary"},
		},
		"status": "canary",
	})
	if err != nil {
		t.Fatal(err)
	}
	resource := map[string]any{"kind": "Secret", "name": "s", "diff": "canary"}
	for _, field := range manifests {
		resource[field] = string(manifest)
	}
	resources, err := json.Marshal([]any{resource, map[string]any{"kind": "Secret", "liveState": "null"}, map[string]any{"kind": "Secret", "group": "example.com", "liveState": "of another group"}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := send(t, View{Tree: []byte(`{}`), Resources: resources}, "")
	if strings.Contains(string(got.Resources), "canary") {
		t.Errorf("a value in %s", got.Resources)
	}
	for _, want := range []string{`\"b\":\"++++++++\"`, `\"argocd.argoproj.io/sync-wave\":\"1\"`, "of another group", `"liveState":"null"`} {
		if !strings.Contains(string(got.Resources), want) {
			t.Errorf("no %s in %s", want, got.Resources)
		}
	}
}

// A Secret may have a text or a list instead of a map by mistake. Encode must mask it, because nothing
// else does.
func TestEncode_masksMalformedSecrets(t *testing.T) {
	for _, manifest := range []string{
		`{"kind":"Secret","stringData":"canary"}`,
		`{"kind":"Secret","data":["canary"]}`,
		`{"kind":"Secret","metadata":{"annotations":"canary"}}`,
		`{"kind":"Secret","metadata":["canary"]}`,
	} {
		resources, err := json.Marshal([]any{map[string]any{"kind": "Secret", "name": "s", "targetState": manifest, "aNewerField": "canary"}})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := send(t, View{Tree: []byte(`{}`), Resources: resources}, "")
		if strings.Contains(string(got.Resources), "canary") {
			t.Errorf("%s: a value in %s", manifest, got.Resources)
		}
	}
}

// A few KiB from a hostile cluster are decompressed and decoded within the viewer's memory.
func TestDecode_isBounded(t *testing.T) {
	const most = 200 << 20 // allocated in total, only a part of it is in use at a time
	fill := func(before, item, after string) []byte {
		n := (MaxDecoded - len(before) - len(after)) / len(item)
		blob, err := Compress([]byte(before + strings.Repeat(item, n-1) + strings.TrimSuffix(item, ",") + after))
		if err != nil {
			t.Fatal(err)
		}
		return blob
	}
	many := strings.Repeat(`{"a":{}},`, MaxValues/4)
	for name, c := range map[string]struct {
		blob    []byte
		refused bool
	}{
		"objects":            {fill(`{"tree":{"nodes":[`, `{},`, `]},"resources":[]}`), true},
		"lists":              {fill(`{"resources":[],"tree":{"a":[`, `[],`, `]}}`), true},
		"numbers":            {fill(`{"resources":[],"tree":{"a":[`, `1,`, `]}}`), true},
		"text for HTML":      {fill(`{"resources":[],"tree":{"a":"`, `<`, `"}}`), false},
		"escaped text":       {fill(`{"resources":[],"tree":{"a":"`, `\u0000`, `"}}`), false},
		"separators":         {fill(`{"resources":[],"tree":{"a":"`, "\u2028", `"}}`), true}, // each is encoded as six bytes
		"as many as allowed": {fill(`{"resources":[],"tree":{"a":[`+strings.TrimSuffix(many, ",")+`],"b":"`, `b`, `"}}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, err := Decode(c.blob, "note")
			runtime.ReadMemStats(&after)
			if (err != nil) != c.refused {
				t.Errorf("error: %v", err)
			}
			if n := len(v.Tree) + len(v.Resources); n > MaxDecoded {
				t.Errorf("%d bytes are written", n)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("%d MiB were allocated for %d bytes", n>>20, len(c.blob))
			}
		})
	}
}

// The tree shows the note, whatever names and links a cluster gives to its resources.
func TestDecode_showsNoteOnHostileTrees(t *testing.T) {
	for _, tree := range []string{
		`{"nodes":[{"kind":"Pod","parentRefs":[{"kind":"Pod"}]}]}`,
		`{"NODES":[{"kind":"Pod"}],"nodes":[{"kind":"Pod"}]}`,
	} {
		got, _ := send(t, View{Tree: []byte(tree), Resources: []byte("[]")}, "old")
		if !strings.Contains(string(got.Tree), `{"name":"View","value":"old"}`) || strings.Contains(string(got.Tree), "NODES") {
			t.Errorf("no note in %s", got.Tree)
		}
	}
}

// Encode cuts a view in steps until it fits. The message and the tree report the missing parts.
func TestEncode_cutsToTheLimit(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[noise.IntN(36)]
		}
		return string(b)
	}
	tree := func(nodes, detail int) []byte {
		list := make([]any, nodes)
		for i := range list {
			list[i] = map[string]any{"kind": "ConfigMap", "name": text(50), "images": []any{text(detail)}}
		}
		raw, err := json.Marshal(map[string]any{"nodes": list})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, c := range []struct {
		name      string
		tree      []byte
		resources string
		cut       string
	}{
		{"fits", tree(10, 10), fmt.Sprintf(`[{"kind":"ConfigMap","liveState":%q}]`, text(1000)), ""},
		{"large manifests", tree(10, 10), fmt.Sprintf(`[{"kind":"ConfigMap","liveState":%q}]`, text(500_000)), "without manifests"},
		{"large details", tree(100, 10_000), `[]`, "without manifests and details"},
		{"many resources", tree(20_000, 10), `[{"kind":"ConfigMap"}]`, "the first 1000 resources only"},
		{"unpacked too large", tree(10, 10), fmt.Sprintf(`[{"kind":"ConfigMap","liveState":%q}]`, strings.Repeat("a", MaxDecoded)), "without manifests"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, cut := send(t, View{Tree: c.tree, Resources: []byte(c.resources)}, "")
			if want := "the view is larger than 256 KiB: " + c.cut; cut != want && cut+c.cut != "" {
				t.Errorf("cut to %q, want %q", cut, c.cut)
			}
			if has := strings.Contains(string(got.Tree), `"cut: `); has != (c.cut != "") {
				t.Errorf("the tree says so: %t", has)
			}
		})
	}
}

// Decode returns an error for invalid data of a managed cluster.
func TestDecode_refuses(t *testing.T) {
	pack := func(raw string) []byte {
		blob, err := Compress([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return blob
	}
	for name, blob := range map[string][]byte{
		"empty":                nil,
		"no gzip":              []byte("abc"),
		"too long":             make([]byte, MaxEncoded/4*3+1),
		"a bomb":               pack(strings.Repeat(" ", 32<<20)),
		"no JSON":              pack("{"),
		"tree of another kind": pack(`{"tree":[],"resources":[]}`),
		"tree null":            pack(`{"tree":null,"resources":[]}`),
		"nodes no list":        pack(`{"tree":{"nodes":{}},"resources":[]}`),
		"node no object":       pack(`{"tree":{"nodes":[1]},"resources":[]}`),
		"resources no list":    pack(`{"tree":{},"resources":{}}`),
		"resource null":        pack(`{"tree":{},"resources":[null]}`),
		"no resources":         pack(`{"tree":{}}`),
		"status no list":       pack(`{"tree":{},"resources":[],"status":{"resources":[1]}}`),
		"status of a word":     pack(`{"tree":{},"resources":[],"status":{"resourceHealthSource":"x"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := Decode(blob, "note"); err == nil {
				t.Errorf("accepted: %s %s", v.Tree, v.Resources)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"tree":` + oneNode + `,"resources":[{}],"status":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		blob, err := Compress(raw)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Decode(blob, "note")
		if err == nil && (!json.Valid(v.Tree) || !json.Valid(v.Resources) || strings.Contains(withoutNoUID(v.Tree), `"uid":`)) {
			t.Errorf("%s %s", v.Tree, v.Resources)
		}
	})
}

func TestKeys_matchArgoCD(t *testing.T) {
	for _, c := range []struct{ channel, instance, version string }{
		{"app|managed-resources|guestbook|1.8.3", "guestbook", "1.8.3"},
		{"app|managed-resources|team_guestbook|2.0", "team_guestbook", "2.0"},
		{"app|managed-resources||1.8.3", "", ""},
		{"app|managed-resources|guestbook", "", ""},
		{"new-revoked-token", "", ""},
	} {
		if instance, version, _ := ParseChannel(c.channel); instance != c.instance || version != c.version {
			t.Errorf("%s: %q %q", c.channel, instance, version)
		}
	}
	for _, namespace := range []string{"argocd", "team"} {
		if ns, name := Application("argocd", Instance("argocd", namespace, "a-b")); ns != namespace || name != "a-b" {
			t.Errorf("%s/%s, want %s/a-b", ns, name, namespace)
		}
	}
	if got := TreeKey("a", 2); got != "app|resources-tree|a|2|1.8.3" {
		t.Error(got)
	}
}

func TestMerge(t *testing.T) {
	first := []byte(`{"nodes":[{"name":"a"}],"shardsCount":3,"hosts":[{"name":"h"}]}`)
	if n, err := Shards(first); err != nil || n != 3 {
		t.Error(n, err)
	}
	got, err := Merge(first, []byte(`{"nodes":[{"name":"b"}]}`), []byte(`{"nodes":null,"orphanedNodes":[{"name":"c"}],"hosts":[{"name":"i"}]}`), []byte(`{"nodes":[ ]}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"hosts":[{"name":"h"},{"name":"i"}],"nodes":[{"name":"a"},{"name":"b"}],"orphanedNodes":[{"name":"c"}],"shardsCount":3}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMerge_refuses(t *testing.T) {
	for _, shard := range []string{`{"nodes":{}}`, `[]`, `{"nodes":[}`, ``} {
		if got, err := Merge([]byte(`{"nodes":[]}`), []byte(shard)); err == nil {
			t.Errorf("%s is taken: %s", shard, got)
		}
	}
}

// If a tree is too large to be decoded, Encode keeps only its first resources.
func TestEncode_decodesTheFirstResourcesOnly(t *testing.T) {
	nodes := strings.TrimSuffix(strings.Repeat(`{"kind":"Pod","info":[]},`, maxRead/3), ",")
	for name, c := range map[string]struct {
		tree  string
		nodes int
		err   bool
	}{
		"large":                      {`{"hosts":[{"name":"h"}],"nodes":[` + nodes + `]}`, maxNodes, false},
		"behind another large list":  {`{"orphanedNodes":[` + nodes + `],"nodes":[{"kind":"Pod"}]}`, 1, false},
		"only others":                {`{"orphanedNodes":[` + nodes + `]}`, 0, false},
		"nodes are no list":          {`{"orphanedNodes":[` + nodes + `],"nodes":{}}`, 0, true},
		"a node is no object":        {`{"nodes":[7,` + nodes + `]}`, 0, true},
		"a list":                     {`[` + nodes + `]`, 0, true},
		"cut off in the first nodes": {`{"hosts":[` + nodes + `],"nodes":[{"kind"`, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			blob, message, err := Encode(View{Tree: []byte(c.tree), Resources: []byte(`[{"kind":"Pod"}]`)})
			if (err != nil) != c.err {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			v, err := Decode(blob, "")
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(v.Tree), `"kind":"Pod"`); n != c.nodes || string(v.Resources) != "[]" || !strings.Contains(message, "the first 1000 resources only") {
				t.Errorf("%d resources, %s, %q", n, v.Resources, message)
			}
			if strings.Contains(string(v.Tree), "hosts") || strings.Contains(string(v.Tree), "orphanedNodes") {
				t.Errorf("it has more than resources: %.300s", v.Tree)
			}
		})
	}
}
