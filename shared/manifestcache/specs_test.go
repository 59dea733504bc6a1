// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// withSpec returns a pulled Application with a spec of about size bytes, in which text is unique.
func withSpec(namespace, name, text string, size int) *argocd.Application {
	return &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Labels: map[string]string{contract.PullLabel: "true"}},
		Spec:       json.RawMessage(`{"destination":{"namespace":"shop"},"project":"team","text":"` + text + `","values":"` + strings.Repeat("x", size) + `"}`),
	}
}

// bounded returns new Specs, and the number of omitted specs that they reported last.
func bounded() (s *Specs, omitted *int) {
	omitted = new(int)
	return NewSpecs(func(app *argocd.Application) string { return fmt.Sprint(len(app.Spec)) }, func(n int) { *omitted = n }), omitted
}

func kept(t *testing.T, s *Specs, app *argocd.Application) *argocd.Application {
	t.Helper()
	if _, err := s.TrimApplication(testLimit)(app); err != nil {
		t.Fatal(err)
	}
	return app
}

// 500 Applications just under the size limit of a delivery have 250 MB. A tenant can create them.
func TestSpecs_boundWhatATenantTakes(t *testing.T) {
	const applications, size = 500, 499 << 10
	s, omitted := bounded()
	apps := make([]*argocd.Application, 0, applications)
	before := heap()
	for i := range applications {
		apps = append(apps, kept(t, s, withSpec("tenant", fmt.Sprint("app-", i), fmt.Sprint(i), size)))
	}
	if taken := heap() - before; taken > maxNamespaceSpecs+4<<20 {
		t.Errorf("a tenant takes %d MiB, want little more than %d", taken>>20, maxNamespaceSpecs>>20)
	}
	left := 0
	for _, app := range apps {
		if Omitted(app.Spec) == 0 {
			continue
		}
		left++
		if hash, known := OmittedHash(app.Spec); !known || hash != fmt.Sprint(Omitted(app.Spec)) || !strings.Contains(string(app.Spec), `"project":"team"`) {
			t.Fatalf("of a spec that is left out is kept %s", app.Spec)
		}
	}
	if want := applications - maxNamespaceSpecs/size; *omitted != left || left < want || left > want+1 {
		t.Errorf("%d specs are left out, %d are reported, want %d", left, *omitted, want)
	}
	if app := kept(t, s, withSpec("other", "app", "", size)); Omitted(app.Spec) > 0 {
		t.Error("one tenant's specs leave no room for another's")
	}
	runtime.KeepAlive(apps)
}

