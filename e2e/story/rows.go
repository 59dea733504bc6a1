// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

func sortByName(applications []Application) {
	slices.SortFunc(applications, func(a, b Application) int { return strings.Compare(a.Name, b.Name) })
}

// ReportRow returns the row of a hub Application in the report of its
// ApplicationSet, as an Application to compare with.
func (v *View) ReportRow(set, application string) (Application, bool) {
	report := v.Report(set)
	if report == nil {
		return Application{}, false
	}
	for _, c := range report.Statuses.ClusterConditions {
		if parts := strings.Split(c.App, "/"); len(parts) > 1 && parts[1] == application {
			return rowOf(c, parts[0], parts[1]), true
		}
	}
	return Application{}, false
}

func rowOf(c v1alpha1.ClusterCondition, namespace, name string) Application {
	row := Application{
		Namespace: namespace, Name: name, Target: c.Cluster,
		Sync: c.SyncStatus, Health: c.HealthStatus, Revision: c.SyncRevision, Phase: c.OperationStatePhase,
	}
	for _, each := range c.Conditions {
		row.Conditions = append(row.Conditions, Condition(each))
	}
	return row
}

// everywhere describes where an Application is and how it fares, for a wait that
// did not come true.
func (v *View) everywhere(name, cluster string) string {
	var text []string
	for _, where := range []string{"hub", cluster} {
		if a, ok := v.Application(where, name); ok {
			text = append(text, fmt.Sprintf("on %s: %s", where, a))
		} else {
			text = append(text, fmt.Sprintf("on %s: no Application %s", where, name))
		}
	}
	works, err := v.Works()
	if err != nil {
		text = append(text, err.Error())
	}
	for i := range works {
		if works[i].Namespace == cluster {
			text = append(text, fmt.Sprintf("work %s: %d manifests, %d conditions", works[i].Name, len(works[i].Spec.Workload.Manifests), len(works[i].Status.Conditions)))
		}
	}
	return strings.Join(text, "; ")
}

// eachObject calls what for every object of a list.
func eachObject(list client.ObjectList, what func(client.Object)) error {
	return meta.EachListItem(list, func(o runtime.Object) error {
		object, ok := o.(client.Object)
		if !ok {
			return fmt.Errorf("%T has no name", o)
		}
		what(object)
		return nil
	})
}
