// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

const clientSecret = "mci-argocd-agent-open-cluster-management.io-mci-argocd-agent-client-cert"

// subject is what a cluster's client certificate was issued for.
func (p *pair) subject(ctx context.Context, c *env.Cluster) (string, error) {
	secret := &corev1.Secret{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: clientSecret}, secret); err != nil {
		return "", err
	}
	block, _ := pem.Decode(secret.Data["tls.crt"])
	if block == nil {
		return "", errors.New("no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", err
	}
	return certificate.Subject.String(), nil
}

// access is what a cluster Secret gives the hub's Argo CD.
type access struct {
	server           *url.URL
	ca               *x509.CertPool
	pair             tls.Certificate
	certificate, key []byte
}

func (p *pair) access(ctx context.Context, cluster string) (a access, err error) {
	secret := &corev1.Secret{}
	if err := p.hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: cluster + "-cluster-secret"}, secret); err != nil {
		return a, err
	}
	var config struct {
		TLSClientConfig struct{ CAData, CertData, KeyData []byte }
	}
	if err := json.Unmarshal(secret.Data["config"], &config); err != nil {
		return a, err
	}
	if a.server, err = url.Parse(string(secret.Data["server"])); err != nil {
		return a, err
	}
	c := config.TLSClientConfig
	a.ca, a.certificate, a.key = x509.NewCertPool(), c.CertData, c.KeyData
	if !a.ca.AppendCertsFromPEM(c.CAData) {
		return a, errors.New("the cluster Secret has no CA")
	}
	a.pair, err = tls.X509KeyPair(c.CertData, c.KeyData)
	return a, err
}

// do sends a request through the resource proxy, on a connection of its own.
func (a access) do(ctx context.Context, method, path, agent, body string) (status int, answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	target := *a.server
	target.Path = path
	if agent != "" {
		target.RawQuery = url.Values{"agentName": {agent}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	transport := &http.Transport{
		DisableKeepAlives: true,
		// what the name of the Service stands for
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", a.server.Port()))
		},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: a.ca, Certificates: []tls.Certificate{a.pair}},
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() // nothing was written
	content, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, string(content), err
}

const (
	guestbook = "/apis/apps/v1/namespaces/guestbook/deployments/guestbook-ui"
	config    = "/api/v1/namespaces/guestbook/configmaps/guestbook-config"
)

func (p *pair) resourceProxy(ctx context.Context) (string, error) {
	first, second := p.fleet.Managed[0].Name, p.fleet.Managed[1].Name
	own, err := p.access(ctx, first)
	if err != nil {
		return "", err
	}
	for _, try := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/version", "", 200},
		{"GET", guestbook, "", 200},
		{"PATCH", guestbook, `{"metadata":{"annotations":{"restarted":"by-the-hub"}}}`, 200},
		{"DELETE", config, `{"kind":"DeleteOptions","apiVersion":"v1"}`, 200},     // as client-go sends it: without, the agent fails
		{"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin", "", 403}, // not in role admin
	} {
		status, answer, err := own.do(ctx, try.method, try.path, "", try.body)
		if err != nil {
			return "", err
		}
		if status != try.want {
			return "", fmt.Errorf("%s %s: %d, want %d: %.300s", try.method, try.path, status, try.want, answer)
		}
	}
	// Each certificate leads to its own cluster, whatever the query says.
	other, err := p.access(ctx, second)
	if err != nil {
		return "", err
	}
	if _, answer, err := other.do(ctx, "GET", guestbook, first, ""); err != nil {
		return "", err
	} else if strings.Contains(answer, "by-the-hub") {
		return "", fmt.Errorf("the certificate for %s reads %s: %.300s", second, first, answer)
	}
	stranger := own
	certificate, key, err := selfSigned(first)
	if err != nil {
		return "", err
	}
	if stranger.pair, err = tls.X509KeyPair(certificate, key); err != nil {
		return "", err
	}
	if status, _, err := stranger.do(ctx, "GET", "/version", "", ""); err == nil {
		return "", fmt.Errorf("a certificate of nobody is answered %d", status)
	}
	return "", p.tree(ctx, p.fleet.Managed[0], "guestbook-"+first, "guestbook-"+first)
}

// tree compares what the Redis proxy has of the resource tree of an Application, under the
// name by which the hub knows it, with what is in the cluster's Redis.
func (p *pair) tree(ctx context.Context, c *env.Cluster, name, hubs string) error {
	own, proxy := redis.NewClient(&redis.Options{Addr: c.Redis}), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer own.Close()
	defer proxy.Close()
	return env.WaitFor(ctx, 30*time.Second, "the tree of "+hubs+" through the Redis proxy", func(ctx context.Context) (bool, string) {
		keys, err := own.Keys(ctx, "app|resources-tree|"+name+"|*").Result()
		if err != nil || len(keys) != 1 {
			return false, fmt.Sprint(keys, err)
		}
		want, err := own.Get(ctx, keys[0]).Bytes()
		if err != nil {
			return false, err.Error()
		}
		got, err := proxy.Get(ctx, strings.Replace(keys[0], name, hubs, 1)).Bytes()
		return err == nil && bytes.Equal(got, want), fmt.Sprintf("%d bytes of %d, %v", len(got), len(want), err)
	})
}

// counts are the outcomes of requests.
type counts struct {
	mu  sync.Mutex
	all map[string]int
}

// outcome names what became of a request. What the principal's absence explains is no
// refusal of TLS.
func outcome(status int, err error) string {
	switch {
	case err == nil:
		return fmt.Sprint(status)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "principal down"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "x509: "):
		return "TLS: " + err.Error()
	default:
		return err.Error()
	}
}

