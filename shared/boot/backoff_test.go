// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A failed object is retried within half a minute, however long it has failed.
func TestBackoff(t *testing.T) {
	b := Backoff()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "a"}}
	if first := b.When(request); first != 5*time.Millisecond {
		t.Errorf("the first wait is %s", first)
	}
	var last time.Duration
	for range 100 {
		wait := b.When(request)
		if wait < last || wait > 30*time.Second {
			t.Fatalf("a wait of %s follows one of %s", wait, last)
		}
		last = wait
	}
	if last != 30*time.Second {
		t.Errorf("the longest wait is %s", last)
	}
	b.Forget(request)
	if first := b.When(request); first != 5*time.Millisecond {
		t.Errorf("after a success the first wait is %s", first)
	}
}
