// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// edit is one change to the source of a pinned module. It replaces a text that occurs exactly once in one
// file.
type edit struct {
	module, file, old, new string
}

// apply returns the changed source. It returns an error if the old text does not occur exactly once. Then the
// pinned version has changed, and a person has to check the edit.
func (e edit) apply(source string) (string, error) {
	if n := strings.Count(source, e.old); n != 1 {
		return "", fmt.Errorf("%s of %s holds %q %d times, not once: look at the pinned version and mend the edit",
			e.file, e.module, e.old, n)
	}
	return strings.Replace(source, e.old, e.new, 1), nil
}

// edited copies the module that p.edit changes, makes the change, and returns a go.mod for -modfile that uses
// the copy. The go command's -overlay would do the same, but it rejects files in the module cache.
func (b *builder) edited(ctx context.Context, p part, goMod string) (modfile string, err error) {
	defer must.Return(&err)
	original := must.Get(b.moduleDir(ctx, p.module, p.edit.module))
	dir := filepath.Join(b.scratch(), "src", p.name)
	must.OK(os.CopyFS(dir, os.DirFS(original)))
	file := filepath.Join(dir, filepath.FromSlash(p.edit.file))
	source := must.Get(os.ReadFile(file))
	changed := must.Get(p.edit.apply(string(source)))
	goSum := must.Get(os.ReadFile(filepath.Join(b.root, p.module, "go.sum")))
	goMod += fmt.Sprintf("\nreplace %s => %q\n", p.edit.module, filepath.ToSlash(dir))
	for path, content := range map[string]string{file: changed, dir + ".mod": goMod, dir + ".sum": string(goSum)} {
		// Files in the module cache, and so in the copy, are read-only.
		must.OK(os.RemoveAll(path))
		must.OK(os.WriteFile(path, []byte(content), 0o644))
	}
	return dir + ".mod", nil
}
