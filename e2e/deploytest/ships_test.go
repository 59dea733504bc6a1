// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// exceptions are the objects that [TestReferences_leadToShippedObjects] may find missing, and why. If an exception is not missing,
// the test fails.
var exceptions = map[string]string{
	"ServiceAccount argocd/argocd-application-controller":                        "Argo CD's",
	"ServiceAccount argocd/argocd-applicationset-controller":                     "Argo CD's",
	"ServiceAccount openshift-gitops/openshift-gitops-applicationset-controller": "OpenShift GitOps's",
	"ServiceAccount monitoring/prometheus-k8s":                                   "kube-prometheus's",
	"ServiceAccount openshift-monitoring/prometheus-k8s":                         "OpenShift's",
	"ClusterRole /edit": "Kubernetes's",
	"binding of ClusterRole /multicluster-integrations-page-viewer": "users bind it to people",
	"account of ValidatingAdmissionPolicy /rendered-manifestworks":  "it is for every account of Argo CD's namespace",
}

// Each name in the shipped objects refers to a shipped object. A binding names a Role and accounts, a pod
// names its account, and an admission policy names the account that it restricts. A NetworkPolicy selects our
// pods, because a policy that selects other pods would close them. Each flag of a container has the
// permissions that it needs.
func TestReferences_leadToShippedObjects(t *testing.T) {
	missing, rows := map[string]bool{}, map[string]bool{}
	for name, objects := range renderings(t) {
		t.Run(name, func(t *testing.T) {
			newInstallation(t, objects, missing).check(rows)
			for _, o := range objects {
				if strings.HasPrefix(name, "chart ") && o.GetNamespace() == namespace {
					t.Errorf("%s is not in the namespace of the release, %s", identity(o), otherNamespace)
				}
			}
		})
	}
	for exception := range exceptions {
		if !missing[exception] {
			t.Errorf("not missing, and excepted: %s", exception)
		}
	}
	for row := range needs {
		if !rows[row] {
			t.Errorf("no container has the flag of row %q", row)
		}
	}
}

// installation is a set of rendered objects, with indexes.
type installation struct {
	t          *testing.T
	objects    map[string]*unstructured.Unstructured
	bound      map[string]int            // number of bindings by role
	rights     map[string]map[right]bool // permissions by account
	containers []container
	missing    map[string]bool // the found keys of exceptions
}

// container is a container of a Deployment. account is the key of its ServiceAccount.
type container struct {
	name, namespace, account string
	args                     []string
}

func key(kind, namespace, name any) string { return fmt.Sprintf("%v %v/%v", kind, namespace, name) }

func newInstallation(t *testing.T, objects []*unstructured.Unstructured, missing map[string]bool) *installation {
	t.Helper()
	in := &installation{t: t, objects: map[string]*unstructured.Unstructured{}, bound: map[string]int{}, rights: map[string]map[right]bool{}, missing: missing}
	for _, o := range objects {
		in.objects[key(o.GetKind(), o.GetNamespace(), o.GetName())] = o
	}
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment":
			for _, c := range containers(t, o) {
				args, _, _ := unstructured.NestedStringSlice(c, "args")
				account := credentialIn(t, objects, o, c["name"].(string)).account
				in.containers = append(in.containers, container{c["name"].(string), o.GetNamespace(), key("ServiceAccount", o.GetNamespace(), account), args})
			}
		case "RoleBinding", "ClusterRoleBinding":
			role := roleOf(o)
			in.bound[role]++
			if in.objects[role] == nil {
				continue // check reports it
			}
			for _, account := range subjectsOf(o) {
				if in.rights[account] == nil {
					in.rights[account] = map[right]bool{}
				}
				for _, r := range rightsOf(t, in.objects[role]) {
					r.namespace = o.GetNamespace()
					in.rights[account][r] = true
				}
			}
		}
	}
	return in
}

// roleOf returns the key of the role in a binding.
func roleOf(binding *unstructured.Unstructured) string {
	role, _, _ := unstructured.NestedStringMap(binding.Object, "roleRef")
	if role["kind"] == "ClusterRole" {
		return key("ClusterRole", "", role["name"])
	}
	return key(role["kind"], binding.GetNamespace(), role["name"])
}

// subjectsOf returns the keys of the subjects of a binding.
func subjectsOf(binding *unstructured.Unstructured) (keys []string) {
	for _, s := range entries(binding.Object, "subjects") {
		keys = append(keys, key(s["kind"], s["namespace"], s["name"]))
	}
	return keys
}

// entries returns a list of objects, or none if the field does not exist.
func entries(o map[string]any, path ...string) (list []map[string]any) {
	values, _, _ := unstructured.NestedSlice(o, path...)
	for _, v := range values {
		list = append(list, v.(map[string]any))
	}
	return list
}

