// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/search/table"
)

func edge(from, to string) table.Edge { return table.Edge{From: from, To: to} }

// TestTokenRotation_failsNoRequest replaces the token before the old one is revoked, like a kubelet. No request fails.
func TestTokenRotation_failsNoRequest(t *testing.T) {
	w := start(t)
	w.witness.always(all(whole, fresh))
	next := w.mint()
	w.write("token", []byte(next.token+"\n"))
	w.awaitPolls(1)
	w.withdraw(w.token)
	w.awaitPolls(2)
	w.witness.always(nil)
	w.server.Table().Put(changed())
	w.eventually("search is still read", hasCondition)
}

// TestTokenRotation_reportsStaleDataWithoutAToken revokes the token before a new token exists. The reports show stale data until
// then.
func TestTokenRotation_reportsStaleDataWithoutAToken(t *testing.T) {
	w := start(t)
	from := w.polled()
	w.withdraw(w.token)
	w.witness.always(whole)
	w.eventually("all is said to be old", func(s state) bool { return s.stale() == s.apps() })
	w.witness.always(all(whole, aged(from, time.Now())))
	w.write("token", []byte(w.mint().token))
	w.eventually("all is new again", func(s state) bool { return s.stale() == 0 })
}

// TestCARotation_losesNoData replaces the server's authority, and later the file that resourcesync trusts. In between
// resourcesync reads nothing and loses nothing.
func TestCARotation_losesNoData(t *testing.T) {
	w := start(t)
	from := w.polled()
	w.witness.always(whole)
	if err := w.server.RotateCA(); err != nil {
		t.Fatal(err)
	}
	w.eventually("all is said to be old", func(s state) bool { return s.stale() == s.apps() })
	w.witness.always(all(whole, aged(from, time.Now())))
	w.write("ca.crt", w.server.CA())
	w.eventually("all is new again", func(s state) bool { return s.stale() == 0 })
}

// TestCARotation_failsNoRequestWithABundle trusts both authorities while the server changes its authority. No request fails.
func TestCARotation_failsNoRequestWithABundle(t *testing.T) {
	w := start(t)
	before := w.server.CA()
	w.witness.always(all(whole, fresh))
	next, err := w.server.PrepareCA()
	if err != nil {
		t.Fatal(err)
	}
	w.write("ca.crt", append(before, next...))
	w.awaitPolls(1)
	if err := w.server.RotateCA(); err != nil {
		t.Fatal(err)
	}
	w.awaitPolls(2)
	w.write("ca.crt", w.server.CA())
	w.awaitPolls(2)
	w.witness.always(nil)
	w.server.Table().Put(changed())
	w.eventually("search is still read", hasCondition)
}
