// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net/http"
	"strings"
	"testing"
)

var elect = []string{
	"--leader-elect", "--leader-elect-lease-duration=12s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=200ms",
}

// reportsWritten returns all report writes of a process, in any namespace.
func (p *tap) reportsWritten() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.writes...)
}

// The standby writes nothing until it leads. Then it writes only the reports that changed.
func TestStandby_writesNothingUntilItLeads(t *testing.T) {
	for name, test := range map[string]struct {
		why string
		end func(*testing.T, *process, *tap)
	}{
		"leader stops": {"it hands the lease over", func(t *testing.T, p *process, _ *tap) { p.end(t) }},
		"leader is cut off": {"its lease runs out, and it ends", func(_ *testing.T, p *process, through *tap) {
			through.breakWith(func(*http.Request) *http.Response { return answer(503, "ServiceUnavailable") })
			<-p.done
			p.err = nil // a process that loses its lease ends with an error
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			one, two := &tap{}, &tap{}
			leader := start(t, one, append(elect, "--intermediate-dir="+t.TempDir())...)
			a := w.lone("guestbook")
			w.row("guestbook", "Healthy Synced")
			w.lone("still")
			w.row("still", "Healthy Synced")
			start(t, two, append(elect, "--intermediate-dir="+t.TempDir())...)
			w.passed()
			if writes := two.reportsWritten(); len(writes) > 0 {
				t.Errorf("the standby wrote %v", writes)
			}
			test.end(t, leader, one)
			degraded := healthy()
			degraded["healthStatus"] = "Degraded"
			w.report(a, degraded)
			w.row("guestbook", "Degraded Synced")
			for _, write := range two.reportsWritten() {
				if !strings.HasSuffix(write, "/"+w.namespace+"/multiclusterapplicationsetreports/guestbook") {
					t.Errorf("%s: the new leader wrote %s, where nothing changed", test.why, write)
				}
			}
			if writes := two.writesOf(w.namespace, "guestbook"); len(writes) != 1 {
				t.Errorf("the new leader wrote %v, want the one change", writes)
			}
		})
	}
}
