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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// builder builds components from the tool modules below root into the folder bin.
type builder struct {
	root, bin string
	// parts is a folder with existing binaries of the user, which are used instead of a build, or "".
	parts string
	out   io.Writer
	// toolchains is the Go version and platform by tool module.
	toolchains map[string]string
}

func newBuilder(root, bin, parts string, out io.Writer) (*builder, error) {
	b := &builder{out: out, toolchains: map[string]string{}}
	for to, path := range map[*string]string{&b.root: root, &b.bin: bin, &b.parts: parts} {
		if path == "" {
			continue
		}
		var err error
		if *to, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	if b.parts == b.bin {
		b.parts = ""
	}
	return b, nil
}

// scratch returns the folder of unfinished files. It is on the same file system as bin, so that finishing is
// a rename.
func (b *builder) scratch() string { return filepath.Join(b.bin, ".tmp") }

func (b *builder) stamp(p part) string { return filepath.Join(b.bin, ".stamps", p.name) }

// run builds the parts that are not current, one after another, and stops at the first failure. It waits
// while another builder works on the same folder.
func (b *builder) run(ctx context.Context, parts []part) (err error) {
	if err := os.MkdirAll(filepath.Join(b.bin, ".stamps"), 0o755); err != nil {
		return err
	}
	release, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	clean := func() error { return os.RemoveAll(b.scratch()) } // a killed builder may have left files
	if err := clean(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean()) }()
	prints := map[string]string{}
	var stale []part
	for _, p := range parts {
		if prints[p.name], err = b.fingerprint(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if !b.current(p, prints[p.name]) {
			stale = append(stale, p)
		}
	}
	if len(stale) == 0 {
		_, err := fmt.Fprintf(b.out, "current: %s\n", strings.Join(partNames(parts), " "))
		return err
	}
	ahead, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); b.downloadAhead(ahead, stale) }()
	defer func() { stop(); <-done }()
	for i, p := range stale {
		line := startProgress(b.out, fmt.Sprintf("[%d/%d] %-24s", i+1, len(stale), p.name))
		outcome, err := b.make(ctx, p, prints[p.name], line)
		if err != nil {
			outcome = "failed"
		}
		line.finish(outcome)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// lock prevents two builders in one checkout from writing the same files. The kernel releases the lock when
// the process ends, however it ends.
func (b *builder) lock(ctx context.Context) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(b.bin, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	for waiting := false; ; waiting = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // no data was written to it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		if !waiting {
			_, _ = fmt.Fprintln(b.out, "waiting for another build in this checkout") // a closed output is no reason to stop
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}

// make builds p in the scratch folder, moves it to its final path in one step and writes its stamp. It
// returns a text for the user.
func (b *builder) make(ctx context.Context, p part, print string, line *progress) (outcome string, err error) {
	defer must.Return(&err)
	began, unfinished, output := time.Now(), filepath.Join(b.scratch(), p.name), filepath.Join(b.bin, p.name)
	must.OK(os.MkdirAll(b.scratch(), 0o755))
	given := b.given(p)
	switch {
	case given != "":
		err = os.Symlink(given, unfinished)
		outcome = given + " is used: " + version(ctx, given)
	case p.pkg == "":
		err = b.copyFiles(ctx, p, unfinished)
	default:
		err = b.compile(ctx, p, unfinished, line)
	}
	if err != nil {
		return "", err
	}
	// Without its stamp the part is not current, so an interruption before the new stamp causes another
	// build.
	err = os.RemoveAll(b.stamp(p))
	if p.pkg == "" { // a folder cannot replace one with files by a rename
		err = errors.Join(err, os.RemoveAll(output))
	}
	must.OK(errors.Join(err, os.Rename(unfinished, output)))
	text, bytes, err := describe(print, output)
	if err == nil {
		err = os.WriteFile(unfinished+".stamp", []byte(text), 0o644)
	}
	if err == nil {
		err = os.Rename(unfinished+".stamp", b.stamp(p))
	}
	if outcome == "" {
		outcome = fmt.Sprintf("built in %s, %.1f MB", time.Since(began).Round(time.Second), float64(bytes)/1e6)
	}
	return outcome, err
}

// compile builds p into the file target.
func (b *builder) compile(ctx context.Context, p part, target string, line *progress) (err error) {
	defer must.Return(&err)
	module := filepath.Join(b.root, p.module)
	goMod := must.Get(os.ReadFile(filepath.Join(module, "go.mod")))
	ldflags := must.Get(linkerFlags(p, string(goMod)))
	flags := append(p.flags(), "-ldflags="+ldflags)
	if p.edit.module != "" {
		modfile := must.Get(b.edited(ctx, p, string(goMod)))
		flags = append(flags, "-modfile="+modfile)
	}
	_, err = b.goCommand(ctx, p.module, line, slices.Concat([]string{"build", "-o", target}, flags, []string{p.pkg})...)
	return err
}

// copyFiles copies files by the rules of p into the folder target, which it creates.
func (b *builder) copyFiles(ctx context.Context, p part, target string) (err error) {
	defer must.Return(&err)
	for _, rule := range p.copies {
		dir := must.Get(b.moduleDir(ctx, rule.toolModule, rule.module))
		matches, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(rule.glob)))
		if err != nil || len(matches) == 0 {
			return errors.Join(err, fmt.Errorf("%s has no file %s", rule.module, rule.glob))
		}
		to := filepath.Join(target, rule.to)
		must.OK(os.MkdirAll(to, 0o755))
		for _, match := range matches {
			content := must.Get(os.ReadFile(match))
			if !rule.templates && bytes.Contains(content, []byte("{{ ")) {
				continue
			}
			must.OK(os.WriteFile(filepath.Join(to, filepath.Base(match)), content, 0o644))
		}
	}
	return nil
}

