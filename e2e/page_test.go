// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

//go:embed testdata/watched.yaml
var watched []byte

// Each replica of the page shows two healthy clusters, then the error of a commit that fails to sync on both.
// Then it shows as unreachable the cluster with a stopped agent, and only that cluster.
func TestPage_showsErrorsAndUnreachableClusters(t *testing.T) {
	token, err := fleet.Product.PageToken(t.Context(), env.PageAccount, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pages := []*reader{logIn(t, 0, token), logIn(t, 1, token)}
	push := func(value string) {
		t.Helper()
		content := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: watched}\nimmutable: true\ndata: {value: " + value + "}\n"
		if _, err := fleet.Git.Commit(t.Context(), "Say "+value, map[string]string{"watched/config.yaml": content}); err != nil {
			t.Fatal(err)
		}
	}
	push("one")
	startWatched(t)
	for _, p := range pages {
		p.shows(t, "two clusters that are well", "/sets/argocd/watched", "<strong>2</strong> of 2 Applications healthy", "watched-cluster1", "watched-cluster2")
	}
	push("two")
	for _, p := range pages {
		p.shows(t, "what both clusters say", "/sets/argocd/watched?sync=OutOfSync", "watched-cluster1", "watched-cluster2", "immutable")
		p.shows(t, "the error", "/errors", "immutable")
		p.shows(t, "the way to look closer", "/apps/argocd/watched-cluster1", "kubectl describe applications.argoproj.io watched-cluster1 -n argocd")
	}
	lease(t, "cluster1", 1)
	agent := process(t, "cluster1-registration-agent")
	if err := agent.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	startAfterwards(t, agent)
	for _, p := range pages {
		p.shows(t, "a cluster that is not heard of", "/clusters/cluster1", "This cluster has not been heard of", "watched-cluster1")
		if body := p.get(t, "/clusters/cluster2"); strings.Contains(body, "not been heard of") {
			t.Error("another cluster is coloured by it")
		}
	}
	lease(t, "cluster1", 60)
	if err := agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fleet.AwaitAvailable(t.Context(), "cluster1"); err != nil {
		t.Fatal(err)
	}
	push("one")
	for _, p := range pages {
		p.shows(t, "that all is well again", "/sets/argocd/watched?sync=Synced&health=Healthy", "watched-cluster1", "watched-cluster2")
	}
}

// startWatched applies the ApplicationSet, and deletes it when the test ends.
func startWatched(t *testing.T) {
	t.Helper()
	set := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(watched, &set.Object); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Hub.Apply(t.Context(), set.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	afterwards(t, "delete watched", func(ctx context.Context) error {
		if err := fleet.Hub.Client.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
			return err
		}
		return env.Wait(ctx, "watched and its Applications to go", func(ctx context.Context) (bool, string) {
			_, one := view.Application("hub", "watched-cluster1")
			_, two := view.Application("hub", "watched-cluster2")
			err := fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(set), set.DeepCopy())
			return !one && !two && apierrors.IsNotFound(err), fmt.Sprintf("on cluster1: %t, on cluster2: %t, the ApplicationSet: %v", one, two, err)
		})
	})
}

// reader is a user who has logged in at the page of one replica.
type reader struct {
	address string
	http    *http.Client
}

// logIn submits the login form to a replica.
func logIn(t *testing.T, replica int, token string) *reader {
	t.Helper()
	address, err := fleet.Product.Page(replica)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &reader{address: address, http: &http.Client{Jar: jar}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/login?to=/", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := p.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.Request.URL.Path != "/" {
		t.Fatalf("the login leads to %s: %s", response.Request.URL, response.Status)
	}
	return p
}

func (p *reader) get(t *testing.T, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status + "\n" + string(body)
}

// shows waits until the page at path contains all texts.
func (p *reader) shows(t *testing.T, what, path string, texts ...string) {
	t.Helper()
	err := env.Wait(t.Context(), what+" on "+p.address+path, func(context.Context) (bool, string) {
		body := p.get(t, path)
		for _, text := range texts {
			if !strings.Contains(body, text) {
				return false, fmt.Sprintf("no %q in %s", text, body)
			}
		}
		return true, ""
	})
	if err != nil {
		t.Fatal(err)
	}
}
