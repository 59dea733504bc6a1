// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// eventually is [testkit.Eventually] for a check that returns whether it is met, and the observed
// state.
func eventually(t *testing.T, what string, met func() (bool, string)) {
	t.Helper()
	testkit.Eventually(t, what, func() error {
		if ok, saw := met(); !ok {
			return errors.New(saw)
		}
		return nil
	})
}

// running is a running binary with its own account.
type running struct {
	name, metrics, health, log, kubeconfig, token, reports string
}

// start starts the binaries with the command lines and tokens of the Deployment's containers. It replaces
// ports, folders, the kubeconfig and the namespace of the Lease. propagation gets a short grace period, and
// resourcesync the address of search.
func start(t *testing.T) []running {
	t.Helper()
	reports := t.TempDir()
	// Search authorizes its callers through the hub, so an answer proves resourcesync's one permission there.
	service, err := search.Start(t.Context(), search.Options{Dir: t.TempDir(), Hub: hub, Source: bareClusters{"cluster1", "cluster2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	objects := kustomize(t, "ocm")
	var all []running
	for _, name := range binaries {
		r := identify(t, objects, name)
		r.metrics, r.health, r.reports = freeAddress(t), freeAddress(t), reports
		args := []string{"--kubeconfig=" + r.kubeconfig, "--metrics-bind-address=" + r.metrics, "--health-probe-bind-address=" + r.health}
		for _, arg := range argsOf(t, find(t, objects, "Deployment"), name) {
			if strings.HasPrefix(arg, "--intermediate-dir=") {
				arg = "--intermediate-dir=" + reports
			}
			if arg == "--leader-elect" {
				args = append(args, "--leader-election-namespace="+namespace)
			}
			args = append(args, arg)
		}
		if name == "propagation" {
			args = append(args, "--binding-grace=1s") // the manifests' default of minutes is too long for a test
		}
		if name == "resourcesync" {
			args = append(args, "--search-url="+service.URL(), "--search-ca-file="+service.CAFile(), "--search-token-file="+r.token)
		}
		run := testkit.Command(context.Background(), product(name), args...)
		log, err := os.Create(r.log)
		if err != nil {
			t.Fatal(err)
		}
		run.Stdout, run.Stderr = log, log
		if err := run.Start(); err != nil {
			t.Fatalf("start %s: %v", name, err)
		}
		t.Cleanup(func() { stop(t, run, log, r) })
		all = append(all, r)
	}
	for _, r := range all {
		eventually(t, r.name+" to be ready", func() (bool, string) { return get("http://" + r.health + "/readyz?verbose") })
	}
	return all
}

// bareClusters are managed clusters in search without an Application.
type bareClusters []string

// Run writes the clusters into the table and returns.
func (c bareClusters) Run(_ context.Context, into *table.Table) error {
	for _, name := range c {
		into.Put(memory.Cluster(name))
	}
	return nil
}

// identify writes a container's token, and a kubeconfig that reads it.
func identify(t *testing.T, objects []*unstructured.Unstructured, name string) running {
	t.Helper()
	dir := t.TempDir()
	r := running{name: name, log: filepath.Join(dir, "log"), kubeconfig: filepath.Join(dir, "kubeconfig"), token: filepath.Join(dir, "token")}
	mountToken(t, credentialOf(t, objects, name), r.token)
	config := &rest.Config{Host: hub.Host, TLSClientConfig: rest.TLSClientConfig{CAData: hub.CAData}, BearerTokenFile: r.token}
	if err := writeKubeconfig(config, r.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return r
}

// mountToken acts as the kubelet: it requests a token of the pod's account, or waits until a token Secret is
// filled.
func mountToken(t *testing.T, c credential, file string) {
	t.Helper()
	var token string
	if c.secret == "" {
		token, _ = kubectl(t, "--namespace", namespace, "create", "token", c.account, "--duration=1h")
	} else {
		eventually(t, "Secret "+c.secret+" to hold a token", func() (bool, string) {
			encoded, stderr, err := try(t, tool("kubectl"), "--kubeconfig", kubeconfig, "-n", namespace, "get", "secret", c.secret, "-o", "jsonpath={.data.token}")
			if err != nil || encoded == "" {
				return false, stderr
			}
			decoded, err := base64.StdEncoding.DecodeString(encoded)
			token = string(decoded)
			return err == nil, encoded
		})
	}
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
}

// stop interrupts a binary as the kubelet does. The binary must exit with 0 in time.
func stop(t *testing.T, run *exec.Cmd, log *os.File, r running) {
	_ = run.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(testkit.Patience, func() { _ = run.Process.Kill() })
	err := run.Wait()
	kill.Stop()
	if err != nil {
		t.Errorf("%s did not stop cleanly: %v", r.name, err)
	}
	_ = log.Close()
	if t.Failed() {
		content := readFile(t, r.log)
		t.Logf("log of %s:\n%s", r.name, content[max(0, len(content)-4000):])
	}
}

func applyText(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte("---\n"+text), 0o600); err != nil { // with the dashes, kubectl does not parse flow style as JSON
		t.Fatal(err)
	}
	kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func get(url string) (ok bool, saw string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err.Error()
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return false, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false, err.Error()
	}
	return response.StatusCode == http.StatusOK, response.Status + ": " + string(body)
}
