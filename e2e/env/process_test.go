// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/testkit/supervisor"
)

// A process with restarts is restarted as often as permitted. Its next exit fails the fleet. A killed process
// is not restarted.
func TestProcess_restartsAsOftenAsPermitted(t *testing.T) {
	w, err := supervisor.Start("", folderPrefix)
	if err != nil {
		t.Fatal(err)
	}
	f := &Processes{folder: w.Folder(), supervisor: w, processes: map[string]*Process{}}
	f.ctx, f.cancel = context.WithCancelCause(t.Context())
	t.Cleanup(func() {
		f.cancel(errStopped)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := os.MkdirAll(filepath.Join(f.folder, logFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	lasting, err := f.run(t.Context(), command{name: "lasting", args: []string{"/bin/sh", "-c", "exec tail -f /dev/null"}, restarts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := lasting.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	failing, err := f.run(t.Context(), command{name: "failing", args: []string{"/bin/sh", "-c", "echo begun; exit 3"}, restarts: 2})
	if err != nil {
		t.Fatal(err)
	}
	<-f.ctx.Done()
	if err := f.Err(); !strings.Contains(err.Error(), "failing ended by itself: exit status 3") {
		t.Errorf("the fleet says %v", err)
	}
	log, err := os.ReadFile(failing.Log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "begun"); n != 3 {
		t.Errorf("it was started %d times, want 3", n)
	}
	if took := time.Since(began); took < restartDelay {
		t.Errorf("it ended for the last time after %s: the second restart has to wait for %s", took, restartDelay)
	}
	if pid := lasting.PID(); pid != 0 {
		t.Errorf("what was told to end runs again, with id %d", pid)
	}
}
