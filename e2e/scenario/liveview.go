// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// LiveView is a fleet with an argocd-server that shows pulled Applications.
type LiveView struct {
	Fleet  *env.Fleet
	Views  env.Views
	Server *env.ArgoCDServer
	// Admin and Tenant are tokens of argocd-server. The tenant has no permissions.
	Admin, Tenant string
}

// liveViewPassword is the password of both accounts, and liveViewHash its hash.
const (
	liveViewPassword = "liveview"
	liveViewHash     = "$2a$10$Cc9XvxYDmSNq8qJafqEmWe6KUGsE8exwMta1RrA/FyE0vDErOQcJS"
)

// StartLiveView starts argocd-server, the viewer with further arguments, and observers, and delivers the
// guestbook to every managed cluster. The fleet needs [env.Options.ArgoCDAccounts].
func StartLiveView(ctx context.Context, fleet *env.Fleet, arguments ...string) (*LiveView, error) {
	l := &LiveView{Fleet: fleet, Views: env.Views{Fleet: fleet}}
	return l, must.Try(func() {
		accounts := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: "argocd-cm"}}
		must.OK(fleet.Hub.Client.Patch(ctx, accounts, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"accounts.tenant":"login"}}`))))
		const since = "2026-01-01T00:00:00Z"
		l.Server = must.Get(fleet.StartArgoCDServer(ctx, map[string]string{
			"admin.password": liveViewHash, "admin.passwordMtime": since, "accounts.tenant.password": liveViewHash, "accounts.tenant.passwordMtime": since,
		}))
		l.Admin, l.Tenant = must.Get(l.login(ctx, "admin")), must.Get(l.login(ctx, "tenant"))
		must.OK(l.Views.Start(ctx, arguments...))
		must.OK(Prepare(ctx, fleet))
		allowSecrets(ctx, fleet)
		must.OK(fleet.Hub.ApplyFiles(ctx, Examples("guestbook-app-set.yaml")))
		nameClusters(ctx, fleet)
		for _, c := range fleet.Managed {
			must.OK(l.AwaitHealthy(ctx, c.Name+"-guestbook"))
		}
	})
}

// allowSecrets permits Secrets in the guestbook's AppProject, and in the Roles of the clusters' Argo CDs.
func allowSecrets(ctx context.Context, fleet *env.Fleet) {
	project := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject"}}
	project.SetNamespace(env.ArgoCDNamespace)
	project.SetName("guestbook")
	must.OK(fleet.Hub.Client.Patch(ctx, project, client.RawPatch("application/json-patch+json", []byte(`[{"op":"add","path":"/spec/namespaceResourceWhitelist/-","value":{"group":"","kind":"Secret"}}]`))))
	for _, c := range fleet.Managed {
		role := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}}
		role.SetNamespace("guestbook")
		role.SetName("argocd-guestbook")
		must.OK(c.Client.Patch(ctx, role, client.RawPatch("application/json-patch+json", []byte(`[{"op":"add","path":"/rules/-","value":{"apiGroups":[""],"resources":["secrets"],"verbs":["get","list","watch","create","update","patch","delete"]}}]`))))
	}
}

// nameClusters changes the guestbook's destination to the name of the managed cluster, which diffs need.
// propagation registers the clusters.
func nameClusters(ctx context.Context, fleet *env.Fleet) {
	for kind, patch := range map[string]string{
		"AppProject":     `[{"op":"add","path":"/spec/destinations/-","value":{"name":"*","namespace":"guestbook"}}]`,
		"ApplicationSet": `[{"op":"replace","path":"/spec/template/spec/destination","value":{"name":"{{.name}}","namespace":"guestbook"}}]`,
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": kind}}
		o.SetNamespace(env.ArgoCDNamespace)
		o.SetName("guestbook")
		must.OK(fleet.Hub.Client.Patch(ctx, o, client.RawPatch("application/json-patch+json", []byte(patch))))
	}
}

// AwaitHealthy waits until an Application is synced and healthy on the hub.
func (l *LiveView) AwaitHealthy(ctx context.Context, name string) error {
	return env.Wait(ctx, "Application "+name+" to be healthy on the hub", func(ctx context.Context) (bool, string) {
		app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
		if err := l.Fleet.Hub.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: name}, app); err != nil {
			return false, err.Error()
		}
		sync, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
		return sync == "Synced" && health == "Healthy", fmt.Sprint(app.Object["status"])
	})
}

func (l *LiveView) login(ctx context.Context, account string) (token string, err error) {
	body, err := json.Marshal(map[string]string{"username": account, "password": liveViewPassword})
	if err != nil {
		return "", err
	}
	err = env.Wait(ctx, "argocd-server to log "+account+" in", func(ctx context.Context) (bool, string) {
		answer, status, err := l.Server.Request(ctx, http.MethodPost, "/api/v1/session", "", body)
		var session struct{ Token string }
		if err == nil && status == http.StatusOK {
			err = json.Unmarshal(answer, &session)
		}
		token = session.Token
		return token != "", fmt.Sprint(status, string(answer), err)
	})
	return token, err
}

// SetAway stops a cluster's agents, so that the hub reports the cluster as unavailable, or starts them again.
func (l *LiveView) SetAway(ctx context.Context, cluster string, unavailable bool) (err error) {
	defer must.Return(&err)
	seconds := 60
	if unavailable {
		seconds = 1
	}
	lease := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"leaseDurationSeconds":%d}}`, seconds))
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster"}}
	o.SetName(cluster)
	must.OK(l.Fleet.Hub.Client.Patch(ctx, o, lease))
	for _, agent := range []string{"-registration-agent", "-work-agent"} {
		process := must.Get(l.Fleet.Processes.Get(cluster + agent))
		do := process.Start
		if unavailable {
			do = process.Stop
		}
		must.OK(do(ctx))
	}
	return nil
}