// need fails the test if an object is missing and no exception permits that.
func (in *installation) need(exists bool, what, user string) {
	in.t.Helper()
	if !exists {
		in.missing[what] = true
	}
	if !exists && exceptions[what] == "" {
		in.t.Errorf("%s: there is no %s", user, what)
	}
}

// check checks all objects and records in rows which rows of [needs] it has checked.
func (in *installation) check(rows map[string]bool) {
	in.t.Helper()
	for self, o := range in.objects {
		switch o.GetKind() {
		case "Role", "ClusterRole":
			aggregated := slices.ContainsFunc(slices.Collect(maps.Keys(o.GetLabels())), func(label string) bool { return strings.Contains(label, "/aggregate-to-") })
			in.need(in.bound[self] == 1 || aggregated, "binding of "+self, fmt.Sprintf("bound %d times", in.bound[self]))
		case "RoleBinding", "ClusterRoleBinding":
			in.checkBinding(self, o)
		case "ValidatingAdmissionPolicyBinding":
			policy := key("ValidatingAdmissionPolicy", "", field(in.t, o.Object, "spec", "policyName"))
			in.need(in.objects[policy] != nil, policy, self)
		case "ValidatingAdmissionPolicy":
			in.checkPolicy(self, o)
		case "NetworkPolicy":
			in.checkSelector(self, o.GetNamespace(), field(in.t, o.Object, "spec", "podSelector"))
			for _, rule := range entries(o.Object, "spec", "ingress") {
				for _, from := range entries(rule, "from") {
					if name, found, _ := unstructured.NestedString(from, "namespaceSelector", "matchLabels", "kubernetes.io/metadata.name"); found {
						in.checkSelector(self, name, from["podSelector"])
					}
				}
			}
		}
	}
	for _, c := range in.containers {
		in.checkContainer(c, rows)
	}
}

// checkBinding checks that role and accounts exist, and that a container's role is bound only to its account.
func (in *installation) checkBinding(self string, o *unstructured.Unstructured) {
	in.t.Helper()
	role, subjects := roleOf(o), subjectsOf(o)
	in.need(in.objects[role] != nil, role, self)
	for _, account := range subjects {
		in.need(in.objects[account] != nil, account, self)
	}
	for _, c := range in.containers {
		if strings.HasSuffix(role, "/"+namespace+"-"+c.name) && !slices.Equal(subjects, []string{c.account}) {
			in.t.Errorf("%s gives the role of %s to %q, want %s alone", self, c.name, subjects, c.account)
		}
	}
}

// checkContainer checks that the account exists, and has the permissions for each flag.
func (in *installation) checkContainer(c container, rows map[string]bool) {
	in.t.Helper()
	in.need(in.objects[c.account] != nil, c.account, "container "+c.name)
	needed, unknown := c.neededBy()
	for row, rights := range needed {
		rows[row] = true
		for _, r := range rights {
			if hub := (right{group: r.group, resource: r.resource, verb: r.verb}); !in.rights[c.account][r] && !in.rights[c.account][hub] {
				r.binary = c.name
				in.t.Errorf("%s lacks what flag %q needs: %s", c.account, row, r)
			}
		}
	}
	for _, flag := range unknown {
		in.t.Errorf("%s has flag %s: add the rights that it needs to needs", c.name, flag)
	}
}

// restricted matches the accounts in an expression: with a namespace, or by the end of the name.
var restricted = regexp.MustCompile(`system:serviceaccount:([a-z0-9-]+):([a-z0-9-]+)|endsWith\(':([a-z0-9-]+)'\)`)

// checkPolicy checks that a policy restricts existing accounts.
func (in *installation) checkPolicy(self string, o *unstructured.Unstructured) {
	in.t.Helper()
	found := 0
	for _, condition := range entries(o.Object, "spec", "matchConditions") {
		for _, m := range restricted.FindAllStringSubmatch(fmt.Sprint(condition["expression"]), -1) {
			found++
			wanted := key("ServiceAccount", m[1], m[2]+m[3])
			if m[3] != "" { // in any namespace
				for k := range in.objects {
					if strings.HasPrefix(k, "ServiceAccount ") && strings.HasSuffix(k, "/"+m[3]) {
						wanted = k
					}
				}
			}
			in.need(in.objects[wanted] != nil, wanted, self)
		}
	}
	in.need(found > 0, "account of "+self, self)
}

// checkSelector checks that a selector matches pods of ours in a namespace.
func (in *installation) checkSelector(self, namespace string, selector any) {
	in.t.Helper()
	wanted, _, err := unstructured.NestedStringMap(map[string]any{"selector": selector}, "selector", "matchLabels")
	if err != nil {
		in.t.Error(err)
	}
	found := false
	for _, o := range in.objects {
		pod, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "metadata", "labels")
		found = found || o.GetKind() == "Deployment" && o.GetNamespace() == namespace && labels.SelectorFromSet(wanted).Matches(labels.Set(pod))
	}
	in.need(found, "pod in "+namespace+": "+labels.FormatLabels(wanted), self)
}
