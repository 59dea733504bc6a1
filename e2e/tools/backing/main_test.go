// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds the waiting on a loaded machine; nothing here takes anything like it.
const patience = time.Minute

// start runs the program with o until the returned pipe closes, and returns where it listens and how it ended.
func start(t *testing.T, o options) (at ready, stdin io.Closer, ended <-chan error) {
	t.Helper()
	in, closer := io.Pipe()
	out, lines := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(untilClosed(t.Context(), in), o, lines)
		_ = lines.Close()
	}()
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		t.Fatalf("no ready line: %v", err)
	}
	return at, closer, done
}

func TestServesUntilStandardInputCloses(t *testing.T) {
	root := t.TempDir()
	git := exec.CommandContext(t.Context(), "git", "init", "--quiet", "--bare", filepath.Join(root, "apps.git"))
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("make a repository: %v: %s", err, out)
	}
	at, stdin, ended := start(t, options{
		etcdDir: filepath.Join(t.TempDir(), "etcd"), etcdClient: "127.0.0.1:0", etcdPeer: "127.0.0.1:0",
		redis: "127.0.0.1:0,127.0.0.1:0", git: "127.0.0.1:0", gitRoot: root,
	})

	if got := get(t, at.Etcd+"/health"); got != `{"health":"true","reason":""}` {
		t.Errorf("etcd says %s", got)
	}
	if len(at.Redis) != 2 || at.Redis[0] == at.Redis[1] {
		t.Errorf("two Redis servers were asked for, got %v", at.Redis)
	}
	remote := exec.CommandContext(t.Context(), "git", "ls-remote", at.Git+"/apps.git")
	if out, err := remote.CombinedOutput(); err != nil {
		t.Errorf("git does not serve the repository: %v: %s", err, out)
	}

	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("still runs although nobody holds its standard input")
	}
}

// TestRedisForgets shows that keys expire: with a clock that stands still Argo CD never sees a new commit.
func TestRedisForgets(t *testing.T) {
	at, _, _ := start(t, options{redis: "127.0.0.1:0"})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at.Redis[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	ask := func(command string) string {
		t.Helper()
		if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return answer
	}
	if got := ask(inline("SET", "revision", "abc", "EX", "1")); got != "+OK\r\n" {
		t.Fatalf("SET answered %q", got)
	}
	for ask(inline("EXISTS", "revision")) != ":0\r\n" { // the connection's deadline ends a loop that would not
	}
}

func TestGivesUpOnAnAddressInUse(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for name, o := range map[string]options{
		"redis": {redis: taken.Addr().String()},
		"git":   {git: taken.Addr().String(), gitRoot: t.TempDir()},
		"etcd":  {etcdDir: t.TempDir(), etcdClient: taken.Addr().String(), etcdPeer: "127.0.0.1:0"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := run(ctx, o, io.Discard); err == nil {
			t.Errorf("%s: an address in use was accepted", name)
		}
		cancel()
	}
}

// inline spells a command in Redis's protocol.
func inline(words ...string) string {
	text := fmt.Sprintf("*%d", len(words))
	for _, word := range words {
		text += fmt.Sprintf("\r\n$%d\r\n%s", len(word), word)
	}
	return text
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: patience}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
