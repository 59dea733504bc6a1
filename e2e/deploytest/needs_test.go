// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"slices"
	"strings"
)

// These are the namespaces in [needs].
const (
	everywhere   = ""
	podNamespace = "the pod's"
	flagValue    = "the flag's value, up to a slash"
	argoCD       = "the value of --argocd-namespace"
)

// needs are the permissions that each flag of the manifests needs, by container and flag. * is every
// container. A flag with the value false needs none. The Role with the container's name has the permissions
// that the container needs for any flags.
var needs = map[string][]right{
	"* --conflicting-deployment": slices.Concat(allow("get", "deployments.apps", flagValue), allow("get", "configmaps.", flagValue)),
	"* --intermediate-dir":       nil,
	"* --leader-elect":           allow("create get update", "leases.coordination.k8s.io", podNamespace),
	"* --metrics-cert-dir":       nil,
	"* --metrics-secure": slices.Concat(allow("create", "tokenreviews.authentication.k8s.io", everywhere),
		allow("create", "subjectaccessreviews.authorization.k8s.io", everywhere)),

	"propagation --argocd-namespace": allow("get list watch", "secrets.", flagValue),
	"propagation --register":         allow("create delete patch", "secrets.", argoCD),

	"aggregation --rendered": allow("list watch", "applications.argoproj.io", everywhere),

	"gitopscluster --argocd-namespace": allow("create delete get list patch watch", "secrets.", flagValue),
	"gitopscluster --agents": slices.Concat(allow("create delete get list patch watch", "managedclusteraddons.addon.open-cluster-management.io", everywhere),
		allow("update", "certificatesigningrequests/approval.certificates.k8s.io", everywhere), allow("create delete get list patch watch", "manifestworks.work.open-cluster-management.io", everywhere),
		allow("create delete get patch", "secrets.", podNamespace), allow("list watch", "services.", argoCD), allow("list patch watch", "deployments.apps", argoCD)),

	"page --page-host": slices.Concat(allow("list watch", "applications.argoproj.io", everywhere), allow("get", "multiclusterapplicationsetreports.apps.open-cluster-management.io", everywhere),
		allow("get", "leases.coordination.k8s.io", podNamespace)),

	"liveview --argocd-namespace":  allow("get", "secrets.", flagValue),
	"placement --argocd-namespace": slices.Concat(allow("list watch", "secrets.", flagValue), allow("list watch", "placementdecisions.cluster.open-cluster-management.io", flagValue)),
}

// unlessSet are flags of [needs] that default to true.
var unlessSet = []string{"* --metrics-secure", "propagation --register"}

// allow returns permissions for verbs on a resource, which is its name, a dot and its group.
func allow(verbs, resource, namespace string) (rights []right) {
	name, group, _ := strings.Cut(resource, ".")
	for verb := range strings.FieldsSeq(verbs) {
		rights = append(rights, right{group: group, resource: name, verb: verb, namespace: namespace})
	}
	return rights
}

// rowOf returns the row of [needs] for a flag of a container.
func rowOf(container, flag string) (row string, found bool) {
	for _, row := range []string{container + " " + flag, "* " + flag} {
		if _, found := needs[row]; found {
			return row, true
		}
	}
	return "", false
}

// neededBy returns the permissions that a container needs for its flags, by the row of [needs], and the flags
// that have no row.
func (c container) neededBy() (rights map[string][]right, unknown []string) {
	set, rights := map[string]string{}, map[string][]right{}
	for _, arg := range c.args {
		flag, value, _ := strings.Cut(arg, "=")
		if row, found := rowOf(c.name, flag); found {
			set[row] = value
		} else {
			unknown = append(unknown, flag)
		}
	}
	for _, row := range unlessSet {
		if _, found := set[row]; !found && (strings.HasPrefix(row, "* ") || strings.HasPrefix(row, c.name+" ")) {
			set[row] = "true"
		}
	}
	for row, value := range set {
		rights[row] = nil
		for _, r := range needs[row] {
			switch r.namespace {
			case podNamespace:
				r.namespace = c.namespace
			case flagValue:
				r.namespace, _, _ = strings.Cut(value, "/")
			case argoCD:
				r.namespace = set[c.name+" --argocd-namespace"]
			}
			if value != "false" {
				rights[row] = append(rights[row], r)
			}
		}
	}
	return rights, unknown
}
