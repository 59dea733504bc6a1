// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// The hub's Argo CD has a field that an older Argo CD does not have. Propagation delivers the field to
// clusters that have it. On other clusters the API server rejects the Application, and the hub's message
// names the field.
func TestDelivery_reportsAFieldThatAnOlderArgoCDLacks(t *testing.T) {
	alongside(t)
	const enabled = `{"spec":{"syncPolicy":{"automated":{"enabled":true}}}}`
	t.Run("cluster1", func(t *testing.T) {
		alongside(t)
		const name = "newer-field-cluster1"
		patch(t, create(t, name, "cluster1", true), enabled)
		await(t, "the field to arrive", func() (bool, string) {
			if _, ok := view.Application("cluster1", name); !ok {
				return false, "no Application"
			}
			spec := string(managed(t, "cluster1", name).Spec)
			return strings.Contains(spec, `"enabled":true`), spec
		})
		awaitWell(t, "hub", name)
	})
	t.Run("cluster2", func(t *testing.T) {
		alongside(t)
		const name = "newer-field-cluster2"
		a := create(t, name, "cluster2", true)
		awaitWell(t, "hub", name)
		patch(t, a, enabled)
		await(t, "the hub to name the field", func() (bool, string) {
			hub, _ := view.Application("hub", name)
			return strings.Contains(fmt.Sprint(hub.Conditions), "syncPolicy.automated.enabled"), hub.String()
		})
		patch(t, a, `{"spec":{"syncPolicy":{"automated":{"enabled":null}}}}`)
		await(t, "the hub to be well again", func() (bool, string) {
			hub, _ := view.Application("hub", name)
			return hub.SyncedAndHealthy("") && len(hub.Conditions) == 0, hub.String()
		})
	})
}
