// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_leavesOutWhatIsOutOfBounds(t *testing.T) {
	whole := func() Application {
		return Application{
			Cluster: "c", Namespace: "n", Name: "a",
			Resources:  []Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}, {APIVersion: "v1", Kind: "ConfigMap", Name: "ui"}},
			Conditions: []Condition{{Type: "SyncError", Message: "no"}, {Type: "OperationError", Message: "no"}},
		}
	}
	without := func(resource, condition bool) *Application {
		a := whole()
		if resource {
			a.Resources = a.Resources[1:]
		}
		if condition {
			a.Conditions = a.Conditions[1:]
		}
		return &a
	}
	long := strings.Repeat("x", 300<<10)
	for name, test := range map[string]struct {
		why    string
		change func(*Application)
		want   *Application // nil for no entry
	}{
		"long name":             {"a name is no place for 300 KiB, and cut it would be another one", func(a *Application) { a.Resources[0].Name = long }, without(true, false)},
		"long kind":             {"the same", func(a *Application) { a.Resources[0].Kind = long }, without(true, false)},
		"long API version":      {"the same", func(a *Application) { a.Resources[0].APIVersion = long }, without(true, false)},
		"long namespace":        {"the same", func(a *Application) { a.Resources[0].Namespace = strings.Repeat("n", 64) }, without(true, false)},
		"resource without name": {"nothing can be meant", func(a *Application) { a.Resources[0] = Resource{} }, without(true, false)},
		"control character":     {"it would act on a terminal", func(a *Application) { a.Resources[0].Name = "ui\x1b[2J" }, without(true, false)},
		"bidi control":          {"it would turn what is shown around", func(a *Application) { a.Resources[0].Name = "ui\u202e" }, without(true, false)},
		"condition type":        {"a type is a word", func(a *Application) { a.Conditions[0].Type = long }, without(false, true)},
		"condition nameless":    {"a type is a word", func(a *Application) { a.Conditions[0].Type = "" }, without(false, true)},
		"cluster":               {"no such cluster", func(a *Application) { a.Cluster = long }, nil},
		"application":           {"no such Application", func(a *Application) { a.Name = "" }, nil},
		"namespace":             {"no such namespace", func(a *Application) { a.Namespace = "a\nb" }, nil},
		"long message": {"its beginning says most", func(a *Application) { a.Conditions[0].Message = strings.Repeat("ü", 2000) }, func() *Application {
			a := whole()
			a.Conditions[0].Message = strings.Repeat("ü", 1021) + "..."
			return &a
		}()},
		"coloured message": {"control characters go, lines stay", func(a *Application) { a.Conditions[0].Message = "a\x1b[31m\nb\x00\x9bc" }, func() *Application {
			a := whole()
			a.Conditions[0].Message = "a[31m\nb\uFFFDc"
			return &a
		}()},
		"reversed message": {"what turns text around goes", func(a *Application) { a.Conditions[0].Message = "a\u202eb\u2066c" }, func() *Application {
			a := whole()
			a.Conditions[0].Message = "abc"
			return &a
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			odd, other := whole(), whole()
			test.change(&odd)
			other.Name = "other"
			s := NewStore(t.TempDir())
			if err := s.Write(&Report{Namespace: "a", Name: "b", Applications: []Application{odd, other}}); err != nil {
				t.Fatal(err)
			}
			r, err := s.Read("a", "b")
			if err != nil {
				t.Fatal(err)
			}
			want := []Application{other}
			if test.want != nil {
				want = []Application{*test.want, other}
			}
			if diff := cmp.Diff(want, r.Applications); diff != "" {
				t.Errorf("%s:\n%s", test.why, diff)
			}
			if left := !strings.HasSuffix(name, "message"); (r.Refused == 1) != left {
				t.Errorf("%d entries are counted as refused", r.Refused)
			}
		})
	}
}

// Applications with equal lists share one list in memory. Read accepts how both schema versions write an
// absent list.
func TestRead_sharesLists(t *testing.T) {
	s := NewStore(t.TempDir())
	list := []Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}}
	again := []Resource{{APIVersion: "v1", Kind: "Service", Name: "ui"}}
	if err := s.Write(&Report{Namespace: "a", Name: "b", Applications: []Application{
		{Cluster: "c1", Namespace: "n", Name: "m", Resources: list},
		{Cluster: "c2", Namespace: "n", Name: "m", Resources: again},
		{Cluster: "c3", Namespace: "n", Name: "m", LeftOut: 3},
	}}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Read("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	a := r.Applications
	if len(a) != 3 || ListOf(a[0].Resources) != ListOf(a[1].Resources) || len(a[0].Resources) != 1 || ListOf(a[2].Resources) != (List{}) || a[2].LeftOut != 3 {
		t.Errorf("%+v", a)
	}
	put(t, s, "a_b.json", `{"schemaVersion":1,"namespace":"a","name":"b","unreadClusters":null,"applications":[{"cluster":"c","namespace":"n","name":"m","resources":[],"staleSince":null}]}`)
	if r, err := s.Read("a", "b"); err != nil || len(r.Applications) != 1 || r.Applications[0].Resources != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// Read keeps no memory for empty entries.
func TestRead_keepsNoMemoryForEmptyEntries(t *testing.T) {
	for name, content := range map[string]string{
		"rows":       `{"schemaVersion":2,"namespace":"a","name":"b","applications":[{}%s]}`,
		"resources":  `{"schemaVersion":2,"namespace":"a","name":"b","lists":[[{}%s]],"applications":[]}`,
		"held":       `{"schemaVersion":2,"namespace":"a","name":"b","applications":[{"heldResources":[{}%s]}]}`,
		"conditions": `{"schemaVersion":2,"namespace":"a","name":"b","applications":[{"conditions":[{}%s]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(t.TempDir())
			put(t, s, "a_b.json", fmt.Sprintf(content, strings.Repeat(",{}", 100_000)))
			var r *Report
			var err error
			kept := heap(func() { r, err = s.Read("a", "b") })
			if err != nil || r.Refused == 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			if kept > 1<<20 {
				t.Errorf("%d bytes are kept of nothing", kept)
			}
		})
	}
}

// heap returns the growth of the live heap in bytes.
func heap(work func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	work()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestRead_refusesTooLargeAReport(t *testing.T) {
	s := NewStore(t.TempDir())
	report := `{"schemaVersion":1,"namespace":"a","name":"b","applications":[]}`
	put(t, s, "a_b.json", report+strings.Repeat(" ", MaxReportBytes-len(report)))
	if _, err := s.Read("a", "b"); err != nil {
		t.Errorf("a report of just the largest size: %v", err)
	}
	put(t, s, "a_b.json", report+strings.Repeat(" ", MaxReportBytes-len(report)+1))
	if _, err := s.Read("a", "b"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(MaxReportBytes)) {
		t.Errorf("a report that is a byte too large: error %v, want one that names the limit", err)
	}
}
