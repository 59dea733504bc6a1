// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/shared/argocd/pattern"
)

// The Argo CD of a managed cluster treats every Application in its own namespace as its
// administrator's. The hub's Argo CD never checks a pulled Application. So before the delivery,
// propagation makes the checks that Argo CD would make for an Application outside its namespace.
// Applications in the Argo CD namespace belong to the administrator and may use any namespace.

// AppNamespace lets the Applications of hub namespaces use another namespace on managed clusters.
type AppNamespace struct {
	// Hub is a [pattern.Glob] for the namespace of the hub Application. Target is the namespace to
	// which it may be delivered.
	Hub, Target string
}

// AppNamespaces is a list of [AppNamespace] and the value of a flag.
type AppNamespaces []AppNamespace

// String returns the list as [AppNamespaces.Set] takes it.
func (l *AppNamespaces) String() string {
	pairs := make([]string, len(*l))
	for i, n := range *l {
		pairs[i] = n.Hub + "=" + n.Target
	}
	return strings.Join(pairs, ",")
}

// Set replaces the list. The value has pairs "<hub namespace>=<target namespace>" with commas
// between them. A glob with alternatives has to be given as several pairs.
func (l *AppNamespaces) Set(value string) error {
	*l = nil
	for pair := range strings.SplitSeq(value, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		hub, target, ok := strings.Cut(pair, "=")
		if !ok || hub == "" {
			return fmt.Errorf("%q: want <hub namespace>=<namespace on the managed cluster>", pair)
		}
		if len(validation.IsDNS1123Label(target)) > 0 {
			return fmt.Errorf("%q: %q cannot be the name of a namespace", pair, target)
		}
		if strings.ContainsAny(hub, "{}/") {
			return fmt.Errorf("%q: %q may be a name or a pattern with *, ? and [sets]", pair, hub)
		}
		*l = append(*l, AppNamespace{Hub: hub, Target: target})
	}
	return nil
}

// Allow reports whether Applications of a hub namespace may be delivered to a target namespace.
func (l AppNamespaces) Allow(hub, target string) bool {
	for _, n := range l {
		if n.Target == target && pattern.Glob(n.Hub, hub) {
			return true
		}
	}
	return false
}
