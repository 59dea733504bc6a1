// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"fmt"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// A restart over a settled fleet finds everything as it should be.
func TestRestartWritesNothing(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	var apps []*argocd.Application
	for i := range 20 {
		apps = append(apps, p.deploy(fmt.Sprintf("app-%d", i), func(a *argocd.Application) {
			a.Annotations["example.com/note"] = "a < b && c > \"d\" é \u2028"
			a.Spec = []byte(`{"project":"default","destination":{"namespace":"x"},"source":{"repoURL":"https://git.example.com/a.git","helm":{"values":"a: <b> & c\u2028","parameters":[{"name":"n","value":"1"}]}},"syncPolicy":{"retry":{"limit":5,"backoff":{"factor":2}}}}`)
		}))
	}
	for _, app := range apps {
		delivered(t, app, p.cluster)
	}
	first.stop()
	second := start(t)
	// An Application that comes last has seen all the others through.
	last := p.deploy("last")
	delivered(t, last, p.cluster)
	if got := second.requests.in(p.namespace, p.cluster); len(got) != 1 {
		t.Errorf("the restart made %d write requests, want the one for the new Application: %v", len(got), got)
	}
}
