// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func sample() *Report {
	since := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	return &Report{
		SchemaVersion: SchemaVersion,
		Namespace:     "argocd",
		Name:          "guestbook",
		Applications: []Application{
			{
				Cluster: "cluster1", Namespace: "argocd", Name: "guestbook-cluster1",
				Resources: []Resource{
					{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "guestbook", Name: "guestbook"},
					{APIVersion: "v1", Kind: "Namespace", Name: "guestbook"},
				},
				Conditions: []Condition{{Type: "SyncError", Message: "one or more objects failed to apply <&> \"quoted\"\nline two ü"}},
			},
			{Cluster: "cluster2", Namespace: "argocd", Name: "guestbook-cluster2", StaleSince: &since},
		},
	}
}

// The file of a released version stays readable, so its golden file is never edited. A new schema version
// adds a file and keeps the old ones.
func TestStore_agreesWithGoldenFiles(t *testing.T) {
	for version, file := range map[int]string{1: "v1.json", 2: "v2.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		s := NewStore(t.TempDir())
		put(t, s, "argocd_guestbook.json", string(data))
		got, err := s.Read("argocd", "guestbook")
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		want := sample()
		want.SchemaVersion = version
		if !reflect.DeepEqual(got, want) {
			t.Errorf("version %d reads as %+v", version, got)
		}
		if version != SchemaVersion {
			continue
		}
		if err := s.Write(sample()); err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(filepath.Join(s.dir, "argocd_guestbook.json"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(written)) != strings.TrimSpace(string(data)) {
			t.Errorf("version %d is written as\n%s\nnot as its golden file", version, written)
		}
	}
}

// A report that is read and written again has the same bytes, so a restart writes nothing.
func TestEncode_emptyListsAreLeftOut(t *testing.T) {
	r := sample()
	r.Applications[0].Resources, r.Applications[0].HeldResources, r.Applications[0].Conditions = []Resource{}, []HeldResource{}, []Condition{}
	written, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := decode(written)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(read)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(written) {
		t.Errorf("first %s, then %s", written, again)
	}
}

func TestRead(t *testing.T) {
	tests := map[string]struct {
		reason, content string
		none            bool
		applications    int
		errPart         string
	}{
		"none yet":        {reason: "no file is no report, and no failure", content: "", none: true},
		"empty report":    {reason: "a report without Applications is knowledge", content: `{"schemaVersion":1,"namespace":"a","name":"b","applications":[]}`},
		"unknown fields":  {reason: "a newer writer of the same schema may add fields", content: `{"schemaVersion":1,"namespace":"a","name":"b","new":{"x":[1]},"applications":[{"cluster":"c","namespace":"n","name":"m","more":true}]}`, applications: 1},
		"next version":    {reason: "the writer may be upgraded first", content: `{"schemaVersion":3,"namespace":"a","name":"b","applications":[{"cluster":"c","namespace":"n","name":"m"}]}`, applications: 1},
		"a list of none":  {reason: "a number that is none of a list's would lose resources", content: `{"schemaVersion":2,"namespace":"a","name":"b","lists":[[]],"applications":[{"cluster":"c","namespace":"n","name":"m","resources":1}]}`, errPart: "list 1 of 1"},
		"truncated":       {reason: "unreadable is neither none nor empty", content: `{"schemaVersion":1,"namespace":"a","na`, errPart: "decode"},
		"garbage":         {reason: "a file of zeros after a crash", content: "\x00\x00\x00\x00", errPart: "decode"},
		"nothing in it":   {reason: "a file that was never filled", content: " ", errPart: "decode"},
		"no version":      {reason: "some other JSON", content: `{"namespace":"a","name":"b"}`, errPart: "schemaVersion 0"},
		"of another":      {reason: "a copied or renamed file must not speak for another", content: `{"schemaVersion":1,"namespace":"a","name":"other"}`, errPart: "is of ApplicationSet a/other"},
		"type mismatch":   {reason: "a list where a text belongs", content: `{"schemaVersion":1,"namespace":["a"],"name":"b"}`, errPart: "decode"},
		"two reports":     {reason: "an appended second document", content: `{"schemaVersion":1,"namespace":"a","name":"b"}{}`, errPart: "decode"},
		"key differs":     {reason: "an empty namespace is not the file's", content: `{"schemaVersion":1,"name":"b"}`, errPart: "no report"},
		"path in content": {reason: "the content must not lead outside", content: `{"schemaVersion":1,"namespace":"../a","name":"b"}`, errPart: "no report"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := NewStore(t.TempDir())
			if tc.content != "" {
				put(t, s, "a_b.json", tc.content)
			}
			r, err := s.Read("a", "b")
			switch {
			case tc.none:
				if !errors.Is(err, ErrNone) {
					t.Errorf("%s: got %v, want ErrNone", tc.reason, err)
				}
			case tc.errPart != "":
				if err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), tc.errPart) {
					t.Errorf("%s: got %v, want an error with %q", tc.reason, err, tc.errPart)
				}
			case err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case len(r.Applications) != tc.applications:
				t.Errorf("%s: %d Applications, want %d", tc.reason, len(r.Applications), tc.applications)
			}
		})
	}
}