func TestSpecs_keep(t *testing.T) {
	const large = 32 << 10 // a namespace may have four of them
	fill := func(t *testing.T, s *Specs, n int) {
		t.Helper()
		for i := range n {
			s.keep(withSpec("team", fmt.Sprint("filled-", i), fmt.Sprint("filled-", i), large-200))
		}
	}
	whole := func(s *Specs, app *argocd.Application) bool { return Omitted(s.keep(app)) == 0 }
	for name, c := range map[string]struct {
		reason string
		change func(t *testing.T, s *Specs)
		app    *argocd.Application
		want   bool
	}{
		"room":      {reason: "there is room for it", change: func(t *testing.T, s *Specs) { fill(t, s, 3) }, app: withSpec("team", "app", "", large-200), want: true},
		"full":      {reason: "there is none", change: func(t *testing.T, s *Specs) { fill(t, s, 4) }, app: withSpec("team", "app", "", large-200)},
		"small":     {reason: "small ones are what the hub is sized by", change: func(t *testing.T, s *Specs) { fill(t, s, 4) }, app: withSpec("team", "app", "", smallSpec-200), want: true},
		"equal":     {reason: "an equal spec takes no room", change: func(t *testing.T, s *Specs) { fill(t, s, 4) }, app: withSpec("team", "app", "filled-1", large-200), want: true},
		"elsewhere": {reason: "another namespace has its own room", change: func(t *testing.T, s *Specs) { fill(t, s, 4) }, app: withSpec("other", "app", "", large-200), want: true},
		"hub": {
			reason: "all of them together have no more", app: withSpec("third", "app", "", large-200),
			change: func(t *testing.T, s *Specs) {
				fill(t, s, 4)
				for i := range 4 {
					s.keep(withSpec("other", fmt.Sprint(i), fmt.Sprint(i), large-200))
				}
			},
		},
		"gone": {
			reason: "what is gone makes room", app: withSpec("team", "app", "", large-200), want: true,
			change: func(t *testing.T, s *Specs) { fill(t, s, 4); s.Forget("team/filled-2") },
		},
		"shared": {
			reason: "an equal spec of another stays", app: withSpec("team", "app", "", large-200),
			change: func(t *testing.T, s *Specs) {
				fill(t, s, 4)
				s.keep(withSpec("team", "equal", "filled-2", large-200))
				s.Forget("team/filled-2")
			},
		},
		"shrunk": {
			reason: "so does one that has become small", app: withSpec("team", "app", "", large-200), want: true,
			change: func(t *testing.T, s *Specs) { fill(t, s, 4); s.keep(withSpec("team", "filled-2", "", 10)) },
		},
		"again": {
			reason: "the same spec once more is counted once", app: withSpec("team", "app", "", large-200), want: true,
			change: func(t *testing.T, s *Specs) { fill(t, s, 3); fill(t, s, 3) },
		},
	} {
		s, _ := bounded()
		s.most, s.mostInNamespace = 8*large, 4*large
		c.change(t, s)
		if got := whole(s, c.app); got != c.want {
			t.Errorf("%s: %s: kept whole is %t", name, c.reason, got)
		}
	}
}

// The counted bytes equal the kept bytes, after any creations, changes and deletions of Applications.
func TestSpecs_countWhatTheyKeep(t *testing.T) {
	s, omitted := bounded()
	s.most, s.mostInNamespace = 2<<20, 1<<20
	r := rand.New(rand.NewPCG(1, 2))
	cached := map[types.UID]json.RawMessage{}
	for range 400 {
		namespace, name := fmt.Sprint("team-", r.IntN(4)), fmt.Sprint("app-", r.IntN(20))
		app := withSpec(namespace, name, fmt.Sprint(r.IntN(5)), r.IntN(7)<<15)
		if r.IntN(5) == 0 {
			s.Forget(app.UID)
			delete(cached, app.UID)
			continue
		}
		cached[app.UID] = s.keep(app)
		if r.IntN(5) == 0 { // a resync of the informer transforms a cached object
			app.Spec = cached[app.UID]
			cached[app.UID] = s.keep(app)
		}
		total, left, counted := 0, 0, map[*byte]bool{}
		for _, spec := range cached {
			switch {
			case Omitted(spec) > 0:
				left++
			case len(spec) > smallSpec && !counted[&spec[0]]:
				counted[&spec[0]] = true
				total += len(spec)
			}
		}
		if s.total != total || *omitted != left || total > s.most {
			t.Fatalf("%d bytes are kept and %d counted, %d specs are left out and %d reported", total, s.total, left, *omitted)
		}
	}
	for uid := range cached {
		s.Forget(uid)
	}
	if s.total != 0 || len(s.kept) != 0 || len(s.of) != 0 || len(s.omitted) != 0 || len(s.inNamespace) != 0 {
		t.Errorf("of Applications that are gone is left %+v", s)
	}
}

// If a spec has become too large for a ManifestWork, its kept bytes are released.
func TestSpecs_releaseWhatGrewTooLarge(t *testing.T) {
	const limit = 200 << 10
	s, _ := bounded()
	trimApplication(withSpec("team", "app", "small", limit/2), limit, s)
	if s.total == 0 {
		t.Fatal("a large spec is not counted")
	}
	trimApplication(withSpec("team", "app", "large", 2*limit), limit, s)
	if s.total != 0 || len(s.kept) != 0 || len(s.of) != 0 {
		t.Errorf("%d bytes are still counted", s.total)
	}
}
