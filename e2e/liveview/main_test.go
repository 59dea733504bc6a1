// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package liveview has an unmodified argocd-server show pulled Applications.
package liveview

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
)

var (
	fleet  *env.Fleet
	views  env.Views
	server *env.ArgoCDServer
	// admin and tenant are tokens of argocd-server; the tenant has no rights.
	admin, tenant string
)

func TestMain(m *testing.M) {
	os.Exit(env.RunTests(m.Run, env.Options{Old: []string{"cluster2"}, Product: []string{env.Propagation}, ArgoCDAccounts: true}, prepare))
}

// hashed is the password "liveview" of both accounts.
const hashed = "$2a$10$6eyEfIRjSE57B0yDO.bCGef0xpl6gz3ss7SlNZAA6a.tgyD2gebu2"

// prepare delivers the guestbook and starts argocd-server, viewer and observers.
func prepare(ctx context.Context, f *env.Fleet) (err error) {
	fleet, views = f, env.Views{Fleet: f}
	accounts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "argocd-cm"}}
	if err := f.Hub.Client.Patch(ctx, accounts, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"accounts.tenant":"login"}}`))); err != nil {
		return err
	}
	if server, err = f.StartArgoCDServer(ctx, map[string]string{
		"admin.password": hashed, "accounts.tenant.password": hashed, "admin.passwordMtime": "2026-01-01T00:00:00Z", "accounts.tenant.passwordMtime": "2026-01-01T00:00:00Z",
	}); err != nil {
		return err
	}
	if admin, err = login(ctx, "admin"); err != nil {
		return err
	}
	if tenant, err = login(ctx, "tenant"); err != nil {
		return err
	}
	if err := views.Start(ctx, "--keep=10s"); err != nil {
		return err
	}
	if err := scenario.Prepare(ctx, f); err != nil {
		return err
	}
	if err := f.Hub.ApplyFiles(ctx, scenario.Examples("guestbook-app-set.yaml")); err != nil {
		return err
	}
	for _, c := range f.Managed {
		if err := awaitHealthy(ctx, c.Name+"-guestbook"); err != nil {
			return err
		}
	}
	return nil
}

func awaitHealthy(ctx context.Context, name string) error {
	return env.Wait(ctx, "Application "+name+" to be healthy on the hub", func(ctx context.Context) (bool, string) {
		app := application(name)
		if err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return false, err.Error()
		}
		sync, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
		return sync == "Synced" && health == "Healthy", fmt.Sprint(app.Object["status"])
	})
}

func application(name string) *unstructured.Unstructured {
	return object("argoproj.io/v1alpha1", "Application", env.ArgoCDNamespace, name)
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

func login(ctx context.Context, account string) (token string, err error) {
	body, err := json.Marshal(map[string]string{"username": account, "password": "liveview"})
	if err != nil {
		return "", err
	}
	err = env.Wait(ctx, "argocd-server to log "+account+" in", func(ctx context.Context) (bool, string) {
		answer, status, err := request(ctx, http.MethodPost, "/api/v1/session", "", body)
		var session struct{ Token string }
		if err == nil && status == http.StatusOK {
			err = json.Unmarshal(answer, &session)
		}
		token = session.Token
		return token != "", fmt.Sprint(status, string(answer), err)
	})
	return token, err
}

// request asks argocd-server, as its page does.
func request(ctx context.Context, method, path, token string, body []byte) ([]byte, int, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+server.Address+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close() // nothing was written
	answer, err := io.ReadAll(response.Body)
	return answer, response.StatusCode, err
}
