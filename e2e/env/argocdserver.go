// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// ArgoCDServer is the API server of the hub's Argo CD, which the UI, `argocd` and the webhooks of git forges
// use. It authenticates requests with [Options.ArgoCDAccounts] only.
type ArgoCDServer struct {
	// Address is host:port, without TLS.
	Address string

	fleet *Fleet
}

// StartArgoCDServer starts the API server of the hub's Argo CD. secrets are the webhook secrets of forges, by
// their key in the Secret argocd-secret. It returns when the server is healthy.
func (f *Fleet) StartArgoCDServer(ctx context.Context, secrets map[string]string) (_ *ArgoCDServer, err error) {
	defer must.Return(&err)
	patch := must.Get(json.Marshal(map[string]any{"stringData": secrets}))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ArgoCDNamespace, Name: "argocd-secret"}}
	must.OK(f.Hub.Client.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", patch)))
	ports := must.Get(f.Processes.takePorts(2))
	s := &ArgoCDServer{Address: local(ports[0]), fleet: f}
	return s, f.runArgoCD(ctx, f.Hub, component{
		name: "hub-argocd-server", role: "server", install: []string{"argocd-server.yaml"},
		binary: os.Getenv("ARGOCD_WITH_UI"), // the same sources, built with the UI
		env:    []string{"ARGOCD_TLS_DATA_PATH=" + f.Processes.path("git-tls"), "ARGOCD_FAKE_IN_CLUSTER=true"},
		args: []string{
			"--insecure", "--disable-auth=" + strconv.FormatBool(!f.Processes.options.ArgoCDAccounts), "--staticassets", "",
			"--address", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--metrics-address", "127.0.0.1", "--metrics-port", strconv.Itoa(ports[1]),
			"--redis", f.repoServers[newest].redis,
		},
		health: "http://" + s.Address + "/healthz",
	})
}

// CLI runs the command line of Argo CD against the server and returns its output.
func (s *ArgoCDServer) CLI(ctx context.Context, args ...string) (_ string, err error) {
	defer must.Return(&err)
	binary := must.Get(newest.part("argocd"))
	home := s.fleet.Processes.path("home", "cli")
	must.OK(os.MkdirAll(home, 0o700))
	cmd := exec.CommandContext(ctx, binary, append(args, "--server", s.Address, "--plaintext")...)
	cmd.Env = []string{"ARGOCD_BINARY_NAME=argocd", "HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("argocd %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Request sends a request to the server's REST API, as the UI does.
func (s *ArgoCDServer) Request(ctx context.Context, method, path, token string, body []byte) (_ []byte, _ int, err error) {
	defer must.Return(&err)
	r := must.Get(http.NewRequestWithContext(ctx, method, "http://"+s.Address+path, bytes.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Timeout: Patience}).Do(r)
	must.OK(err)
	defer response.Body.Close() // nothing was written
	answer, err := io.ReadAll(response.Body)
	return answer, response.StatusCode, err
}