// newCA asks for a new CA and sends ten requests a second until all is done.
func (p *pair) newCA(ctx context.Context) (string, error) {
	ca := &corev1.Secret{}
	key := client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: "argocd-agent-ca"}
	if err := p.hub.Get(ctx, key, ca); err != nil {
		return "", err
	}
	before := bytes.TrimSpace(ca.Data["ca.crt"])
	seen := counts{all: map[string]int{}}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 0; sending.Err() == nil; i++ {
			cluster := p.fleet.Managed[i%len(p.fleet.Managed)].Name
			running.Go(func() {
				a, err := p.access(ctx, cluster)
				status := 0
				if err == nil {
					status, _, err = a.do(ctx, "GET", guestbook, "", "")
				}
				seen.mu.Lock()
				defer seen.mu.Unlock()
				seen.all[outcome(status, err)]++
			})
			select {
			case <-sending.Done():
			case <-tick.C:
			}
		}
	})
	began := time.Now()
	if err := p.annotate(ctx, managed, "rotate-ca", "once"); err != nil {
		return "", err
	}
	err := env.Wait(ctx, "the end of the former CA", func(ctx context.Context) (bool, string) {
		err := p.hub.Get(ctx, key, ca)
		return err == nil && !bytes.Contains(ca.Data["ca.crt"], before), fmt.Sprint(err)
	})
	if err == nil {
		_, err = p.ready(ctx, managed, len(p.fleet.Managed))
	}
	took := time.Since(began)
	stop()
	running.Wait()
	refused, report := 0, []string{}
	for _, what := range slices.Sorted(maps.Keys(seen.all)) {
		report = append(report, fmt.Sprintf("%d x %s", seen.all[what], what))
		if strings.HasPrefix(what, "TLS: ") {
			refused++
		}
	}
	text := fmt.Sprintf("%.1f s, requests: %s", took.Seconds(), strings.Join(report, ", "))
	if err == nil && refused > 0 {
		err = errors.New("refused by TLS")
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return text, nil
}

func selfSigned(name string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: []string{"g1"}}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), err
}

// impostors are agents with certificates that are not theirs: a real agent with each is not
// let in, and its log says so.
func (p *pair) impostors(ctx context.Context) (string, error) {
	c := p.fleet.Managed[0]
	own, err := p.access(ctx, c.Name)
	if err != nil {
		return "", err
	}
	nobodys, nobodysKey, err := selfSigned(c.Name)
	if err != nil {
		return "", err
	}
	var server corev1.Secret
	if err := p.hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: "argocd-agent-principal-tls"}, &server); err != nil {
		return "", err
	}
	var refusals []string
	for name, pair := range map[string][2][]byte{
		"of nobody": {nobodys, nobodysKey}, "of the principal": {server.Data["tls.crt"], server.Data["tls.key"]}, "of the cluster Secret": {own.certificate, own.key},
	} {
		said, err := p.impostor(ctx, c, name, pair)
		if err != nil {
			return "", fmt.Errorf("with the certificate %s: %w", name, err)
		}
		refusals = append(refusals, fmt.Sprintf("%s: %s", name, said))
	}
	slices.Sort(refusals)
	_, err = p.ready(ctx, managed, len(p.fleet.Managed))
	return strings.Join(refusals, "; "), err
}

var refusal = []string{"certificate required", "bad certificate", "unknown certificate authority", "unknown authority", "authentication failed", "Unauthenticated"}

func (p *pair) impostor(ctx context.Context, c *env.Cluster, name string, pair [2][]byte) (string, error) {
	folder := filepath.Join(p.fleet.Folder(), "impostor "+name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	for i, file := range []string{"tls.crt", "tls.key"} {
		if err := os.WriteFile(filepath.Join(folder, file), pair[i], 0o600); err != nil {
			return "", err
		}
	}
	ports := [2]int{}
	for i := range ports {
		var err error
		if ports[i], err = p.fleet.FreePort(); err != nil {
			return "", err
		}
	}
	kubeconfig, err := c.UserKubeconfig("system:serviceaccount:argocd:mci-argocd-agent", "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return "", err
	}
	process, err := p.fleet.RunContainer(ctx, "impostor-"+strings.ReplaceAll(name, " ", "-"), nil, 20, p.binary, "agent", "--kubeconfig", kubeconfig,
		"--namespace", env.ArgoCDNamespace, "--agent-mode", "managed", "--destination-based-mapping", "--creds", "mtls:any",
		"--server-address", "127.0.0.1", "--server-port", fmt.Sprint(principalPort), "--redis-addr", c.Redis,
		"--tls-client-cert", filepath.Join(folder, "tls.crt"), "--tls-client-key", filepath.Join(folder, "tls.key"),
		"--healthz-port", fmt.Sprint(ports[0]), "--metrics-port", fmt.Sprint(ports[1]))
	if err != nil {
		return "", err
	}
	said, in := "", false
	err = env.WaitFor(ctx, time.Minute, "a refusal", func(ctx context.Context) (bool, string) {
		in = in || healthy(ctx, fmt.Sprintf("http://127.0.0.1:%d/healthz", ports[0]))
		content, err := os.ReadFile(process.Log)
		i := slices.IndexFunc(refusal, func(words string) bool { return strings.Contains(string(content), words) })
		if i >= 0 {
			said = refusal[i]
		}
		return i >= 0 || in, fmt.Sprint(err)
	})
	if in {
		err = errors.New("it was let in")
	}
	return said, errors.Join(err, process.Stop(ctx))
}
