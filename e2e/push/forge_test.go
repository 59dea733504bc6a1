// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" // GitHub and Gitea still send it next to SHA-256
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// forge sends push events like one kind of git forge.
type forge struct {
	name string
	// key is the key of the secret in argocd-secret.
	key, secret string
	// event returns the body of a push event.
	event func(commit) map[string]any
	// headers returns the headers with the kind of the event and the proof of its sender.
	headers func(body []byte, secret string) map[string]string
}

// commit is the content of a push event.
type commit struct {
	before, after string
	files         []string
}

const branch = "refs/heads/main"

// web is the address of the repository's page, which forges send.
var web = strings.TrimSuffix(env.RepositoryURL, ".git")

var forges = []forge{
	{
		name: "GitHub", key: "webhook.github.secret", secret: "github's",
		event: func(c commit) map[string]any { return pushEvent(c, "repository", "html_url") },
		headers: func(body []byte, secret string) map[string]string {
			return map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature": "sha1=" + sign(sha1.New, body, secret), "X-Hub-Signature-256": "sha256=" + sign(sha256.New, body, secret)}
		},
	},
	{
		name: "GitLab", key: "webhook.gitlab.secret", secret: "gitlab's",
		event: func(c commit) map[string]any {
			e := pushEvent(c, "project", "web_url")
			e["object_kind"], e["event_name"] = "push", "push"
			return e
		},
		headers: func(_ []byte, secret string) map[string]string {
			return map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret}
		},
	},
	{
		name: "Gitea", key: "webhook.gogs.secret", secret: "gitea's",
		event: func(c commit) map[string]any { return pushEvent(c, "repository", "html_url") },
		headers: func(body []byte, secret string) map[string]string {
			signature := sign(sha256.New, body, secret)
			return map[string]string{ // Forgejo adds the same under its own name
				"X-Gitea-Event": "push", "X-Gitea-Signature": signature, "X-Gogs-Event": "push", "X-Gogs-Signature": signature,
				"X-GitHub-Event": "push", "X-Hub-Signature": "sha1=" + sign(sha1.New, body, secret), "X-Hub-Signature-256": "sha256=" + signature,
			}
		},
	},
}

// pushEvent returns the common part of the events of all forges, with the repository under the given name.
func pushEvent(c commit, repository, address string) map[string]any {
	return map[string]any{
		"ref": branch, "before": c.before, "after": c.after,
		repository: map[string]any{"name": "apps", address: web, "default_branch": "main"},
		"commits":  []any{map[string]any{"id": c.after, "message": "Push", "added": []string{}, "removed": []string{}, "modified": c.files}},
	}
}

func sign(with func() hash.Hash, body []byte, secret string) string {
	mac := hmac.New(with, []byte(secret))
	_, _ = mac.Write(body) // a hash never fails to write
	return hex.EncodeToString(mac.Sum(nil))
}

// send sends the event of a push, signed with a secret, and returns Argo CD's answer.
func (f *forge) send(ctx context.Context, c commit, secret string) (status int, answer string, err error) {
	body, err := json.Marshal(f.event(c))
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+server.Address+"/api/webhook", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range f.headers(body, secret) {
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("send an event of %s: %w", f.name, err)
	}
	defer response.Body.Close() // nothing was written
	text, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, 4096))
	return response.StatusCode, string(text), err
}
