// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package liveview

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// text encodes a text field of a Protocol Buffers message.
func text(number byte, value string) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(value))), value...)
}

// serverSideDiff makes the real argocd-server compare the caller's manifests on an Application's destination,
// as `argocd app diff --server-side-diff` does. It returns the whole answer.
func serverSideDiff(t *testing.T, application, kind, namespace, name, existing, target string) string {
	t.Helper()
	resource := bytes.Join([][]byte{text(2, kind), text(3, namespace), text(4, name), text(6, existing)}, nil)
	query := bytes.Join([][]byte{text(1, application), text(2, env.ArgoCDNamespace), text(4, string(resource)), text(5, target)}, nil)
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(query))), query...)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+live.Server.Address+"/application.ApplicationService/ServerSideDiff", bytes.NewReader(frame))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/grpc-web+proto")
	r.Header.Set("X-Grpc-Web", "1")
	r.Header.Set("Token", live.Admin)
	response, err := (&http.Client{Timeout: env.Patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // nothing was written
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Header.Get("Grpc-Status") + response.Header.Get("Grpc-Message") + string(answer)
}

// A view must not give anybody argocd-server's permissions on the hub. An Application with the hub as its
// destination has a tree, and no managed resources for which a server-side diff answers.
func TestView_answersNoServerSideDiffOnTheHub(t *testing.T) {
	const name, hidden = "to-the-hub", "server.secretkey"
	create(t, name, "cluster1", "guestbook", "server: https://kubernetes.default.svc")
	if err := live.AwaitHealthy(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	p := openPage(t, name, live.Admin)
	p.await(t, "the tree", func(text string) bool {
		return strings.Contains(text, "guestbook-ui") && strings.Contains(text, "no diffs")
	})
	if got := items(t, get(t, "/api/v1/applications/"+name+"/managed-resources")); len(got) != 0 {
		t.Errorf("it has managed resources: %v", got)
	}
	for _, own := range []string{"guestbook-config", "argocd-secret"} {
		existing := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"guestbook","name":"` + own + `"}}`
		target := `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"argocd","name":"argocd-secret","annotations":{"a":"b"}}}`
		got := serverSideDiff(t, name, "ConfigMap", "guestbook", own, existing, target)
		if !strings.Contains(got, "not found as part of application") || strings.Contains(got, hidden) {
			t.Errorf("a server-side diff of %s answers %q", own, got)
		}
	}
	p.leave()
	awaitNothing(t, name)
}
