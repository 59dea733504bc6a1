// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// editedModule copies what p needs of the module that p.edit changes, makes the change, and returns a go.mod for -modfile
// that takes the module from the copy. Everything it writes lies below b.sources(). The go command would do this with
// -overlay, but refuses that for files in the module cache.
func (b *builder) editedModule(ctx context.Context, p part) (modfile string, err error) {
	original, err := b.moduleDir(ctx, p.module, p.edit.module)
	if err != nil {
		return "", err
	}
	files, err := b.neededFiles(ctx, p)
	if err != nil {
		return "", err
	}
	changed := filepath.FromSlash(p.edit.file)
	if !slices.Contains(files, filepath.Join(original, changed)) {
		return "", fmt.Errorf("%s of %s is not part of the build", p.edit.file, p.edit.module)
	}
	dir := filepath.Join(b.sources(), p.name)
	for _, file := range append(files, filepath.Join(original, "go.mod")) {
		name, err := filepath.Rel(original, file)
		if err != nil {
			return "", err
		}
		if err := copyEdited(file, filepath.Join(dir, name), name == changed, *p.edit); err != nil {
			return "", err
		}
	}
	return b.redirect(p, dir)
}

// neededFiles lists the files of the edited module that go into p.
func (b *builder) neededFiles(ctx context.Context, p part) ([]string, error) {
	var out bytes.Buffer
	err := b.goCommand(ctx, filepath.Join(b.root, p.module), &out, &goOutput{},
		"list", "-mod=readonly", "-deps", "-json=Dir,Module,GoFiles,SFiles,HFiles,EmbedFiles", p.pkg)
	if err != nil {
		return nil, err
	}
	var files []string
	for decoder := json.NewDecoder(&out); ; {
		var pkg struct {
			Dir                                 string
			Module                              *struct{ Path string }
			GoFiles, SFiles, HFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the packages of %s: %w", p.pkg, err)
		}
		if pkg.Module == nil || pkg.Module.Path != p.edit.module {
			continue
		}
		for _, name := range slices.Concat(pkg.GoFiles, pkg.SFiles, pkg.HFiles, pkg.EmbedFiles) {
			files = append(files, filepath.Join(pkg.Dir, name))
		}
	}
}

// copyEdited copies a file, with the change made if this is the one to change.
func copyEdited(from, to string, change bool, e edit) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text := string(content)
	if change {
		if text, err = e.apply(text); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), dirMode); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text), fileMode)
}

// redirect writes a copy of the tool module's go.mod that takes the edited module from dir, with its go.sum beside it.
func (b *builder) redirect(p part, dir string) (modfile string, err error) {
	for _, extension := range []string{"mod", "sum"} {
		content, err := os.ReadFile(filepath.Join(b.root, p.module, "go."+extension))
		if err != nil {
			return "", err
		}
		if extension == "mod" {
			content = fmt.Appendf(content, "\nreplace %s => %q\n", p.edit.module, filepath.ToSlash(dir))
		}
		if err := os.WriteFile(dir+"."+extension, content, fileMode); err != nil {
			return "", err
		}
	}
	return dir + ".mod", nil
}
