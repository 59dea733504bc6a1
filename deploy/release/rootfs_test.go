// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// insideVariable makes this test binary the first step of a container, see runImage.
const insideVariable = "RELEASE_TEST_ROOTFS"

func TestMain(m *testing.M) {
	if root := os.Getenv(insideVariable); root != "" {
		fmt.Fprintln(os.Stderr, enter(root, os.Args[1:]))
		os.Exit(99)
	}
	os.Exit(m.Run())
}

// enter makes root the read-only root of this process and becomes the program.
func enter(root string, program []string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(root, &fs); err != nil {
		return err
	}
	// A namespace's remount cannot allow an operation that the file system forbids.
	kept := uintptr(fs.Flags) & (syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC | syscall.MS_NOATIME | syscall.MS_NODIRATIME)
	err := errors.Join(
		syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount(root, root, "", syscall.MS_BIND, ""),
		syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|kept, ""),
		syscall.Chroot(root), syscall.Chdir("/"))
	if err != nil {
		return fmt.Errorf("make %s the root: %w", root, err)
	}
	if _, err := os.Create("/written"); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("the root is not read-only: %w", err)
	}
	const clearAmbient, ambient = 4, 47 // PR_CAP_AMBIENT_CLEAR_ALL, PR_CAP_AMBIENT
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, ambient, clearAmbient, 0); errno != 0 {
		return fmt.Errorf("give up the capabilities: %w", errno)
	}
	return fmt.Errorf("run %s: %w", program[0], syscall.Exec(program[0], program, slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, insideVariable)
	})))
}

// runImage runs a command in an unpacked image as a container engine would. The command has the
// image's user and environment. Its root is the image, read-only.
func runImage(t *testing.T, root string, config v1.Config, command ...string) (string, error) {
	t.Helper()
	uid, gid, ok := strings.Cut(config.User, ":")
	user, err := strconv.Atoi(uid)
	group, err2 := strconv.Atoi(gid)
	if !ok || err != nil || err2 != nil || user == 0 || group == 0 {
		t.Fatalf("the image's user is %q, want numbers other than 0", config.User)
	}
	const sysChroot, sysAdmin = 18, 21 // capabilities, for enter alone
	run := exec.CommandContext(t.Context(), "/proc/self/exe", command...)
	run.Env = append(slices.Clone(config.Env), insideVariable+"="+root)
	run.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{sysChroot, sysAdmin},
	}
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	err = run.Run()
	return out.String(), err
}

// unpack writes an image's files to a folder and returns their names, sorted.
func unpack(t *testing.T, img v1.Image) (root string, names []string) {
	t.Helper()
	root = t.TempDir()
	files := mutate.Extract(img)
	defer func() { _ = files.Close() }()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return root, names
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 {
			t.Errorf("%s belongs to %d:%d with mode %o: want root's, written by nobody else", h.Name, h.Uid, h.Gid, h.Mode)
		}
		names = append(names, h.Name)
		path := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, h.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
