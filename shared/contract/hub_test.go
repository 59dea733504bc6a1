// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import "testing"

// Delivery, registration and the poll of search use one rule. Earlier they had a rule each, which agreed only
// in the first two cases.
func TestIsHub(t *testing.T) {
	for name, c := range map[string]struct {
		reason, cluster string
		labels          map[string]string
		want            bool
	}{
		"usual":     {reason: "OCM's own name and label", cluster: "local-cluster", labels: map[string]string{"local-cluster": "true"}, want: true},
		"managed":   {reason: "any other cluster", cluster: "cluster1", labels: map[string]string{"env": "prod"}},
		"name":      {reason: "registration and search did not look at the name", cluster: "local-cluster", want: true},
		"unlabeled": {reason: "a false label does not make the hub a target", cluster: "local-cluster", labels: map[string]string{"local-cluster": "false"}, want: true},
		"renamed":   {reason: "the hub may be registered by another name", cluster: "hub", labels: map[string]string{"local-cluster": "true"}, want: true},
		"boolean":   {reason: "delivery took nothing but the text true", cluster: "hub", labels: map[string]string{"local-cluster": "True"}, want: true},
		"false":     {reason: "a label that says no", cluster: "cluster1", labels: map[string]string{"local-cluster": "false"}},
		"word":      {reason: "no boolean says nothing", cluster: "cluster1", labels: map[string]string{"local-cluster": "yes"}},
		"prefix":    {reason: "a name that only begins like it", cluster: "local-cluster-2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsHub(c.cluster, c.labels); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}
