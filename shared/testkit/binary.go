// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const binaryVariable = "TESTKIT_RUN_BINARY"

// RunBinary runs main instead of the package's tests in a process that [StartBinary] has started.
// TestMain of a binary's own package calls it first.
func RunBinary(main func()) {
	if os.Getenv(binaryVariable) != "" {
		main()
		os.Exit(0)
	}
}

// Binary is a binary of the product in a separate process.
type Binary struct {
	pid            int
	metrics, pprof string
}

// StartBinary starts the binary of the tested package against a hub. The binary is running until
// the test ends.
func StartBinary(t testing.TB, hub *rest.Config, args ...string) *Binary {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"hub": {Server: hub.Host, CertificateAuthorityData: hub.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"hub": {ClientCertificateData: hub.CertData, ClientKeyData: hub.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"hub": {Cluster: "hub", AuthInfo: "hub"}},
		CurrentContext: "hub",
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	p := &Binary{metrics: freeAddress(t), pprof: freeAddress(t)}
	ctx, stop := context.WithCancel(context.Background())
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"--kubeconfig=" + kubeconfig, "--metrics-bind-address=" + p.metrics, "--metrics-secure=false",
		"--pprof-bind-address=" + p.pprof, "--health-probe-bind-address=0", "--zap-log-level=error"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), binaryVariable+"=1"), &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pid = cmd.Process.Pid
	t.Cleanup(func() {
		stop()
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) || out.Len() > 0 {
			t.Logf("the binary ended with %v:\n%s", err, out.String())
		}
	})
	return p
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Metrics returns the sum of each metric over its labels.
func (p *Binary) Metrics() (map[string]float64, error) {
	raw, err := get("http://" + p.metrics + "/metrics")
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
		if _, after, labelled := strings.Cut(rest, "} "); labelled {
			rest = after
		} else {
			name, rest, _ = strings.Cut(name, " ")
		}
		if value, err := strconv.ParseFloat(rest, 64); err == nil {
			sums[name] += value
		}
	}
	return sums, nil
}

// Settle waits until check accepts the metrics and no work is queued or running. It waits long,
// because it is for benchmarks on busy machines.
func (p *Binary) Settle(t testing.TB, what string, check func(metrics map[string]float64) error) {
	t.Helper()
	eventually(t, 5*Patience, 200*time.Millisecond, what, func() error {
		metrics, err := p.Metrics()
		if err != nil {
			return err
		}
		if err := check(metrics); err != nil {
			return err
		}
		if busy := metrics["workqueue_depth"] + metrics["controller_runtime_active_workers"]; busy > 0 {
			return fmt.Errorf("%v requests are queued or worked on", busy)
		}
		return nil
	})
}

// Heap returns the bytes that the process keeps after a garbage collection.
func (p *Binary) Heap(t testing.TB) (live int) {
	t.Helper()
	var raw []byte
	for range 2 { // the second run frees objects that the first run finalized
		var err error
		if raw, err = get("http://" + p.pprof + "/debug/pprof/heap?gc=1&debug=1"); err != nil {
			t.Fatal(err)
		}
	}
	_, value, _ := strings.Cut(string(raw), "# HeapAlloc = ")
	if _, err := fmt.Sscan(value, &live); err != nil {
		t.Fatalf("read the heap profile: %v", err)
	}
	return live
}

// Resident returns the resident memory of the process, or 0 if it is not known.
func (p *Binary) Resident() int { return p.memory("VmRSS:") }

// Peak returns the highest resident memory of the process, or 0 if it is not known.
func (p *Binary) Peak() int { return p.memory("VmHWM:") }

func (p *Binary) memory(line string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0
	}
	_, value, _ := strings.Cut(string(status), line)
	var kibibytes int
	if _, err := fmt.Sscan(value, &kibibytes); err != nil {
		return 0
	}
	return kibibytes << 10
}

// SaveHeap writes the heap profile to a file, for go tool pprof.
func (p *Binary) SaveHeap(path string) error {
	raw, err := get("http://" + p.pprof + "/debug/pprof/heap?gc=1")
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

// local is a client for processes on this machine.
var local = &http.Client{Timeout: Patience}

func get(url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := local.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}
