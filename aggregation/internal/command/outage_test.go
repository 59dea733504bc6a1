// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Aggregation retries failed writes. The retry writes the content that is current then.
func TestWrites_areRetried(t *testing.T) {
	for name, test := range map[string]struct {
		why    string
		answer func() *http.Response
	}{
		"conflict":     {"another client wrote the report first", func() *http.Response { return answer(409, metav1.StatusReasonConflict) }},
		"server error": {"etcd has a bad moment", func() *http.Response { return answer(500, metav1.StatusReasonInternalError) }},
		"invalid":      {"the report is not what we believed", func() *http.Response { return answer(422, metav1.StatusReasonInvalid) }},
		"gone":         {"the report went a moment ago", func() *http.Response { return answer(404, metav1.StatusReasonNotFound) }},
		"too many":     {"the server asks for patience", func() *http.Response { return answer(429, metav1.StatusReasonTooManyRequests) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			through := &tap{}
			var refused atomic.Int64
			refuse := func(r *http.Request) *http.Response {
				if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/"+w.namespace+"/multiclusterapplicationsetreports") {
					return nil
				}
				if refused.Add(1) > 2 {
					return nil
				}
				return test.answer()
			}
			through.breakWith(refuse)
			start(t, through, "--intermediate-dir="+t.TempDir())
			a := w.lone("guestbook") // creation fails
			w.row("guestbook", "Healthy Synced")
			refused.Store(0)
			degraded := healthy()
			degraded["healthStatus"] = "Degraded"
			w.report(a, degraded) // update fails
			w.row("guestbook", "Degraded Synced")
			if n := refused.Load(); n < 3 {
				t.Errorf("%s: only %d writes were tried", test.why, n)
			}
		})
	}
}
