// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"html"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/aggregation/internal/rollouts"
)

func TestRolloutIsShownToThoseWhoSeeItsApplicationSet(t *testing.T) {
	state := &rollouts.State{
		Name: "weekly", Phase: "Halted", Group: "<i>canary</i>", Promoted: []string{"53e28ff20cc530b9ada2173fbbd64d48338583ba"},
		Candidate: []string{"0e0c4ee6", "1.2.3"}, Message: "candidate 7 is halted; failed: eu-1; waiting for us-1",
	}
	var unread error
	w := newWorld(t, func(o *Options) {
		o.RolloutOf = func(_ context.Context, set types.NamespacedName) (*rollouts.State, error) {
			if set.Name != "shop" {
				return nil, nil
			}
			return state, unread
		}
	})
	page := w.get("/sets/team-a/shop", "a").body
	for _, part := range []string{"weekly", "Halted", html.EscapeString(state.Group), "53e28ff2<", "0e0c4ee6<", "1.2.3<", state.Message} {
		if !strings.Contains(page, part) {
			t.Errorf("the page of the ApplicationSet does not show %q", part)
		}
	}
	if body := w.get("/sets/team-b/bank", "b").body; strings.Contains(body, "Rollout") {
		t.Error("an ApplicationSet without a rollout shows one")
	}
	const data = `"rollout":{"name":"weekly","phase":"Halted"`
	if body := w.get("/api/v1/sets", "all").body; strings.Count(body, data) != 1 {
		t.Errorf("of the two ApplicationSets one has a rollout; the data say %s", body)
	}
	if body := w.get("/api/v1/sets", "b").body; strings.Contains(body, "weekly") {
		t.Errorf("who may not see the ApplicationSet sees its rollout: %s", body)
	}
	unread = errors.New("the cache is not there")
	for _, path := range []string{"/sets/team-a/shop", "/api/v1/sets"} {
		if code := w.get(path, "a").StatusCode; code != http.StatusInternalServerError {
			t.Errorf("%s answers %d when the rollout cannot be read: a page without it would say that there is none", path, code)
		}
	}
}
