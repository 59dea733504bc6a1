// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// The product reads the simulated agent's status as feedback.
func TestWorkStatus_isReadAsFeedback(t *testing.T) {
	var work workv1.ManifestWork
	if err := json.Unmarshal(WorkStatus("set00", "cluster0007", 3, Healthy(Revision(9))), &work); err != nil {
		t.Fatal(err)
	}
	work.Annotations = map[string]string{contract.HubNamespaceAnnotation: Namespace, contract.HubNameAnnotation: ApplicationName("set00", "cluster0007")}
	o := status.Work(&work, status.Cluster{Name: "cluster0007", Exists: true, Available: true})
	if !o.Reported || o.Health != "Healthy" || o.Sync != "Synced" || o.Revision != Revision(9) || o.Operation.Phase != "Succeeded" {
		t.Errorf("got %+v", o)
	}
	if len(work.Status.Conditions) != 2 || work.Status.Conditions[0].ObservedGeneration != 3 {
		t.Errorf("conditions are %+v", work.Status.Conditions)
	}
}

func TestApplication_isPulled(t *testing.T) {
	var app argocd.Application
	if err := json.Unmarshal(Application("set00", "uid", "cluster0007"), &app); err != nil {
		t.Fatal(err)
	}
	if pulled, _ := contract.IsTrue(app.Labels[contract.PullLabel]); !pulled || app.Annotations[contract.ClusterAnnotation] != "cluster0007" || app.OwningApplicationSet() != "set00" {
		t.Errorf("got %+v", app.ObjectMeta)
	}
}

func TestRevision_isAsLongAsACommit(t *testing.T) {
	if a, b := Revision(1), Revision(2); len(a) != 40 || len(b) != 40 || a == b {
		t.Errorf("got %s and %s", a, b)
	}
}
