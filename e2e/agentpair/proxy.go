// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const clientSecret = "mci-argocd-agent-open-cluster-management.io-mci-argocd-agent-client-cert"

// clientSubject returns the subject of a cluster's client certificate.
func clientSubject(ctx context.Context, c *env.Cluster) string {
	return must.Get(cert.ParseCertsPEM(secret(ctx, c.Client, clientSecret).Data["tls.crt"]))[0].Subject.String()
}

// access is the connection that a cluster Secret gives the hub's Argo CD.
type access struct {
	server               string
	rest.TLSClientConfig `json:"tlsClientConfig"`
}

func (p *pair) access(ctx context.Context, cluster string) (a access) {
	s := secret(ctx, p.hub, cluster+"-cluster-secret")
	must.OK(json.Unmarshal(s.Data["config"], &a))
	a.server = string(s.Data["server"])
	return a
}

// do sends a request through the resource proxy, on a separate connection.
func (a access) do(ctx context.Context, method, path, agent, body string) (status int, answer string, err error) {
	target := must.Get(url.Parse(a.server))
	target.Path = path
	if agent != "" {
		target.RawQuery = url.Values{"agentName": {agent}}.Encode()
	}
	request := must.Get(http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(body)))
	request.Header.Set("Content-Type", "application/merge-patch+json")
	transport := &http.Transport{
		DisableKeepAlives: true,
		// 127.0.0.1 replaces the name of the Service.
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", target.Port()))
		},
		TLSClientConfig: must.Get(rest.TLSConfigFor(&rest.Config{TLSClientConfig: a.TLSClientConfig})),
	}
	response, err := (&http.Client{Timeout: 10 * time.Second, Transport: transport}).Do(request)
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

func (p *pair) resourceProxy(ctx context.Context) string {
	first, second := p.fleet.Managed[0].Name, p.fleet.Managed[1].Name
	own := p.access(ctx, first)
	for _, try := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/version", "", 200},
		{"GET", guestbook, "", 200},
		{"PATCH", guestbook, `{"metadata":{"annotations":{"restarted":"by-the-hub"}}}`, 200},
		{"DELETE", config, `{"kind":"DeleteOptions","apiVersion":"v1"}`, 200},     // client-go sends this body, and the agent fails without it
		{"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin", "", 403}, // not in role hub-ui
	} {
		if status, answer, err := own.do(ctx, try.method, try.path, "", try.body); status != try.want {
			must.OK(fmt.Errorf("%s %s: %d, want %d: %.300s, %w", try.method, try.path, status, try.want, answer, err))
		}
	}
	// Each certificate gives access to its own cluster only, whatever the query contains.
	_, answer, err := p.access(ctx, second).do(ctx, "GET", guestbook, first, "")
	must.OK(err)
	if strings.Contains(answer, "by-the-hub") {
		must.OK(fmt.Errorf("the certificate for %s reads %s: %.300s", second, first, answer))
	}
	stranger := own
	stranger.CertData, stranger.KeyData = selfSigned(first)
	if status, _, err := stranger.do(ctx, "GET", "/version", "", ""); err == nil {
		must.OK(fmt.Errorf("a certificate of nobody is answered %d", status))
	}
	p.tree(ctx, p.fleet.Managed[0], "guestbook-"+first, "guestbook-"+first)
	return ""
}

// tree waits until the resource tree of an Application in the Redis proxy, under the hub's name, equals the
// tree in the cluster's Redis.
func (p *pair) tree(ctx context.Context, c *env.Cluster, name, hubs string) {
	own, proxy := redis.NewClient(&redis.Options{Addr: c.Redis}), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer own.Close()
	defer proxy.Close()
	await(ctx, "the tree of "+hubs+" through the Redis proxy", func(ctx context.Context) (bool, string) {
		keys := must.Get(own.Keys(ctx, "app|resources-tree|"+name+"|*").Result())
		if len(keys) != 1 {
			return false, fmt.Sprint(keys)
		}
		want := must.Get(own.Get(ctx, keys[0]).Bytes())
		got := must.Get(proxy.Get(ctx, strings.Replace(keys[0], name, hubs, 1)).Bytes())
		return bytes.Equal(got, want), fmt.Sprintf("%d bytes of %d", len(got), len(want))
	})
}

// outcome classifies the result of a request. A failure that the principal's restart explains does not count
// as a TLS rejection.
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

