// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestGoesOn(t *testing.T) {
	running := func(change func(*corev1.ContainerStatus)) *corev1.Pod {
		pod := &corev1.Pod{}
		for _, name := range containers {
			s := corev1.ContainerStatus{Name: name, ContainerID: "containerd://" + name, Ready: true}
			if name == "aggregation" {
				change(&s)
			}
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
		}
		return pod
	}
	before := running(func(*corev1.ContainerStatus) {})
	for what, change := range map[string]func(*corev1.ContainerStatus){
		"another container": func(s *corev1.ContainerStatus) { s.ContainerID = "containerd://other" },
		"started again":     func(s *corev1.ContainerStatus) { s.RestartCount = 1 },
		"not ready":         func(s *corev1.ContainerStatus) { s.Ready = false },
		"not there":         func(s *corev1.ContainerStatus) { s.Name = "other" },
	} {
		now := running(change)
		if goesOn(before, now, "propagation") == nil {
			t.Errorf("%s: it goes on", what)
		}
		if err := goesOn(before, now, "aggregation"); err != nil {
			t.Errorf("%s, and it is the one to exchange: %v", what, err)
		}
	}
	if err := goesOn(before, before, "propagation"); err != nil {
		t.Errorf("nothing has changed: %v", err)
	}
}

func TestMountModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mountinfo")
	content := "1 0 0:1 / / ro,relatime master:1 - overlay overlay rw,lowerdir=/a\n" +
		"2 1 254:0 /volume /var/run/multicluster-integrations rw,relatime - ext4 /dev/vda ro\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	modes, err := mountModes(path)
	if err != nil || modes["/"] != "ro" || modes[reports] != "rw" || modes[tokens] != "" {
		t.Errorf("%v, %v: want those of the mounts, not of their file systems", modes, err)
	}
}

func TestSubjectOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for token, want := range map[string]string{"e30.eyJzdWIiOiJzeXN0ZW06YSJ9.c2ln": "system:a", "nothing": "", "e30.e.c2ln": ""} {
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := subjectOf(path); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", token, got, err, want)
		}
	}
}
