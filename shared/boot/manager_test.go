// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	config *rest.Config
	plain  = &http.Transport{DisableKeepAlives: true}
)

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) error {
		config = c
		return nil
	})
}

func TestReadiness_needsSyncedCaches(t *testing.T) {
	health := freeAddress(t)
	start(t, config, Options{HealthProbeBindAddress: health, MetricsBindAddress: "0"})
	testkit.Eventually(t, "ready", func() error { return get(plain, "http://"+health+"/readyz", 200) })
	if err := get(plain, "http://"+health+"/healthz", 200); err != nil {
		t.Error(err)
	}
}

func TestReadiness_failsWithoutRights(t *testing.T) {
	health := freeAddress(t)
	unauthorized := rest.CopyConfig(config)
	unauthorized.Impersonate.UserName = "nobody"
	start(t, unauthorized, Options{HealthProbeBindAddress: health, MetricsBindAddress: "0"})
	testkit.Eventually(t, "alive", func() error { return get(plain, "http://"+health+"/healthz", 200) })
	if err := get(plain, "http://"+health+"/readyz", 500); err != nil {
		t.Error(err)
	}
}

func TestSecureMetrics_requireACaller(t *testing.T) {
	dir := t.TempDir()
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": certPEM, "tls.key": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	for rest := certPEM; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		roots.AddCert(c)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)

	metrics := freeAddress(t)
	start(t, config, Options{HealthProbeBindAddress: "0", MetricsBindAddress: metrics, MetricsSecure: true, MetricsCertDir: dir})
	for _, path := range []string{"/metrics", "/log-level"} {
		testkit.Eventually(t, "refusal of "+path, func() error { return get(transport, "https://"+metrics+path, 401) })
	}
}

// start runs a manager that watches ConfigMaps until the test ends.
func start(t *testing.T, config *rest.Config, o Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	env := &Env{Program: program, Options: o, Config: config, Log: logr.Discard(), Level: zap.NewAtomicLevel()}
	mgr, err := NewManager(ctx, env, Kinds{Scheme: scheme.Scheme, Warm: []client.Object{&corev1.ConfigMap{}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
}

func get(transport http.RoundTripper, url string, want int) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("GET %s: status %d, want %d: %s", url, response.StatusCode, want, body)
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
