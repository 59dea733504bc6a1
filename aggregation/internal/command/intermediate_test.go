// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// A late, missing or damaged intermediate report never removes content from the report.
func TestIntermediateReport_keepsContentIfMissingOrDamaged(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "not-there-yet")
	through := &tap{}
	start(t, through, "--intermediate-dir="+dir)
	a := w.lone("guestbook")
	degraded := values{"healthStatus": "Degraded", "syncStatus": "OutOfSync"}
	w.report(a, degraded)
	w.row("guestbook", "Degraded OutOfSync") // from feedback alone

	w.must(os.Mkdir(dir, 0o750))
	store := intermediate.NewStore(dir)
	write := func(message string) {
		t.Helper()
		w.must(store.Write(&intermediate.Report{
			Namespace: w.namespace, Name: "guestbook", Applications: []intermediate.Application{{
				Cluster: a.cluster, Namespace: w.namespace, Name: a.name,
				Resources:  []intermediate.Resource{{APIVersion: "v1", Kind: "Service", Name: message}},
				Conditions: []intermediate.Condition{{Type: "NewKindOfError", Message: message}},
			}},
		}))
	}
	says := func(want string) {
		t.Helper()
		testkit.Eventually(t, "the report to say "+want, func() error {
			r, err := w.read("guestbook")
			if err != nil {
				return err
			}
			got := ""
			for _, c := range r.Statuses.ClusterConditions[0].Conditions {
				got += c.Message
			}
			for _, resource := range r.Statuses.Resources {
				got += "+" + resource.Name
			}
			if got != want {
				return fmt.Errorf("it says %q", got)
			}
			return nil
		})
	}
	write("first")
	says("first+first")
	write("second")
	says("second+second")

	files, err := filepath.Glob(filepath.Join(dir, "*"))
	w.must(err)
	for _, garbage := range []string{"", "{", `{"schemaVersion":0}`, strings.Repeat("x", 1000)} {
		w.must(os.WriteFile(files[0], []byte(garbage), 0o600))
		w.passed()
		says("second+second")
	}
	testkit.Eventually(t, "a word about it", func() error {
		if !strings.Contains(through.logged(), "its previous content stays in use") {
			return fmt.Errorf("logged:\n%s", through.logged())
		}
		return nil
	})
	w.must(os.RemoveAll(dir))
	w.passed()
	says("second+second")

	w.must(os.Mkdir(dir, 0o750))
	write("third")
	says("third+third")
	w.must(store.Write(&intermediate.Report{Namespace: w.namespace, Name: "guestbook"}))
	says("") // a valid report without content replaces the old content
}
