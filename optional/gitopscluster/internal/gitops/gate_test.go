// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type fixedMapper struct {
	meta.RESTMapper
	err error
}

func (m fixedMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, m.err
}

// If gitopscluster cannot read the served versions, the gate does not change: it stays open or closed.
func TestGate_keepsItsStateIfVersionsAreUnread(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		open bool
		want string
	}{
		"unread while open":   {errors.New("injected"), true, ""},
		"unread while closed": {errors.New("injected"), false, "cannot read"},
		"not served":          {&meta.NoKindMatchError{}, true, "does not serve v1beta1"},
	} {
		g := &Gate{reader: hub.client, mapper: fixedMapper{err: c.err}}
		g.open.Store(c.open)
		if why := g.closed(t.Context()); (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q", name, why)
		}
	}
}
