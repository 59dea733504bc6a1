// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// all returns the objects of a kind on a cluster, sorted by name. Callers must not change them.
func all[T client.Object](v *View, cluster string) []T {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []T
	for at, object := range v.objects {
		if o, ok := object.(T); ok && at.cluster == cluster {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b T) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return found
}

// Applications returns the Applications of a cluster, sorted by name.
func (v *View) Applications(cluster string) []Application {
	objects := all[*argocd.Application](v, cluster)
	applications := make([]Application, 0, len(objects))
	for _, o := range objects {
		applications = append(applications, newApplication(o))
	}
	return applications
}

// Application returns one Application of a cluster. ok is false if it does not exist.
func (v *View) Application(cluster, name string) (a Application, ok bool) {
	for _, a := range v.Applications(cluster) {
		if a.Name == name {
			return a, true
		}
	}
	return Application{}, false
}

// Works returns the ManifestWorks on the hub, which callers must not change.
func (v *View) Works() []*workv1.ManifestWork { return all[*workv1.ManifestWork](v, hub) }

// Report returns the report of an ApplicationSet, which callers must not change, or nil.
func (v *View) Report(name string) *v1alpha1.MulticlusterApplicationSetReport {
	for _, report := range all[*v1alpha1.MulticlusterApplicationSetReport](v, hub) {
		if report.Name == name {
			return report
		}
	}
	return nil
}

// ReportRow returns the row of a hub Application in the report of its ApplicationSet, as an [Application].
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

// everywhere describes the state of an Application on the hub and a cluster, for the error of a wait.
func (v *View) everywhere(name, cluster string) string {
	var text []string
	for _, where := range []string{hub, cluster} {
		if a, ok := v.Application(where, name); ok {
			text = append(text, fmt.Sprintf("on %s: %s", where, a))
		} else {
			text = append(text, fmt.Sprintf("on %s: no Application %s", where, name))
		}
	}
	for _, work := range v.Works() {
		if work.Namespace == cluster {
			text = append(text, fmt.Sprintf("work %s: %d manifests, %d conditions", work.Name, len(work.Spec.Workload.Manifests), len(work.Status.Conditions)))
		}
	}
	return strings.Join(text, "; ")
}
