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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// commonFlags are the same for every binary on every machine: building one with and one without -trimpath would compile
// everything they share twice. -v is what the progress is counted by.
var commonFlags = []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-v"}

// commonEnv makes the result independent of the workspace and of whether the machine has a C compiler.
var commonEnv = []string{"GOWORK=off", "CGO_ENABLED=0"}

// stopGrace is how long an interrupted go command may take to stop its compilers and remove its folder.
const stopGrace = 10 * time.Second

// goBuild builds p into the file target, telling m how far it is.
func (b *builder) goBuild(ctx context.Context, p part, target string, m *meter) error {
	dir := filepath.Join(b.root, p.module)
	flags, err := linkerFlags(dir, p)
	if err != nil {
		return err
	}
	args := append(p.flags(), "-ldflags="+flags)
	if p.edit != nil {
		m.update("copying " + p.edit.module)
		modfile, err := b.editedModule(ctx, p)
		if err != nil {
			return err
		}
		args = append(args, "-modfile="+modfile)
	}
	watch := &goOutput{main: p.pkg, report: m.update}
	if watch.total, err = b.stalePackages(ctx, dir, watch, append(args, p.pkg)); err != nil {
		return err
	}
	return b.goCommand(ctx, dir, io.Discard, watch, slices.Concat([]string{"build", "-o", target}, args, []string{p.pkg})...)
}

// flags are those of the go command that say what p is made of.
func (p part) flags() []string {
	if p.tags == "" {
		return slices.Clone(commonFlags)
	}
	return append(slices.Clone(commonFlags), "-tags="+p.tags)
}

// stalePackages counts the packages that the go command would compile for a build with args, downloading what they need.
func (b *builder) stalePackages(ctx context.Context, dir string, watch *goOutput, args []string) (int, error) {
	var out bytes.Buffer
	list := slices.Concat([]string{"list", "-deps", "-f={{if .Stale}}{{.ImportPath}}{{end}}"}, args)
	err := b.goCommand(ctx, dir, &out, watch, list...)
	return len(strings.Fields(out.String())), err
}

// linkerFlags returns the linker flags of p: no symbol tables, which nobody reads and which are a third of the size, and the
// version, where p reports one.
func linkerFlags(dir string, p part) (string, error) {
	if p.versionOf == "" {
		return "-s -w", nil
	}
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	version, err := pinned(string(goMod), p.versionOf)
	if err != nil {
		return "", err
	}
	stamped, err := withVersion(p.ldflags, version)
	return "-s -w " + stamped, err
}

// toolchain names the Go version and platform that the tool module is built with.
func (b *builder) toolchain(ctx context.Context, module string) (string, error) {
	if known, ok := b.toolchains[module]; ok {
		return known, nil
	}
	var out bytes.Buffer
	err := b.goCommand(ctx, filepath.Join(b.root, module), &out, &goOutput{}, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	b.toolchains[module] = out.String()
	return out.String(), nil
}

// moduleDir returns the folder with the source of a module at the version that the tool module pins, downloading it if needed.
func (b *builder) moduleDir(ctx context.Context, toolModule, module string) (string, error) {
	var out bytes.Buffer
	err := b.goCommand(ctx, filepath.Join(b.root, toolModule), &out, &goOutput{}, "mod", "download", "-json", module)
	var answer struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out.Bytes(), &answer); err == nil && decodeErr != nil {
		return "", fmt.Errorf("read where %s is: %w", module, decodeErr)
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return answer.Dir, nil
}

// goCommand runs the go command in dir. When ctx ends, it is interrupted together with everything it started. The error of a
// command that failed ends with the last lines it wrote.
func (b *builder) goCommand(ctx context.Context, dir string, stdout io.Writer, stderr *goOutput, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), commonEnv...)
	cmd.Env = append(cmd.Env, "GOFLAGS="+neutralFlags(os.Getenv("GOFLAGS")), "PWD="+dir)
	if _, err := os.Stat(b.scratch()); err == nil {
		cmd.Env = append(cmd.Env, "GOTMPDIR="+b.scratch())
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopGrace
	err := cmd.Run()
	if state := cmd.ProcessState; state != nil {
		b.processor += state.UserTime() + state.SystemTime() // that of the compilers and the linker is part of it
	}
	if ctx.Err() != nil {
		if cmd.Process != nil {
			// A compiler may have started just when the interrupt came; an empty group is no error worth telling.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // see above
		}
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go %s: %w%s", args[0], err, stderr.lastLines())
	}
	return nil
}

// neutralFlags returns those of the person's GOFLAGS that do not change what is built: a limit on parallel work, a writable cache.
func neutralFlags(flags string) string {
	var kept []string
	for flag := range strings.FieldsSeq(flags) {
		if strings.HasPrefix(flag, "-p=") || strings.HasPrefix(flag, "-modcacherw") {
			kept = append(kept, flag)
		}
	}
	return strings.Join(kept, " ")
}
