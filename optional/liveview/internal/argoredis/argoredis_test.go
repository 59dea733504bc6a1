// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argoredis

import (
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// An Argo CD in another namespace has its Redis there.
func TestNew_connectsToTheRedisOfTheNamespace(t *testing.T) {
	for args, want := range map[string]string{
		"":                          "argocd-redis.argocd.svc:6379",
		"--argocd-namespace=gitops": "argocd-redis.gitops.svc:6379",
		"--argocd-namespace=gitops --redis=redis.example.com:6380": "redis.example.com:6380",
	} {
		var o Options
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		o.BindFlags(fs)
		if err := errors.Join(fs.Parse(strings.Fields(args)), o.Validate()); err != nil {
			t.Fatal(err)
		}
		r, err := New(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.client.Options().Addr; got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

// Read limits the size of the data from Redis before it decodes them, with and without compression.
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

// Read limits the total size of all shards of a tree.
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

// Read explains why an Application has no tree. It lists all keys of Redis only once for many Applications.
func TestRead_explainsWhyThereIsNoTree(t *testing.T) {
	instances := map[string]string{"new": "", "foreign": "app|resources-tree|foreign|9.9.9.gz", "sharded": "app|resources-tree|sharded|1|9.9.9", "plain": "app|resources-tree|plain|1.8.3"}
	server := miniredis.RunT(t)
	scans := 0
	server.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if command == "SCAN" {
			scans++
		}
		return false
	})
	r, err := New(Options{Address: server.Addr(), Compression: "gzip"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range instances {
		if key == "" {
			continue
		}
		if err := server.Set(key, "{}"); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		for instance, key := range instances {
			_, err := r.Read(t.Context(), instance)
			if key == "" && !errors.Is(err, ErrNone) || key != "" && (err == nil || !strings.Contains(err.Error(), "found "+key+" in Redis")) {
				t.Errorf("%s: %v", instance, err)
			}
		}
	}
	if scans != 1 {
		t.Errorf("all keys were listed %d times", scans)
	}
}

// foreignKey lists the keys again after a while, because Argo CD may have been updated.
func TestForeignKey_listsAgain(t *testing.T) {
	server, now := miniredis.RunT(t), time.Now()
	r, err := New(Options{Address: server.Addr(), Compression: "gzip"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stored string
		after  time.Duration
		want   string
	}{{"", 0, ""}, {"app|resources-tree|a|9", time.Second, ""}, {"", rescan, "app|resources-tree|a|9"}} {
		if c.stored != "" {
			if err := server.Set(c.stored, ""); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := r.foreignKey(t.Context(), "a", now.Add(c.after)); err != nil || got != c.want {
			t.Errorf("after %s: %q, %v", c.after, got, err)
		}
	}
}

// Only the record of another process suspends a view. The process itself may have lost Redis' reply to Begin, or End may
// have failed.
func TestBegin_refusesOnlyWhatAnotherProcessLeft(t *testing.T) {
	server, lost := miniredis.RunT(t), false
	r, err := New(Options{Address: server.Addr(), Compression: "gzip"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Server().SetPreHook(func(peer *miniserver.Peer, command string, args ...string) bool {
		if command != "SET" || lost {
			return false
		}
		lost = true
		if err := server.Set(args[0], args[1]); err != nil {
			t.Error(err)
		}
		peer.Close() // Redis has the record, and its reply is lost
		return true
	})
	for _, when := range []string{"after a lost reply", "after a failed End"} {
		if ok, err := r.Begin(t.Context(), "a"); err != nil || !ok || !lost {
			t.Errorf("%s: %t, %v, a reply was lost: %t", when, ok, err, lost)
		}
	}
	next, err := New(Options{Address: server.Addr(), Compression: "gzip"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := next.Begin(t.Context(), "a"); err != nil || ok {
		t.Errorf("the next process: %t, %v", ok, err)
	}
	if err := r.End(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if ok, err := next.Begin(t.Context(), "a"); err != nil || !ok {
		t.Errorf("after End: %t, %v", ok, err)
	}
}
