// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/rollout"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// rolls returns a client that knows ApplicationSetRollouts.
func rolls(t *testing.T) client.Client {
	t.Helper()
	crd := envtest.CRDInstallOptions{Paths: []string{filepath.Join(testkit.Root(), "deploy", "components", "rollouts", "apps.open-cluster-management.io_applicationsetrollouts.yaml")}, MaxTime: time.Minute}
	_, err := envtest.InstallCRDs(config, crd)
	scheme := runtime.NewScheme()
	if err := errors.Join(err, rollout.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stands waits until the report says where the rollout stands.
func (w *world) stands(want string) {
	w.t.Helper()
	w.says("guestbook", "that the rollout stands at "+want, func(r *v1alpha1.MulticlusterApplicationSetReport) error {
		if got := r.Annotations[contract.RolloutStateAnnotation]; got != want {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
}

func TestReportSaysWhereTheRolloutStands(t *testing.T) {
	w, hub := newWorld(t), rolls(t)
	ro := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "weekly"}, Spec: rollout.Spec{ApplicationSet: "guestbook"}}
	w.must(hub.Create(t.Context(), ro))
	become := func(s rollout.Status) {
		t.Helper()
		ro.Status = s
		w.must(hub.Status().Update(t.Context(), ro))
	}
	version := func(revision string) *rollout.Version {
		return &rollout.Version{Number: 1, Revisions: []string{revision}, Time: metav1.Now()}
	}
	flags := []string{"--intermediate-dir=" + t.TempDir(), "--rollouts"}
	first := start(t, &tap{}, flags...)
	w.lone("guestbook")
	w.row("guestbook", "Healthy Synced")
	w.stands("") // it was not accepted

	become(rollout.Status{Phase: rollout.Idle, Message: "nothing is rolled out", Promoted: version("r1")})
	w.stands(`{"name":"weekly","phase":"Idle","promoted":["r1"],"message":"nothing is rolled out"}`)
	become(rollout.Status{
		Phase: rollout.Progressing, Group: "canary", Message: "waiting for cluster1", Promoted: version("r1"), Candidate: version("r2"),
		Clusters: []rollout.Cluster{{Name: "cluster1", State: rollout.StateProgressing, Since: metav1.Now()}},
	})
	const progressing = `{"name":"weekly","phase":"Progressing","group":"canary","promoted":["r1"],"candidate":["r2"],"message":"waiting for cluster1"}`
	w.stands(progressing)
	first.end(t)

	again := &tap{}
	second := start(t, again, flags...)
	w.passed()
	// What only the controller needs is no reason to write.
	ro.Status.Clusters[0].Compared = "2026-11-24T10:00:00Z"
	become(ro.Status)
	w.passed()
	if writes := again.writesOf(w.namespace, "guestbook"); len(writes) > 0 {
		t.Errorf("a restart, and a change that no reader of the report sees, wrote %v", writes)
	}
	younger := &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "younger"}, Spec: rollout.Spec{ApplicationSet: "guestbook"}}
	w.must(hub.Create(t.Context(), younger))
	younger.Status = rollout.Status{Phase: rollout.Idle}
	w.must(hub.Status().Update(t.Context(), younger))
	w.passed()
	w.stands(progressing) // the older one decides
	w.must(hub.Delete(t.Context(), younger))
	w.must(hub.Delete(t.Context(), ro))
	w.stands("")

	ro = &rollout.ApplicationSetRollout{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "again"}, Spec: rollout.Spec{ApplicationSet: "guestbook"}}
	w.must(hub.Create(t.Context(), ro))
	become(rollout.Status{Phase: rollout.RolledBack})
	w.stands(`{"name":"again","phase":"RolledBack"}`)
	second.end(t)
	start(t, &tap{}, "--intermediate-dir="+t.TempDir())
	w.stands("") // turned off
}