// newCA requests a new CA and sends ten requests a second until the rotation has finished.
func (p *pair) newCA(ctx context.Context) string {
	former := bytes.TrimSpace(secret(ctx, p.hub, "argocd-agent-ca").Data["ca.crt"])
	var mu sync.Mutex
	seen := map[string]int{}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for i := 0; sending.Err() == nil; i++ {
			cluster := p.fleet.Managed[i%len(p.fleet.Managed)].Name
			running.Go(func() {
				status := 0
				err := must.Try(func() {
					var err error
					status, _, err = p.access(ctx, cluster).do(ctx, "GET", guestbook, "", "")
					must.OK(err)
				})
				mu.Lock()
				defer mu.Unlock()
				seen[outcome(status, err)]++
			})
			select {
			case <-sending.Done():
			case <-tick.C:
			}
		}
	})
	began := time.Now()
	p.annotate(ctx, agents, "rotate-ca", "once")
	await(ctx, "the end of the former CA", func(ctx context.Context) (bool, string) {
		return !bytes.Contains(secret(ctx, p.hub, "argocd-agent-ca").Data["ca.crt"], former), "it is there"
	})
	p.ready(ctx)
	took := time.Since(began)
	stop()
	running.Wait()
	report := make([]string, 0, len(seen))
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		report = append(report, fmt.Sprintf("%d x %s", seen[what], what))
	}
	text := fmt.Sprintf("%.1f s, requests: %s", took.Seconds(), strings.Join(report, ", "))
	if strings.Contains(text, "TLS: ") {
		must.OK(errors.New("refused by TLS: " + text))
	}
	return text
}

// selfSigned returns a self-signed certificate with the subject of a cluster's certificate, and its key.
func selfSigned(cluster string) (certificate, key []byte) {
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	own := must.Get(cert.NewSelfSignedCACert(cert.Config{CommonName: cluster, Organization: []string{"g1"}}, private))
	return must.Get(cert.EncodeCertificates(own)), must.Get(keyutil.MarshalPrivateKeyToPEM(private))
}

// impostors starts a real agent with each of several foreign certificates. The principal must reject each
// one, and the agent's log must show that.
func (p *pair) impostors(ctx context.Context) string {
	c := p.fleet.Managed[0]
	own, server := p.access(ctx, c.Name), secret(ctx, p.hub, "argocd-agent-principal-tls").Data
	nobodys, nobodysKey := selfSigned(c.Name)
	impostors := map[string][2][]byte{
		"of nobody": {nobodys, nobodysKey}, "of the principal": {server["tls.crt"], server["tls.key"]}, "of the cluster Secret": {own.CertData, own.KeyData},
	}
	refusals := make([]string, 0, len(impostors))
	for name, pair := range impostors {
		refusals = append(refusals, name+": "+p.impostor(ctx, c, name, pair))
	}
	slices.Sort(refusals)
	p.ready(ctx)
	return strings.Join(refusals, "; ")
}

var refusal = []string{"certificate required", "bad certificate", "unknown certificate authority", "unknown authority", "authentication failed", "Unauthenticated"}

func (p *pair) impostor(ctx context.Context, c *env.Cluster, name string, pair [2][]byte) (words string) {
	folder := filepath.Join(p.fleet.Processes.Folder(), "impostor "+name)
	write(folder, map[string][]byte{"tls.crt": pair[0], "tls.key": pair[1]})
	health, metrics := fmt.Sprint(must.Get(p.fleet.Processes.FreePort())), fmt.Sprint(must.Get(p.fleet.Processes.FreePort()))
	kubeconfig := must.Get(c.UserKubeconfig("system:serviceaccount:argocd:mci-argocd-agent", "system:serviceaccounts", "system:authenticated"))
	process := must.Get(p.fleet.Processes.RunContainer(ctx, "impostor-"+strings.ReplaceAll(name, " ", "-"), nil, 20, p.binary, "agent", "--kubeconfig", kubeconfig,
		"--namespace", env.ArgoCDNamespace, "--agent-mode", "managed", "--destination-based-mapping", "--creds", "mtls:any",
		"--server-address", "127.0.0.1", "--server-port", fmt.Sprint(principalPort), "--redis-addr", c.Redis,
		"--tls-client-cert", filepath.Join(folder, "tls.crt"), "--tls-client-key", filepath.Join(folder, "tls.key"),
		"--healthz-port", health, "--metrics-port", metrics))
	in := false
	await(ctx, "a refusal of the certificate "+name, func(ctx context.Context) (bool, string) {
		in = in || healthy(ctx, health, "/healthz")
		content := string(must.Get(os.ReadFile(process.Log)))
		i := slices.IndexFunc(refusal, func(words string) bool { return strings.Contains(content, words) })
		if i >= 0 {
			words = refusal[i]
		}
		return i >= 0 || in, "none in its log"
	})
	if in {
		must.OK(fmt.Errorf("with the certificate %s it was let in", name))
	}
	must.OK(process.Stop(ctx))
	return words
}