func TestStore_hasASeparateFileForEveryName(t *testing.T) {
	s := NewStore(t.TempDir())
	long, longNamespace := strings.Repeat("a", 252), strings.Repeat("n", 63)
	keys := []Key{
		{"a", "b"}, {"a-b", "c"}, {"a", "b-c"}, {"a.b", "c"}, {"a", "b.json"},
		{longNamespace, long + "x"}, {longNamespace, long + "y"}, {longNamespace, strings.Repeat("n", 190)},
		{longNamespace, strings.Repeat("m", 186)}, {longNamespace, strings.Repeat("m", 187)},
	}
	for i, k := range keys {
		if err := s.Write(&Report{Namespace: k.Namespace, Name: k.Name, Applications: slices.Repeat(sample().Applications[1:], i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range keys {
		r, err := s.Read(k.Namespace, k.Name)
		if err != nil || len(r.Applications) != i {
			t.Errorf("%s: %v, %v", k, r, err)
		}
	}
	listed, err := s.List()
	if err != nil || len(listed) != len(keys) {
		t.Errorf("List: %d of %d, %v", len(listed), len(keys), err)
	}
	for _, k := range keys {
		if err := s.Remove(k.Namespace, k.Name); err != nil {
			t.Error(err)
		}
	}
	if listed, err := s.List(); err != nil || len(listed) != 0 {
		t.Errorf("after Remove: %v, %v", listed, err)
	}
}

func TestStore_refusesIllegalNames(t *testing.T) {
	s := NewStore(t.TempDir())
	for _, k := range []Key{{"", "b"}, {"a", ""}, {"..", "b"}, {"a/b", "c"}, {"a_b", "c"}, {"a", "../../etc"}, {"a", strings.Repeat("x", 254)}, {"a\x00", "b"}} {
		if err := s.Write(&Report{Namespace: k.Namespace, Name: k.Name}); err == nil {
			t.Errorf("Write took %q", k)
		}
		if _, err := s.Read(k.Namespace, k.Name); err == nil || errors.Is(err, ErrNone) {
			t.Errorf("Read of %q: %v", k, err)
		}
		if err := s.Remove(k.Namespace, k.Name); err == nil {
			t.Errorf("Remove took %q", k)
		}
	}
}

func TestList_leavesForeignFilesOut(t *testing.T) {
	s := NewStore(t.TempDir())
	for _, file := range []string{"README", "a.json", "_b.json", "a_.json", "a_b_c.json", ".new-123", ".a_b.json", "a_b.yaml", "lost+found"} {
		put(t, s, file, "{}")
	}
	put(t, s, "a_b.json", `garbage, but of a report`)
	got, err := s.List()
	if err != nil || !reflect.DeepEqual(got, []Key{{"a", "b"}}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := NewStore(filepath.Join(s.dir, "absent")).List(); err != nil || got != nil {
		t.Errorf("absent directory: %v, %v", got, err)
	}
}

func TestList_namesAnUnreadableShortenedFile(t *testing.T) {
	s := NewStore(t.TempDir())
	put(t, s, "a_b.json", "{}")
	k := Key{strings.Repeat("n", 63), strings.Repeat("x", 253)}
	put(t, s, fileName(k), "garbage")
	got, err := s.List()
	if err == nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWrite_keepsTheOldReportIfItFails(t *testing.T) {
	s := NewStore(t.TempDir())
	if err := s.Write(sample()); err != nil {
		t.Fatal(err)
	}
	// A directory with the report's name prevents the replacement. The tests may run as root, so permissions
	// cannot prevent it.
	if err := os.Mkdir(filepath.Join(s.dir, "a_b.json"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(&Report{Namespace: "a", Name: "b"}); err == nil {
		t.Error("wrote over a directory")
	}
	if _, err := s.Read("a", "b"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("a directory in place of a report reads as %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, scratch+"*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := s.Read("argocd", "guestbook"); err != nil {
		t.Errorf("the other report: %v", err)
	}
}

// If the disk is full, Write returns an error and the old report stays. The test uses the limit on the file
// size, because it needs no rights.
func TestWrite_keepsTheOldReportOnAFullDisk(t *testing.T) {
	s := NewStore(t.TempDir())
	if err := s.Write(sample()); err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	next := sample()
	next.Applications = nil
	err := s.Write(next)
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "argocd/guestbook") {
		t.Errorf("got %v", err)
	}
	got, err := s.Read("argocd", "guestbook")
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("the last good report is lost: %+v, %v", got, err)
	}
}

func TestPrepare(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "new", "dir"))
	if err := s.Check(); err == nil {
		t.Error("a missing directory passed as writable")
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	put(t, s, scratch+"left", "half a rep")
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewStore(file).Prepare(); err == nil {
		t.Error("a file passed as directory")
	}
}

func put(t *testing.T, s *Store, file, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, file), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkStore_writeAndRead(b *testing.B) {
	s := NewStore(b.TempDir())
	r := sample()
	for len(r.Applications) < 500 {
		r.Applications = append(r.Applications, r.Applications[0])
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Write(r); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Read(r.Namespace, r.Name); err != nil {
			b.Fatal(err)
		}
	}
}
