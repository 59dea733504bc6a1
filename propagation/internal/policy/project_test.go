// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const plainSpec = `{"destination":{"namespace":"guestbook"},"project":"default"}`

func TestProjectAllows(t *testing.T) {
	const inCluster = "https://kubernetes.default.svc"
	cases := map[string]struct {
		reason       string
		destinations string
		annotations  map[string]string
		want         bool
	}{
		"all":           {reason: "stars let everything through", destinations: `[{"server":"*","namespace":"*"}]`, want: true},
		"inCluster":     {reason: "the managed cluster itself", destinations: `[{"server":"` + inCluster + `","namespace":"guestbook"}]`, want: true},
		"glob":          {reason: "a star crosses slashes", destinations: `[{"server":"https://*","namespace":"guest*"}]`, want: true},
		"alternatives":  {reason: "one of several", destinations: `[{"server":"*","namespace":"{shop,guestbook}"}]`, want: true},
		"otherSpace":    {reason: "another namespace", destinations: `[{"server":"*","namespace":"kube-system"}]`},
		"hubName":       {reason: "the hub's name for the cluster means nothing there", destinations: `[{"name":"cluster1","namespace":"*"}]`},
		"denied":        {reason: "a no beats a yes", destinations: `[{"server":"*","namespace":"*"},{"server":"*","namespace":"!guestbook"}]`},
		"deniedOther":   {reason: "a no to others is a yes", destinations: `[{"server":"*","namespace":"!kube-system"}]`, want: true},
		"none":          {reason: "no entry, no entry", destinations: `[]`},
		"byName":        {reason: "an override by name", destinations: `[{"name":"in-*","namespace":"*"}]`, annotations: map[string]string{contract.DestinationNameAnnotation: "in-cluster"}, want: true},
		"brokenPattern": {reason: "a pattern that is none matches nothing", destinations: `[{"server":"[","namespace":"*"}]`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ProjectAllows(json.RawMessage(`{"destinations":`+c.destinations+`}`), json.RawMessage(plainSpec), c.annotations); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
	if !ProjectAllows(json.RawMessage(`[]`), json.RawMessage(plainSpec), nil) {
		t.Error("a project that cannot be read is the managed cluster's to judge")
	}
}
