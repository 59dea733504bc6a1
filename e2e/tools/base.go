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
	"strings"
	"syscall"
	"time"
)

const (
	dirMode  = 0o755
	fileMode = 0o644
)

// builder builds parts from the tool modules below root into the folder bin.
type builder struct {
	root, bin string
	// parts is a folder with binaries that the user has already, which are not built; "": none.
	parts string
	out   io.Writer
	// toolchains remembers what the go command says about itself, by tool module.
	toolchains map[string]string
	// processor is the processor time that go commands have taken. Unlike the time by the clock it does not depend on what
	// else the machine does.
	processor time.Duration
}

func newBuilder(root, bin string, out io.Writer) *builder {
	return &builder{root: root, bin: bin, out: out, toolchains: make(map[string]string)}
}

// scratch is where everything unfinished lives: on the same file system as bin, so that finishing is a rename.
func (b *builder) scratch() string { return filepath.Join(b.bin, ".tmp") }

// sources is where edited copies of modules live while they are built.
func (b *builder) sources() string { return filepath.Join(b.bin, ".src") }

func (b *builder) stampFile(p part) string { return filepath.Join(b.bin, ".stamps", p.name) }

func (b *builder) output(p part) string { return filepath.Join(b.bin, p.name) }

// put moves what is finished to the place of p, and stamps it with its fingerprint.
func (b *builder) put(p part, unfinished, print string) error {
	if err := os.Rename(unfinished, b.output(p)); err != nil {
		return err
	}
	text, err := stamp(print, b.output(p))
	if err != nil {
		return err
	}
	return writeFile(b.stampFile(p), b.scratch(), text)
}

// writeFile writes text to path by way of the folder scratch, so that path holds all of it or what it held before.
func writeFile(path, scratch, text string) error {
	unfinished := filepath.Join(scratch, filepath.Base(path)+".stamp")
	if err := os.WriteFile(unfinished, []byte(text), fileMode); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// commonEnv makes the result independent of the workspace and of whether the machine has a C compiler.
var commonEnv = []string{"GOWORK=off", "CGO_ENABLED=0"}

// stopGrace is how long an interrupted go command may take to stop its compilers and remove its folder.
const stopGrace = 10 * time.Second

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
