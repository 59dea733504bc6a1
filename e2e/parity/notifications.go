// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// notified is how many Applications change side by side: half of them subscribe on the hub,
// half on their cluster.
const notified = 20

// notifications has Applications of a cluster change from revision to revision, with Argo CD's
// notifications controller on the hub and on the cluster, and counts what both send and what is
// written of their ManifestWorks.
func notifications(ctx context.Context, fleet *env.Fleet, transitions int) error {
	c := fleet.Managed[0]
	inbox, err := listen(ctx)
	if err != nil {
		return err
	}
	defer inbox.server.Close()
	if err := startControllers(ctx, fleet, c, inbox); err != nil {
		return err
	}
	apps := make([]*argocd.Application, notified)
	for i := range apps {
		if apps[i], err = subscriber(ctx, fleet, c, i); err != nil {
			return err
		}
	}
	before, err := specs(ctx, fleet, c.Name)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := deploy(ctx, c, apps, inbox, transitions/notified); err != nil {
		return err
	}
	took := time.Since(began)
	select { // for what comes twice
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := specs(ctx, fleet, c.Name)
	if err != nil {
		return err
	}
	want, written := transitions/notified*notified, differences(before, after)
	sent, twice, strays := inbox.count(apps)
	fmt.Printf("\n## Notifications\n\n%d transitions of %d Applications in %s: %d messages, %d of them twice, %d from the other side; ManifestWorks written: %d of %d\n",
		want, notified, took.Round(time.Second), sent, twice, strays, written, len(after))
	if sent != want || twice+strays+written > 0 {
		return errors.New("not one message for each transition, or a ManifestWork was written")
	}
	return nil
}

// startControllers starts the notifications controllers of both sides, which send to the inbox,
// and stops the cluster's application controller, whose place is taken here.
func startControllers(ctx context.Context, fleet *env.Fleet, c *env.Cluster, inbox *inbox) error {
	for side, cluster := range map[string]*env.Cluster{"hub": fleet.Hub, "cluster": c} {
		if err := env.StartNotifications(ctx, fleet, cluster, map[string]any{
			"service.webhook.inbox": "url: http://" + inbox.address + "/" + side + "\n",
			"template.revision":     "webhook:\n  inbox:\n    method: POST\n    body: '{{.app.metadata.name}} {{.app.status.operationState.syncResult.revision}}'\n",
			"trigger.on-deployed":   "- when: app.status.operationState.phase in ['Succeeded'] and app.status.health.status == 'Healthy'\n  oncePer: app.status.operationState.syncResult.revision\n  send: [revision]\n",
		}); err != nil {
			return err
		}
	}
	controller, err := fleet.Process(c.Name + "-argocd")
	if err != nil {
		return err
	}
	return controller.Stop(ctx)
}

// deploy has each Application go from revision to revision.
func deploy(ctx context.Context, c *env.Cluster, apps []*argocd.Application, inbox *inbox, each int) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, app := range apps {
		group.Go(func() error {
			for n := range each {
				if err := transition(ctx, c, app, inbox, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// subscriber makes an Application that is not synced by itself, and waits for its delivery.
func subscriber(ctx context.Context, fleet *env.Fleet, c *env.Cluster, i int) (*argocd.Application, error) {
	s := shape{name: "notified", files: map[string]string{"config.yaml": configMap}, sources: []map[string]any{{"path": "NAME"}}, manual: true}
	name := fmt.Sprintf("notified-%02d", i)
	spec, err := s.spec(name)
	if err != nil {
		return nil, err
	}
	prefix := argocd.SubscribeAnnotationPrefix
	if onCluster(i) {
		prefix = contract.SubscribeAnnotationPrefix
	}
	a := application(name, c.Name, spec)
	a.Annotations[prefix+"on-deployed.inbox"] = ""
	if err := fleet.Hub.Client.Create(ctx, a); err != nil {
		return nil, err
	}
	return a, env.Wait(ctx, name+" to be delivered", func(ctx context.Context) (bool, string) {
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(a), &argocd.Application{})
		return err == nil, fmt.Sprint(err)
	})
}

func onCluster(i int) bool { return i%2 == 1 }

// transition has the cluster's Argo CD deploy the next revision, as far as a status says so,
// and waits for the message.
func transition(ctx context.Context, c *env.Cluster, app *argocd.Application, inbox *inbox, n int) error {
	revision, now := fmt.Sprintf("revision-%04d", n), time.Now().UTC().Format(time.RFC3339)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"health": map[string]any{"status": argocd.HealthHealthy}, "reconciledAt": now,
		"sync": map[string]any{"status": argocd.SyncSynced, "revision": revision},
		"operationState": map[string]any{
			"phase": argocd.OperationSucceeded, "startedAt": now, "finishedAt": now, "message": revision, "operation": map[string]any{},
			"syncResult": map[string]any{"revision": revision},
		},
	}})
	if err != nil {
		return err
	}
	there := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	if err := c.Client.Patch(ctx, there, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return err
	}
	return env.WaitFor(ctx, time.Minute, "a message of "+app.Name+" at "+revision, func(context.Context) (bool, string) {
		return inbox.has(app.Name + " " + revision), ""
	})
}

// inbox takes what the notifications controllers send.
type inbox struct {
	address string
	server  *http.Server

	mu       sync.Mutex
	messages map[string]map[string]int // by text, how often from each side
}

func listen(ctx context.Context) (*inbox, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	in := &inbox{address: listener.Addr().String(), messages: map[string]map[string]int{}}
	in.server = &http.Server{Handler: in, ReadHeaderTimeout: time.Minute}
	go func() { _ = in.server.Serve(listener) }() // it ends when it is closed
	return in, nil
}

func (in *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if err != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.messages[string(body)] == nil {
		in.messages[string(body)] = map[string]int{}
	}
	in.messages[string(body)][r.URL.Path[1:]]++
}

func (in *inbox) has(message string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.messages[message]) > 0
}

// count returns how many messages came, how many of them more than once, and how many from a
// side that the Application has not subscribed on.
func (in *inbox) count(apps []*argocd.Application) (sent, twice, strays int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, app := range apps {
		side := map[bool]string{false: "hub", true: "cluster"}[onCluster(i)]
		for message, from := range in.messages {
			if len(message) < len(app.Name) || message[:len(app.Name)] != app.Name {
				continue
			}
			for by, n := range from {
				sent += n
				twice += n - 1
				if by != side {
					strays += n
				}
			}
		}
	}
	return sent, twice, strays
}

// specs returns what identifies the spec, labels and annotations of each ManifestWork of a
// cluster.
func specs(ctx context.Context, fleet *env.Fleet, cluster string) (map[string]string, error) {
	var list workv1.ManifestWorkList
	if err := fleet.Hub.Client.List(ctx, &list, client.InNamespace(cluster)); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i := range list.Items {
		w := &list.Items[i]
		all[w.Name] = fmt.Sprint(w.UID, w.Generation, w.Labels, w.Annotations)
	}
	return all, nil
}

func differences(a, b map[string]string) (n int) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for name := range all {
		if a[name] != b[name] {
			n++
		}
	}
	return n
}
