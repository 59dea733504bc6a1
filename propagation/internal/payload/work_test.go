// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
)

func TestManifestWork_carriesARequestNextToTheSpec(t *testing.T) {
	app := hubApplication()
	app.Operation = json.RawMessage(`{"sync":{}}`)
	bare, err := ManifestWork(Inputs{Application: app, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	r := request.Request{ID: "operation+refresh-1/terminate", Operation: app.Operation, Refresh: "normal", StartedAt: "2026-11-20T10:00:00Z"}
	with, err := ManifestWork(Inputs{Application: app, CreateNamespace: true, Request: r})
	if err != nil {
		t.Fatal(err)
	}
	raw := string(with.Spec.Workload.Manifests[1].Raw)
	for _, part := range []string{`"operation":{"sync":{}},"spec"`, `"status":{"operationState":{"operation":{"sync":{}},"phase":"Terminating"`, `refresh":"normal"`, r.ID} {
		if !strings.Contains(raw, part) {
			t.Errorf("the work does not have %s: %s", part, raw)
		}
	}
	bareHash, err1 := SpecHash(&bare.Spec)
	base, err2 := baseHash(&with.Spec)
	full, err3 := SpecHash(&with.Spec)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if base != bareHash || full == bareHash {
		t.Errorf("without the request the spec is %s, want %s (with it %s)", base, bareHash, full)
	}
}

func BenchmarkManifestWork(b *testing.B) {
	app := hubApplication()
	app.Spec = json.RawMessage(`{"destination":{"namespace":"guestbook"},"project":"default","source":{"path":"guestbook","repoURL":"https://git.example.com/apps.git","targetRevision":"main"},"syncPolicy":{"automated":{"prune":true,"selfHeal":true},"syncOptions":["CreateNamespace=true"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		work, err := ManifestWork(Inputs{Application: app, CreateNamespace: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := SpecHash(&work.Spec); err != nil {
			b.Fatal(err)
		}
	}
}
