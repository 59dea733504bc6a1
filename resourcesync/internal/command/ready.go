// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// recheck is how long a probe's verdict on the directory holds: a probe writes,
// and a kubelet asks every few seconds.
const recheck = 10 * time.Second

// newDirectoryCheck returns a readiness check that fails while reports cannot be
// written.
func newDirectoryCheck(check func() error) healthz.Checker {
	var good atomic.Pointer[time.Time] // when the last check that found nothing wrong was made
	return func(*http.Request) error {
		if at := good.Load(); at != nil && time.Since(*at) < recheck {
			return nil
		}
		if err := check(); err != nil {
			good.Store(nil)
			return err
		}
		good.Store(new(time.Now()))
		return nil
	}
}
