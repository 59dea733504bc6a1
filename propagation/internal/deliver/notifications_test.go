// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// What a notifications controller of the hub notes with each message, and a subscription of
// the hub's, write no ManifestWork; the next change that is delivered is one write.
func TestNotifications_writeNoManifestWork(t *testing.T) {
	p := newPlace(t)
	program := start(t)
	app := p.deploy("guestbook")
	work := delivered(t, app, p.cluster)
	for i := range 100 {
		edit(t, app, func(a *argocd.Application) {
			a.Annotations["notified.notifications.argoproj.io"] = fmt.Sprintf(`{"on-deployed:[0].y7b5sbwa2Q329JYH755peeq-fBs:slack:shop":%d}`, i)
			a.Annotations["notifications.argoproj.io/subscribe.on-deployed.slack"] = fmt.Sprint("shop", i)
		})
	}
	edit(t, app, func(a *argocd.Application) { a.Labels["team"] = "a" })
	testkit.Eventually(t, "the label to be delivered", func() error {
		w := works(t, app)
		if len(w) != 1 || w[0].UID != work.UID {
			t.Fatalf("there are %d works, or another one", len(w))
		}
		last := w[0].Spec.Workload.Manifests[len(w[0].Spec.Workload.Manifests)-1].Raw
		if !strings.Contains(string(last), `"team":"a"`) {
			return errors.New("it is not")
		}
		if strings.Contains(string(last), "notif") {
			t.Errorf("delivered is %s", last)
		}
		if sent := program.requests.doneIn(p.cluster); len(sent) < 2 { // its answer may be on its way
			return fmt.Errorf("%d writes were answered", len(sent))
		}
		return nil
	})
	program.stop()
	if sent := program.requests.doneIn(p.cluster); len(sent) != 2 {
		t.Errorf("%d writes of the ManifestWork, want one that makes it and that of the label: %q", len(sent), sent)
	}
}
