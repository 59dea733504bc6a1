// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/argoredis"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// limit is the container's memory. heapLimit is the smaller limit of Go's heap, from the container's
// environment.
const (
	limit     = 192 << 20
	heapLimit = 172 << 20
)

// oneConfigMap is a client with one ConfigMap, and with Applications without a status.
type oneConfigMap struct {
	client.Client
	requested corev1.ConfigMap
	patched   string
}

func (c *oneConfigMap) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if requested, ok := o.(*corev1.ConfigMap); ok {
		c.requested.DeepCopyInto(requested)
	}
	return nil
}

func (c *oneConfigMap) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	raw, err := p.Data(o)
	c.patched = string(raw)
	return err
}

// reconciler returns a Reconciler with Redis and a ConfigMap that requests Applications.
func reconciler(t *testing.T, applications ...string) (*Reconciler, *oneConfigMap, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	redis, err := argoredis.New(argoredis.Options{Address: server.Addr(), Compression: "gzip"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, 0, len(applications))
	for _, a := range applications {
		all = append(all, fmt.Sprintf("%q:%q", a, "argocd/"+a))
	}
	c := &oneConfigMap{requested: corev1.ConfigMap{Data: map[string]string{request.ApplicationsKey: "{" + strings.Join(all, ",") + "}"}}}
	return &Reconciler{client: c, live: c, redis: redis, argocd: "argocd"}, c, server
}

func store(t *testing.T, server *miniredis.Miniredis, instance string, v view.View) {
	t.Helper()
	for key, value := range map[string][]byte{view.TreeKey(instance, 0): v.Tree, view.ResourcesKey(instance): v.Resources} {
		packed, err := view.Compress(value)
		if err == nil {
			err = server.Set(key+".gz", string(packed))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// list returns a JSON list of almost the maximum size.
func list(begin, end, item string) []byte {
	n := (view.MaxDecoded - len(begin) - len(end)) / (len(item) + 1)
	return []byte(begin + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + end)
}

const pod = `{"version":"v1","kind":"Pod","namespace":"guestbook","name":"guestbook-ui-5b7d9c-x2x4k","uid":"0d1f7a4e-aaaa-bbbb-cccc-dddddddddddd",` +
	`"parentRefs":[{"group":"apps","kind":"ReplicaSet","namespace":"guestbook","name":"guestbook-ui-5b7d9c","uid":"1d1f7a4e-aaaa-bbbb-cccc-dddddddddddd"}],` +
	`"info":[{"name":"Status Reason","value":"Running"},{"name":"Node","value":"node-1"},{"name":"Containers","value":"1/1"}],` +
	`"networkingInfo":{"labels":{"app":"guestbook-ui"}},"resourceVersion":"4711","images":["example.com/guestbook:v1"],"health":{"status":"Healthy"},"createdAt":"2026-01-02T03:04:05Z"}`

// Several trees of the maximum size fit into the container's memory, whatever their content.
func TestReconcile_fitsTheLargestTreesInMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(heapLimit))
	resources := list("[", "]", `{"kind":"ConfigMap","namespace":"guestbook","name":"c","targetState":"{`+strings.Repeat(`\"key\":\"value\",`, 200)+`}"}`)
	for name, item := range map[string]string{"pods": pod, "short nodes": `{"kind":"Pod","name":"p"}`, "empty nodes": `{}`} {
		t.Run(name, func(t *testing.T) {
			r, c, server := reconciler(t, "a", "b")
			for _, instance := range []string{"a", "b"} {
				store(t, server, instance, view.View{Tree: list(`{"nodes":[`, `]}`, item), Resources: resources})
			}
			debug.FreeOSMemory()
			used, err := highest(func() error {
				_, err := r.Reconcile(t.Context(), ctrl.Request{})
				return err
			})
			if err != nil || used > limit {
				t.Errorf("%d MiB, %v", used>>20, err)
			}
			if n := strings.Count(c.patched, "the first 1000 resources only"); n != 2 {
				t.Errorf("%d of 2 views are cut: %.500s", n, c.patched)
			}
		})
	}
}

// highest returns the peak memory of this process while f runs. It fails as soon as the peak is more than
// twice the limit.
func highest(f func() error) (used uint64, err error) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	done := make(chan error, 1)
	go func() { done <- f() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		metrics.Read(samples)
		used = max(used, samples[0].Value.Uint64()-samples[1].Value.Uint64())
		select {
		case err := <-done:
			return used, err
		case <-tick.C:
			if used > 2*limit {
				return used, errors.New("more than twice the limit")
			}
		}
	}
}

// If Redis closes connections, the reconciler tries once, and not for each Application.
func TestReconcile_triesAConnectionOnce(t *testing.T) {
	applications := make([]string, 32)
	for i := range applications {
		applications[i] = fmt.Sprint("a", i)
	}
	r, c, server := reconciler(t, applications...)
	address := server.Addr()
	server.Close()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int64
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			tried.Add(1)
			_ = connection.Close()
		}
	}()
	_, err = r.Reconcile(t.Context(), ctrl.Request{})
	if err := errors.Join(err, listener.Close()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(c.patched, "EOF"); n != len(applications) {
		t.Errorf("%d of %d have the reason: %.500s", n, len(applications), c.patched)
	}
	if n := tried.Load(); n == 0 || n > 4 {
		t.Errorf("%d connections were tried", n)
	}
}
