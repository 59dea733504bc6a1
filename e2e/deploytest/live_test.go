// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// patience is how long a named wait may take on a busy machine.
const patience = 90 * time.Second

// eventually waits until met returns true. What it saw last is told on failure.
func eventually(t *testing.T, what string, met func() (bool, string)) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		ok, saw := met()
		if ok {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited %s for %s; last seen: %s", patience, what, saw)
		}
	}
}

// running is a binary at work under its own identity.
type running struct {
	name, metrics, health, log string
}

// start starts the binaries with the command lines of the Deployment, each as a
// ServiceAccount of its own that has its role set and no other. Only what the
// machine decides differs: ports, folder, kubeconfig and the namespace of the lease.
func start(t *testing.T) []running {
	t.Helper()
	bindEachAlone(t)
	bin, reports := buildBinaries(t), t.TempDir()
	// Search decides about its callers by asking the hub, so resourcesync's one right
	// there is proved by an answer.
	service, err := search.Start(t.Context(), search.Options{Hub: hub, Source: memory.Fleet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	deployment := find(t, kustomize(t, "ocm"), "Deployment")
	var all []running
	for _, name := range binaries {
		dir := t.TempDir()
		token, _ := kubectl(t, "--namespace", namespace, "create", "token", name, "--duration=1h")
		file := filepath.Join(dir, "token")
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		config := &rest.Config{Host: hub.Host, TLSClientConfig: rest.TLSClientConfig{CAData: hub.CAData}, BearerTokenFile: file}
		if err := writeKubeconfig(config, filepath.Join(dir, "kubeconfig")); err != nil {
			t.Fatal(err)
		}
		r := running{name: name, metrics: freeAddress(t), health: freeAddress(t), log: filepath.Join(dir, "log")}
		args := []string{"--kubeconfig=" + filepath.Join(dir, "kubeconfig"), "--metrics-bind-address=" + r.metrics, "--health-probe-bind-address=" + r.health}
		for _, arg := range argsOf(t, deployment, name) {
			if strings.HasPrefix(arg, "--intermediate-dir=") {
				arg = "--intermediate-dir=" + reports
			}
			if arg == "--leader-elect" {
				args = append(args, "--leader-election-namespace="+namespace)
			}
			args = append(args, arg)
		}
		if name == "resourcesync" {
			args = append(args, "--search-url="+service.URL(), "--search-ca-file="+service.CAFile(), "--search-token-file="+file)
		}
		run := testkit.Command(context.Background(), filepath.Join(bin, name), args...)
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

// stop asks a binary to end as the kubelet does; it must do so in time and with 0.
func stop(t *testing.T, run *exec.Cmd, log *os.File, r running) {
	_ = run.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(patience, func() { _ = run.Process.Kill() })
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

// bindEachAlone gives each binary an identity with its own role set only.
func bindEachAlone(t *testing.T) {
	t.Helper()
	var objects strings.Builder
	for _, name := range binaries {
		fmt.Fprintf(&objects, "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: %s, namespace: %s}}\n", name, namespace)
	}
	for doc := range strings.SplitSeq(readFile(t, deployPath("base", "rbac", "bindings.yaml")), "\n---\n") {
		for _, name := range binaries {
			if strings.Contains(doc, "name: "+namespace+"-"+name+"\n") {
				objects.WriteString("---\n" + strings.Replace(doc, "    name: "+namespace+"\n", "    name: "+name+"\n", 1) + "\n")
			}
		}
	}
	applyText(t, objects.String())
}

func applyText(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte("---\n"+text), 0o600); err != nil { // the dashes: text may be flow style, which is not JSON
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