// downloadAhead downloads the modules of parts in the order of their builds, in parallel to them. A compiler
// that waits for the network would not use its core. downloadAhead reports no error, because the build that
// needs the module reports it.
func (b *builder) downloadAhead(ctx context.Context, parts []part) {
	for _, p := range parts {
		if p.pkg != "" && b.given(p) == "" {
			_, _ = b.goCommand(ctx, p.module, nil, slices.Concat([]string{"list", "-deps"}, p.flags(), []string{p.pkg})...) // see above
		}
	}
}

// moduleDir returns the folder with the source of a module at the version that the tool module pins. It
// downloads the module if needed.
func (b *builder) moduleDir(ctx context.Context, toolModule, module string) (string, error) {
	out, err := b.goCommand(ctx, toolModule, nil, "mod", "download", "-json", module)
	var answer struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &answer); err == nil && decodeErr != nil {
		return "", fmt.Errorf("read where %s is: %w", module, decodeErr)
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer.Dir, err
}

// goCommand runs the go command in a tool module, writes its messages to line, and returns its output. When
// ctx ends, goCommand interrupts it and gives it time to stop its compilers.
func (b *builder) goCommand(ctx context.Context, module string, line *progress, args ...string) ([]byte, error) {
	if line == nil {
		line = &progress{}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, module)
	// The result depends neither on the workspace nor on a C compiler of the machine.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS="+neutralFlags(os.Getenv("GOFLAGS")), "PWD="+cmd.Dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, line
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("go %s: %w%s", args[0], err, line.messages())
	}
	return out.Bytes(), nil
}

// neutralFlags returns the flags of the user's GOFLAGS that do not change the result: a limit on parallel
// work, and a writable cache.
func neutralFlags(flags string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(flags), func(flag string) bool {
		return !strings.HasPrefix(flag, "-p=") && !strings.HasPrefix(flag, "-modcacherw")
	}), " ")
}

// flags returns the build flags. They are the same for every binary on every machine. With different flags,
// the go command would compile shared packages twice. -v prints each package, which the progress counts.
func (p part) flags() []string {
	flags := []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-v"}
	if p.tags != "" {
		flags = append(flags, "-tags="+p.tags)
	}
	return flags
}

// linkerFlags omits symbol tables, which are a third of the size, and sets the version if p reports one.
func linkerFlags(p part, goMod string) (string, error) {
	const common = "-s -w "
	if p.versionOf == "" {
		return common, nil
	}
	for line := range strings.Lines(goMod) {
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) < 2 || words[0] != p.versionOf || !strings.HasPrefix(words[1], "v") {
			continue
		}
		version := strings.TrimPrefix(words[1], "v")
		if numbers := strings.SplitN(version, ".", 3); len(numbers) == 3 {
			return common + strings.NewReplacer("{version}", version, "{major}", numbers[0], "{minor}", numbers[1]).Replace(p.ldflags), nil
		}
	}
	return "", fmt.Errorf("go.mod requires no version of %s", p.versionOf)
}

// given returns the path of p in the user's folder of existing binaries, or "" if it does not exist there.
func (b *builder) given(p part) string {
	path := filepath.Join(b.parts, p.name)
	if info, err := os.Stat(path); b.parts == "" || p.pkg == "" || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// version returns the first line of a binary's output for --version, or a text that the output is
// missing.
func version(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "it does not print its version"
	}
	return line
}

// current reports whether the output in bin was built with the fingerprint print and is unchanged.
func (b *builder) current(p part, print string) bool {
	kept, err := os.ReadFile(b.stamp(p))
	if err != nil {
		return false
	}
	now, _, err := describe(print, filepath.Join(b.bin, p.name))
	return err == nil && now == string(kept)
}

// describe returns the text of a stamp: a fingerprint, and the size of every file of the output. The sizes
// show a lost or damaged file. The output is a file or a folder. bytes is its total size.
func describe(print, output string) (text string, bytes int64, err error) {
	text = print + "\n"
	err = filepath.WalkDir(output, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text += fmt.Sprintf("%s %d\n", strings.TrimPrefix(path, output), info.Size())
		bytes += info.Size()
		return nil
	})
	return text, bytes, err
}
