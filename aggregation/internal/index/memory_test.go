// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// roomForAReport is the container's memory less the 100 MiB of 20,000 Applications.
const roomForAReport = (192 - 100) << 20

const readDirEnv = "AGGREGATION_TEST_READ_DIR"

// The largest accepted report fits the container's memory, whatever its content. A separate process reads
// the report, and the kernel reports the peak memory of that process.
func TestMemory_fitsTheLargestReport(t *testing.T) {
	if dir := os.Getenv(readDirEnv); dir != "" {
		readLargest(t, dir)
		return
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Logf("not measured: %v", err)
		return
	}
	for name, test := range map[string]struct {
		why                    string
		applications, distinct int
		resource               string
	}{
		"one Application":      {"somebody deploys a chart of charts", 1, 1 << 30, `{"apiVersion":"v1","kind":"ConfigMap","namespace":"namespace-of-the-application","name":"some-resource-with-a-usual-name-%07d"}`},
		"shortest names":       {"and somebody tries what is most", 1, 1 << 30, `{"apiVersion":"","kind":"A","name":"%d"}`},
		"all clusters alike":   {"a fleet", 2000, 20, `{"apiVersion":"v1","kind":"ConfigMap","namespace":"namespace-of-the-application","name":"some-resource-with-a-usual-name-%07d"}`},
		"nothing in resources": {"what is left out takes no room", 1, 1, `{"name":"%d"}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			resources := writeLargest(t, dir, test.applications, test.distinct, test.resource)
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory_fitsTheLargestReport$", "-test.v")
			child.Env = append(os.Environ(), readDirEnv+"="+dir)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			_, after, _ := strings.Cut(string(out), "VmHWM:")
			var peak int
			if _, err := fmt.Sscan(after, &peak); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%d resources: peak %d MiB", resources, peak>>10)
			if peak<<10 > roomForAReport {
				t.Errorf("%s: reading %d resources takes %d MiB, want at most %d", test.why, resources, peak>>10, roomForAReport>>20)
			}
		})
	}
}

// writeLargest writes a report of exactly the largest accepted size.
func writeLargest(t *testing.T, dir string, applications, distinct int, resource string) (resources int) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "argocd_guestbook.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	left := intermediate.MaxReportBytes
	put := func(format string, args ...any) {
		n, err := fmt.Fprintf(w, format, args...)
		if err != nil {
			t.Fatal(err)
		}
		left -= n
	}
	const row = `{"cluster":"cluster-%05d","namespace":"argocd","name":"guestbook-cluster-%05d","resources":%d}`
	rows := applications * (len(row) + 10)
	put(`{"schemaVersion":2,"namespace":"argocd","name":"guestbook","lists":[`)
	for i := range applications {
		if i > 0 {
			put(",")
		}
		put("[")
		for first, until := true, rows+(left-rows)*(applications-i-1)/(applications-i); left > until+300; first = false {
			if !first {
				put(",")
			}
			put(resource, resources%distinct)
			resources++
		}
		put("]")
	}
	put(`],"applications":[`)
	for i := range applications {
		if i > 0 {
			put(",")
		}
		put(row, i, i, i)
	}
	put("]}")
	put("%s", strings.Repeat(" ", left))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return resources
}

func readLargest(t *testing.T, dir string) {
	debug.SetGCPercent(25) // as the binary does
	r, err := intermediate.NewStore(dir).Read("argocd", "guestbook")
	if err != nil {
		t.Fatal(err)
	}
	x, _ := spied()
	x.SetWork(compact(t, manifestWork(guestbook, "cluster-00000", "guestbook-cluster-00000", shows("Healthy", "Synced"))))
	x.SetSearch(r)
	x.SetSearch(r) // an update: the old report stays in memory while the new one is read
	x.View(guestbook)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			t.Log(line)
		}
	}
}
