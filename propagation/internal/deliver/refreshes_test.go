// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// What is read of an Application after its refresh was taken off may be from before.
func TestRefreshes_ofAnApplication(t *testing.T) {
	key := types.NamespacedName{Namespace: "team", Name: "app"}
	conflict := apierrors.NewConflict(schema.GroupResource{}, "app", errors.New("changed"))
	for name, c := range map[string]struct {
		sent    bool
		taken   bool // off version 10
		outcome error
		version string
		wants   bool
		id      string
		ended   bool
	}{
		"not sent yet":                      {version: "10", wants: true},
		"sent":                              {sent: true, version: "10", wants: true, id: "r1"},
		"sent, and read again":              {sent: true, version: "12", wants: true, id: "r1"},
		"sent, and taken off by another":    {sent: true, version: "12"},
		"taken off, read from before":       {sent: true, taken: true, version: "10", wants: true, ended: true},
		"taken off, read from long before":  {sent: true, taken: true, version: "9", wants: true, ended: true},
		"taken off, read after":             {sent: true, taken: true, version: "11"},
		"taken off, and the next one":       {sent: true, taken: true, version: "12", wants: true},
		"another client wrote first":        {sent: true, taken: true, outcome: conflict, version: "11", wants: true, id: "r1"},
		"not known whether it is off":       {sent: true, taken: true, outcome: errors.New("timeout"), version: "10", wants: true},
		"found done by another process":     {taken: true, version: "10", wants: true, ended: true},
		"of another process, and conflict":  {taken: true, outcome: conflict, version: "11", wants: true},
		"no order in versions, another one": {sent: true, taken: true, version: "x", wants: true},
	} {
		t.Run(name, func(t *testing.T) {
			var s refreshes
			if c.sent {
				s.send(key, "r1")
			}
			if c.taken {
				s.end(key, "r1", "10", c.outcome)
			}
			app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", ResourceVersion: c.version}}
			if c.wants {
				app.Annotations = map[string]string{argocd.RefreshAnnotation: "normal"}
			}
			for range 2 {
				if id, ended := s.of(app); id != c.id || ended != c.ended {
					t.Fatalf("got %q, ended %t", id, ended)
				}
			}
		})
	}
}

func TestRefreshes_doneFor(t *testing.T) {
	key, now := types.NamespacedName{Name: "app"}, time.Unix(100, 0)
	var s refreshes
	s.send(key, "r1")
	if _, known := s.doneFor(key, "r2", now); known {
		t.Error("another refresh is known")
	}
	s.doneFor(key, "r1", now)
	s.send(key, "r1")
	if since, known := s.doneFor(key, "r1", now.Add(time.Second)); since != time.Second || !known {
		t.Errorf("done for %s, known %t", since, known)
	}
	s.forget(key)
	if _, kept := s.sent.Load(key); kept {
		t.Error("it is remembered")
	}
}
