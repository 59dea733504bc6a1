// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argoredis

import (
	"errors"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// What Redis has is bounded before it is decoded, also where Argo CD does not compress it.
func TestRead_isBounded(t *testing.T) {
	tree := func(size int) string { return `{"nodes":[],"x":"` + strings.Repeat("x", size) + `"}` }
	for name, test := range map[string]struct {
		tree, resources string
		err             error
		cut             bool
	}{
		"a view":                    {tree(1), "[]", nil, false},
		"no tree":                   {"", "[]", ErrNone, false},
		"no managed resources":      {tree(1), "", ErrNone, false},
		"large tree":                {tree(view.MaxDecoded), "[]", view.ErrTooLarge, false},
		"large managed resources":   {tree(1), "[" + strings.Repeat(" ", view.MaxDecoded) + "]", nil, true},
		"the largest tree there is": {tree(view.MaxDecoded - len(tree(0))), "[]", nil, false},
	} {
		for _, compression := range []string{"none", "gzip"} {
			t.Run(name+", "+compression, func(t *testing.T) {
				server := miniredis.RunT(t)
				r, err := New(Options{Address: server.Addr(), Compression: compression}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for key, value := range map[string]string{view.TreeKey("a", 0): test.tree, view.ResourcesKey("a"): test.resources} {
					if value == "" {
						continue
					}
					if r.suffix != "" {
						packed, err := view.Compress([]byte(value))
						if err != nil {
							t.Fatal(err)
						}
						value = string(packed)
					}
					if err := server.Set(key+r.suffix, value); err != nil {
						t.Fatal(err)
					}
				}
				v, err := r.Read(t.Context(), "a")
				if !errors.Is(err, test.err) || (v.Cut != "") != test.cut || err == nil && string(v.Tree) != test.tree {
					t.Errorf("%d bytes of tree, cut %q, %v", len(v.Tree), v.Cut, err)
				}
			})
		}
	}
}

// The shards of a tree are bounded together.
func TestRead_boundsTheSumOfShards(t *testing.T) {
	shard := func(size int) string {
		return `{"nodes":[{"name":"` + strings.Repeat("x", size) + `"}],"shardsCount":4}`
	}
	for name, test := range map[string]struct {
		size int
		err  error
	}{"they fit": {view.MaxDecoded/4 - len(shard(0)), nil}, "they do not": {view.MaxDecoded / 4, view.ErrTooLarge}} {
		t.Run(name, func(t *testing.T) {
			server := miniredis.RunT(t)
			r, err := New(Options{Address: server.Addr(), Compression: "none"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Set(view.ResourcesKey("a"), "[]"); err != nil {
				t.Fatal(err)
			}
			for n := range 4 {
				if err := server.Set(view.TreeKey("a", n), shard(test.size)); err != nil {
					t.Fatal(err)
				}
			}
			v, err := r.Read(t.Context(), "a")
			if !errors.Is(err, test.err) || err == nil && strings.Count(string(v.Tree), `"name"`) != 4 {
				t.Errorf("%d bytes of tree, %v", len(v.Tree), err)
			}
		})
	}
}
