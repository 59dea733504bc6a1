// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// largestPatch stores the size of the largest patch.
func largestPatch(largest *atomic.Int64) func(client.WithWatch) client.Client {
	return func(c client.WithWatch) client.Client {
		return interceptor.NewClient(c, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if data, err := p.Data(o); err == nil {
					largest.Store(max(largest.Load(), int64(len(data))))
				}
				return c.Patch(ctx, o, p, opts...)
			},
		})
	}
}

// The hub Application shows the values of a hostile cluster in short form. They never prevent the report of
// the other values. Each case replaces a healthy status, and a healthy status replaces it.
func TestHostileCluster_preventsNoOtherValue(t *testing.T) {
	mega := strings.Repeat("x", 1<<20)
	base := []string{"healthStatus", "Degraded", "syncStatus", "OutOfSync", "syncRevision", "53e28ff2"}
	many := base
	for i := range 5_000 { // as many as fit into an object
		many = append(many, fmt.Sprint("value", i), strings.Repeat("x", 100))
	}
	cases := map[string]struct {
		reason string
		values []string
		want   string
	}{
		"healthMessage": {reason: "1 MiB of message is cut", values: append([]string{"healthMessage", mega}, base...), want: "Degraded/OutOfSync@53e28ff2 Succeeded"},
		"syncStatus":    {reason: "300 KiB of sync status were not said", values: []string{"healthStatus", "Healthy", "syncStatus", mega[:300<<10], "syncRevision", "r"}, want: "Unknown/Unknown@r Succeeded"},
		"health":        {reason: "an unknown health is no health", values: []string{"healthStatus", "Splendid", "syncStatus", "Synced"}, want: "Unknown/Synced@ Succeeded"},
		"revision":      {reason: "a revision of 1 MiB is none", values: []string{"healthStatus", "Degraded", "syncStatus", "OutOfSync", "syncRevision", mega}, want: "Degraded/OutOfSync@ Succeeded"},
		"digits":        {reason: "an operation needs a time", values: append([]string{"operationStatePhase", "Failed", "operationStateStartedAt", "2036-11-20T09:30:00." + strings.Repeat("1", 1000) + "Z"}, base...), want: "Degraded/OutOfSync@53e28ff2 Succeeded"},
		"comma":         {reason: "a time that Argo CD's CRD would refuse is none", values: append([]string{"operationStatePhase", "Failed", "operationStateStartedAt", "2036-11-20T09:30:00,5Z"}, base...), want: "Degraded/OutOfSync@53e28ff2 Succeeded"},
		"controls":      {reason: "control characters do not arrive", values: append([]string{"conditionSyncError", "a\x1b[31mb\x07\nc"}, base...), want: "Degraded/OutOfSync@53e28ff2 Succeeded SyncError"},
		"condition":     {reason: "nor long conditions", values: append([]string{"conditionSyncError", mega}, base...), want: "Degraded/OutOfSync@53e28ff2 Succeeded SyncError"},
		"many":          {reason: "of many values the first count", values: many, want: "Degraded/OutOfSync@53e28ff2 Succeeded"},
	}
	f := newFleet(t)
	var largest atomic.Int64
	start(t, Options{}, largestPatch(&largest))
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	work := f.work(app, cluster.Name)
	for name, c := range cases {
		report(t, work, healthy...)
		awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
		report(t, work, c.values...)
		s := awaitStatus(t, app, c.want)
		for _, condition := range s.Conditions {
			if len(condition.Message) > contract.MaxMessage || strings.ContainsAny(condition.Message, "\x1b\x07") {
				t.Errorf("%s: %s: condition says %.100q", name, c.reason, condition.Message)
			}
		}
		if len(s.Health.Message) > contract.MaxMessage {
			t.Errorf("%s: %s: a health message of %d bytes", name, c.reason, len(s.Health.Message))
		}
	}
	if n := largest.Load(); n == 0 || n > 16<<10 {
		t.Errorf("the largest patch has %d bytes", n)
	}
}

// The Application's condition contains the message of the ManagedCluster's condition in short form.
func TestHostileCluster_getsAShortCondition(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	report(t, f.work(app, cluster.Name), healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	testkit.EditStatus(t, hub.client, cluster, func(c *clusterv1.ManagedCluster) {
		for i := range c.Status.Conditions {
			c.Status.Conditions[i].Status, c.Status.Conditions[i].Message = metav1.ConditionFalse, strings.Repeat("\x1bx", 16<<10)
		}
	})
	s := awaitStatus(t, app, "Unknown/Unknown@53e28ff2 Succeeded ClusterUnreachableWarning")
	if m := s.Conditions[0].Message; len(m) > contract.MaxMessage+512 || strings.Contains(m, "\x1b") || !strings.Contains(m, "last report") {
		t.Errorf("the condition has %d bytes: %.100q", len(m), m)
	}
}

// A failed apply is reported with a short reason, however many manifests failed.
func TestHostileCluster_getsAShortApplyFailure(t *testing.T) {
	f := newFleet(t)
	start(t, Options{}, nil)
	cluster := f.cluster()
	app := f.app("guestbook", cluster.Name)
	work := f.work(app, cluster.Name)
	report(t, work, healthy...)
	awaitStatus(t, app, "Healthy/Synced@53e28ff2 Succeeded")
	testkit.EditStatus(t, hub.client, work, func(w *workv1.ManifestWork) {
		failed := metav1.Condition{Type: workv1.ManifestApplied, Status: metav1.ConditionFalse, Reason: "AppliedManifestFailed", Message: strings.Repeat("x", 30<<10), LastTransitionTime: metav1.Now()}
		w.Status.Conditions[0].Status, w.Status.Conditions[0].Message = metav1.ConditionFalse, strings.Repeat("y", 30<<10)
		for i := range 20 {
			w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
				ResourceMeta: workv1.ManifestResourceMeta{Ordinal: int32(i + 2), Kind: "ConfigMap", Name: fmt.Sprint("c", i)}, Conditions: []metav1.Condition{failed},
			})
		}
	})
	s := awaitStatus(t, app, "Unknown/OutOfSync@53e28ff2 Succeeded ApplyFailedError")
	if m := s.Conditions[0].Message; len(m) > contract.MaxMessage+512 || !strings.Contains(m, "ConfigMap c0: xxx") {
		t.Errorf("the condition has %d bytes: %.100q", len(m), m)
	}
}
