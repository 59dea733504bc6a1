// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"unique"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// dictionary numbers the texts that nearly all packed works have in common. They are
// fixed: one that learned from what it packs could be filled by a single managed
// cluster, and would have to know when it may forget.
type dictionary struct {
	numbers map[string]int
	texts   []string
}

var words = newDictionary(
	contract.WorkKeys, feedbackNames(),
	[]string{ // annotations that package deliver adds, and their values
		"cache.propagation/spec-hash", "cache.propagation/base-hash", "cache.propagation/scrape",
		string(workv1.FeedbackWatchType), string(workv1.FeedbackPollType),
	},
	[]string{"", "true", "True", "False", "Unknown", string(workv1.String), "1", "2", "3", "argocd", "openshift-gitops"},
	[]string{workv1.WorkApplied, workv1.ManifestAvailable, "StatusFeedbackSynced"},
	[]string{
		argocd.Group, argocd.GroupVersion.Version, argocd.ApplicationKind, argocd.ApplicationPlural,
		"AppProject", "appprojects", "v1", "Namespace", "namespaces",
	},
	[]string{
		argocd.HealthProgressing, argocd.HealthHealthy, argocd.HealthSuspended, argocd.HealthDegraded, argocd.HealthMissing,
		argocd.SyncSynced, argocd.SyncOutOfSync,
		argocd.OperationRunning, argocd.OperationTerminating, argocd.OperationFailed, argocd.OperationError, argocd.OperationSucceeded,
		"successfully synced (all tasks run)", "successfully synced (no more tasks)", // as Argo CD says it
	},
)

func feedbackNames() []string {
	paths := append(contract.FeedbackPaths(), contract.RequestPaths()...)
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p.Name
	}
	return names
}

func newDictionary(lists ...[]string) *dictionary {
	d := &dictionary{numbers: map[string]int{}}
	for _, list := range lists {
		for _, s := range list {
			if _, known := d.numbers[s]; !known {
				d.numbers[s] = len(d.texts)
				d.texts = append(d.texts, s)
			}
		}
	}
	return d
}

// number returns the number of s if it is a word.
func (d *dictionary) number(s string) (n int, known bool) {
	n, known = d.numbers[s]
	return n, known
}

// word returns the text with a number.
func (d *dictionary) word(n int) string {
	if n < 0 || n >= len(d.texts) {
		return ""
	}
	return d.texts[n]
}

// shared returns s as one string for all that are equal.
func shared(s string) string { return unique.Make(s).Value() }
