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

// fixedMapper answers every question with one error.
type fixedMapper struct {
	meta.RESTMapper
	err error
}

func (m fixedMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, m.err
}

// A version that could not be asked for is not one that is not served: an open gate stays
// open, a closed one closed.
func TestUnreadVersionsChangeNothing(t *testing.T) {
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
