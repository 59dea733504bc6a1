// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub *rest.Config

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) error {
		hub = c
		return nil
	})
}

// searching is a minimal search service with one Application on cluster1.
func searching(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answer := `{"data":{"searchResult":[{"count":1,"items":[{"_uid":"cluster1/a","cluster":"cluster1","kind":"Application","apigroup":"argoproj.io","apiversion":"v1alpha1","namespace":"argocd","name":"app","healthStatus":"Healthy","syncStatus":"Synced","_hostingResource":"ApplicationSet/default/guestbook"}],` +
		`"related":[{"kind":"ConfigMap","items":[{"_uid":"cluster1/c","cluster":"cluster1","kind":"ConfigMap","apiversion":"v1","namespace":"n","name":"config","_relatedUids":["cluster1/a"]}]},{"kind":"Cluster","items":[{"_uid":"cluster__cluster1","cluster":"cluster1","kind":"Cluster","name":"cluster1","_relatedUids":["cluster1/a"]}]}]}]}}`
	switch {
	case strings.Contains(string(body), "searchComplete"):
		answer = `{"data":{"searchComplete":["cluster1"]}}`
	case strings.Contains(string(body), `"Cluster"`):
		answer = `{"data":{"searchResult":[{"count":1,"items":[{"_uid":"cluster__cluster1","kind":"Cluster","name":"cluster1","cluster":"cluster1"}]}]}}`
	}
	_, _ = io.WriteString(w, answer)
}

func object(kind, version, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func TestRun(t *testing.T) {
	c, err := client.New(hub, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set := object("ApplicationSet", "argoproj.io/v1alpha1", "default", "guestbook")
	set.Object["spec"] = map[string]any{"generators": []any{}, "template": map[string]any{
		"metadata": map[string]any{}, "spec": map[string]any{"destination": map[string]any{}, "project": "default"},
	}}
	cluster := object("ManagedCluster", "cluster.open-cluster-management.io/v1", "", "cluster1")
	for _, o := range []client.Object{set, cluster} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}

	dir := t.TempDir()
	server := httptest.NewUnstartedServer(http.HandlerFunc(searching))
	address := server.Listener.Addr().String()
	if err := server.Listener.Close(); err != nil { // the search service does not run yet
		t.Fatal(err)
	}
	health := freeAddress(t)
	store := intermediate.NewStore(filepath.Join(dir, "reports"))
	stop := start(t, health, "--intermediate-dir="+filepath.Join(dir, "reports"), "--search-url=https://"+address+"/searchapi/graphql",
		"--search-ca-file="+filepath.Join(dir, "ca.crt"), "--search-token-file="+filepath.Join(dir, "token"), "--search-interval=1s")

	testkit.Eventually(t, "ready without search", func() error { return ready(t, health) })
	if keys, err := store.List(); err != nil || len(keys) != 0 {
		t.Errorf("reports without search: %v, %v", keys, err)
	}

	if server.Listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	defer server.Close()
	write(t, filepath.Join(dir, "token"), []byte("a-token"))
	write(t, filepath.Join(dir, "ca.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	testkit.Eventually(t, "the report once search is there", func() error {
		r, err := store.Read("default", "guestbook")
		if err != nil {
			return err
		}
		if len(r.Applications) != 1 || len(r.Applications[0].Resources) != 1 || r.Applications[0].StaleSince != nil {
			return fmt.Errorf("report %+v", r)
		}
		return nil
	})

	if err := c.Delete(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the file to go with its ApplicationSet", func() error {
		if _, err := store.Read("default", "guestbook"); !errors.Is(err, intermediate.ErrNone) {
			return fmt.Errorf("still there: %w", err)
		}
		return nil
	})

	if err := os.RemoveAll(filepath.Join(dir, "reports")); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "not ready without a directory", func() error {
		if ready(t, health) == nil {
			return errors.New("ready")
		}
		return nil
	})
	stop()
}

func start(t *testing.T, health string, args ...string) (stop func()) {
	t.Helper()
	command := New()
	var o boot.Options
	if err := boot.Flags(Program(), command, &o).Parse(append(args, "--health-probe-bind-address="+health, "--metrics-bind-address=0")); err != nil {
		t.Fatal(err)
	}
	if err := command.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- command.Run(ctx, &boot.Env{Program: Program(), Options: o, Config: hub, Log: logr.Discard()})
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

var probe = &http.Client{Timeout: testkit.Patience}

func ready(t *testing.T, address string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := probe.Do(r)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
