// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"os"
	"path/filepath"
	"testing"
)

// If a user names a folder that is not empty, release deletes only an earlier release in it.
func TestRelease_keepsTheRestOfItsFolder(t *testing.T) {
	r := &release{Request: Request{Out: t.TempDir()}}
	old := map[string][]byte{"files/install.yaml": nil, "images/project/one/oci-layout": nil}
	rest := map[string][]byte{"notes.txt": nil, "1.0.0/files/install.yaml": nil}
	for _, files := range []map[string][]byte{old, rest} {
		if err := writeFiles(r.Out, files); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.clear(); err != nil {
		t.Fatal(err)
	}
	for name := range old {
		if _, err := os.Stat(filepath.Join(r.Out, name)); !os.IsNotExist(err) {
			t.Errorf("%s of an earlier release is there: %v", name, err)
		}
	}
	for name := range rest {
		if _, err := os.Stat(filepath.Join(r.Out, name)); err != nil {
			t.Errorf("%s is not there any more: %v", name, err)
		}
	}
}
