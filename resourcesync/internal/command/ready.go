// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// recheck is how long a probe's verdict on the directory holds: a probe writes,
// and a kubelet asks every few seconds.
const recheck = 10 * time.Second

// newDirectoryCheck returns a readiness check that fails while reports cannot be
// written.
func newDirectoryCheck(check func() error) healthz.Checker {
	var mu sync.Mutex
	var at time.Time
	var last error
	return func(*http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || last != nil || time.Since(at) >= recheck {
			last, at = check(), time.Now()
		}
		return last
	}
}
