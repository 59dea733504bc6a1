// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var hub client.Client

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		ctrl.SetLogger(logr.Discard())
		hub, err = client.New(c, client.Options{})
		return err
	})
}

func newNamespace(t *testing.T, name string) string {
	t.Helper()
	if err := hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRecordStore_hasOneWriter(t *testing.T) {
	ctx, namespace := context.Background(), newNamespace(t, "one-writer")
	one := &recordStore{client: hub, live: hub, namespace: namespace}
	other := &recordStore{client: hub, live: hub, namespace: namespace}
	guestbook := guard.Group{Namespace: "team", Set: "guestbook"}
	records := guard.Records{guestbook: {Held: &guard.Holding{Since: time.Unix(1_000_000_000, 0).UTC(), Pending: 3}}}
	words := guard.Words{guestbook: {UID: "a", Annotations: map[string]string{"pause": "delivery"}}}
	text, _, err := words.Encode(maxWords)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*recordStore{one, other} {
		if got, said, err := s.load(ctx); err != nil || len(got)+len(said) != 0 {
			t.Fatalf("there are %v, %v, %v", got, said, err)
		}
	}
	if err := one.save(ctx, records, text, 0); err != nil {
		t.Fatal(err)
	}
	if err := other.save(ctx, guard.Records{}, "{}", 0); err == nil {
		t.Fatal("the other wrote over it")
	}
	got, said, err := other.load(ctx)
	if diff := cmp.Diff(records, got) + cmp.Diff(words, said); err != nil || diff != "" {
		t.Fatalf("the other read %v: %s", err, diff)
	}
	if err := errors.Join(other.save(ctx, guard.Records{}, "{}", 0), other.save(ctx, got, text, 0)); err != nil {
		t.Fatal(err)
	}
	if err := one.save(ctx, records, text, 0); err == nil {
		t.Fatal("the first wrote over it")
	}
}

// Records and words that are as large as they may be fit into a ConfigMap.
func TestRecordStore_fits(t *testing.T) {
	s := &recordStore{client: hub, live: hub, namespace: newNamespace(t, "fits")}
	held := func(n int) guard.Records {
		records := guard.Records{}
		for i := range n {
			records[guard.Group{Namespace: "team", Set: fmt.Sprint(strings.Repeat("s", 200), i)}] = guard.Record{Held: &guard.Holding{Pending: 9}}
		}
		return records
	}
	words := guard.Words{}
	for i := range 3250 {
		words[guard.Group{Namespace: fmt.Sprint("team", i/10), Set: fmt.Sprint(i)}] = guard.SetWords{UID: "a", Annotations: map[string]string{"pause": "delivery"}}
	}
	text, leftOut, err := words.Encode(maxWords)
	if err != nil || leftOut > 0 || len(text) < maxWords*9/10 {
		t.Fatalf("%d bytes of words, %d left out, %v", len(text), leftOut, err)
	}
	const many = 2400
	encoded, err := held(many).Encode(maxRecords)
	if err != nil || len(encoded) < maxRecords*9/10 {
		t.Fatalf("%d bytes of records, %v", len(encoded), err)
	}
	if err := s.save(t.Context(), held(many), text, 0); err != nil {
		t.Errorf("%d bytes: %v", len(text)+len(encoded), err)
	}
	if err := s.save(t.Context(), held(10_000), "{}", 0); err == nil || !strings.Contains(err.Error(), "10000 groups") {
		t.Errorf("more than fit: %v", err)
	}
}
