// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
)

func TestWorks_haveALimitedSize(t *testing.T) {
	definition := func(bytes int) string {
		return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d%d}, x: %s}", bytes, strings.Repeat("x", bytes))
	}
	cases := map[string]struct {
		reason    string
		manifests []manifest.Manifest
		change    func(*Options)
		works     int
		err       string
	}{
		"full":     {reason: "as many as may be", manifests: configMaps(t, 400, 0), works: 1},
		"crowded":  {reason: "one more, and what would help", manifests: configMaps(t, 401, 0), err: `ManifestWork ui would hold 37183 bytes in 401 manifests; it can hold 512000 bytes in 400 manifests; set parameter shards to "2"; where some of it is delivered already, do that before it grows, with shards-before "1"`},
		"heavy":    {reason: "too many bytes", manifests: configMaps(t, 60, 10000), err: `ManifestWork ui would hold 605930 bytes in 60 manifests; it can hold 512000 bytes in 400 manifests; set parameter shards to "2"; where some of it is delivered already, do that before it grows, with shards-before "1"`},
		"advised":  {reason: "what was advised does", manifests: configMaps(t, 60, 10000), change: func(o *Options) { o.Shards = 2 }, works: 2},
		"changing": {reason: "both numbers have to fit", manifests: configMaps(t, 60, 10000), change: func(o *Options) { o.Shards, o.ShardsBefore = 2, 1 }, err: "ManifestWork ui would hold 605930 bytes in 60 manifests; it can hold 512000 bytes in 400 manifests; with shards-before a work holds what it held as well: change the number of shards before it grows"},
		"alone":    {reason: "no number of shards would help", manifests: configMaps(t, 1, 600000), err: "ConfigMap a/c0 alone has 600099 bytes; a ManifestWork holds 512000"},
		"together": {reason: "definitions stay together", manifests: read(t, definition(400000)+"\n---\n"+definition(400001)), err: "ManifestWork ui would hold 800231 bytes in 2 manifests; it can hold 512000 bytes in 400 manifests; no number of shards would do: make the source smaller, or give some of its manifests another sync wave, with parameter waves-before in the same commit"},
		"escaped":  {reason: "what the API server escapes counts as it is counted there", manifests: read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {x: \""+strings.Repeat("<", 90000)+"\"}}"), err: "ConfigMap b/a alone has 540098 bytes; a ManifestWork holds 512000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			works, err := Works(c.manifests, options(c.change))
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%s: error %v, want %s", c.reason, err, c.err)
				}
				return
			}
			if err != nil || len(works) != c.works {
				t.Errorf("%s: %d works, error %v", c.reason, len(works), err)
			}
		})
	}
}

// A manifest's ManifestWork depends only on the manifest. Additional manifests do not move it.
func TestShards_keepManifestsInPlace(t *testing.T) {
	eight := options(func(o *Options) { o.Shards = 8 })
	before, err := Works(configMaps(t, 50, 0), eight)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Works(configMaps(t, 100, 0), eight)
	if err != nil {
		t.Fatal(err)
	}
	grown := contents(t, after)
	if len(grown) != 8 {
		t.Errorf("100 manifests are spread over %d of 8 works", len(grown))
	}
	for name, had := range contents(t, before) {
		for _, m := range had {
			if !slices.Contains(grown[name], m) {
				t.Errorf("%s is no longer in %s", m, name)
			}
		}
	}
}

// While the number of shards changes, each manifest is in both its old and its new ManifestWork. So no
// moment exists at which it is in none.
func TestShards_changeWithoutAGap(t *testing.T) {
	for _, change := range [][2]int{{1, 8}, {4, 8}, {3, 8}, {8, 3}, {8, 1}} {
		t.Run(fmt.Sprint(change), func(t *testing.T) {
			in := func(shards, before int) map[string][]string {
				works, err := Works(configMaps(t, 60, 0), options(func(o *Options) { o.Shards, o.ShardsBefore = shards, before }))
				if err != nil {
					t.Fatal(err)
				}
				return contents(t, works)
			}
			before, during, after := in(change[0], 0), in(change[1], change[0]), in(change[1], 0)
			for _, end := range []map[string][]string{before, after} {
				for name, manifests := range end {
					for _, m := range manifests {
						if !slices.Contains(during[name], m) {
							t.Errorf("meanwhile %s is not in %s", m, name)
						}
					}
				}
			}
			for name, manifests := range during {
				for i, m := range manifests {
					if slices.Contains(manifests[:i], m) {
						t.Errorf("%s is twice in %s", m, name)
					}
				}
			}
		})
	}
}

// Manifests with names that differ by a number are spread evenly over all shards. An empty shard would make
// the others too large.
func TestShards_areEven(t *testing.T) {
	const each = 60
	for n := 2; n <= 8; n++ {
		works, err := Works(configMaps(t, n*each, 0), options(func(o *Options) { o.Shards = n }))
		if err != nil {
			t.Fatal(err)
		}
		if len(works) != n {
			t.Errorf("%d of %d shards hold anything", len(works), n)
		}
		for _, w := range works {
			if held := len(w.Spec.Workload.Manifests); held < each/2 || held > each*3/2 {
				t.Errorf("of %d shards %s holds %d manifests, want some %d", n, w.Name, held, each)
			}
		}
	}
}

func TestShards_putNamespacesAndDefinitionsFirst(t *testing.T) {
	text := "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n---\n" +
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: c}}"
	works, err := Works(read(t, text), options(func(o *Options) { o.Shards = 50 }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{name("ui", "-s0"): {"Namespace a", "Namespace b", "CustomResourceDefinition c"}}, contents(t, works)); diff != "" {
		t.Errorf("works (-want +got):\n%s", diff)
	}
}
