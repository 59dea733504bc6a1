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

// exceptions are what [TestShips] may find missing, and why. One that is not missing fails the test.
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

// Each name in what ships leads to something that ships: of a binding to a Role and to accounts,
// of a pod to its account, of an admission policy to the account that it restricts, of a
// NetworkPolicy to our pods: one that selects others closes them to all that had no policy. Each flag of a container has the rights that it needs.
func TestShips(t *testing.T) {
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

// installation is a rendering.
type installation struct {
	t          *testing.T
	objects    map[string]*unstructured.Unstructured
	bound      map[string]int            // how often each role is
	rights     map[string]map[right]bool // of each account
	containers []container
	missing    map[string]bool // from exceptions
}

// container is one of a Deployment; account is a key.
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
				continue // check tells
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

// roleOf returns the key of the role that a binding gives.
func roleOf(binding *unstructured.Unstructured) string {
	role, _, _ := unstructured.NestedStringMap(binding.Object, "roleRef")
	if role["kind"] == "ClusterRole" {
		return key("ClusterRole", "", role["name"])
	}
	return key(role["kind"], binding.GetNamespace(), role["name"])
}

// subjectsOf returns the keys of those to whom a binding gives it.
func subjectsOf(binding *unstructured.Unstructured) (keys []string) {
	for _, s := range entries(binding.Object, "subjects") {
		keys = append(keys, key(s["kind"], s["namespace"], s["name"]))
	}
	return keys
}

// entries returns a list of objects; none where it is not there.
func entries(o map[string]any, path ...string) (list []map[string]any) {
	values, _, _ := unstructured.NestedSlice(o, path...)
	for _, v := range values {
		list = append(list, v.(map[string]any))
	}
	return list
}

// need fails the test for something that is missing and no exception.
func (in *installation) need(there bool, what, user string) {
	in.t.Helper()
	if !there {
		in.missing[what] = true
	}
	if !there && exceptions[what] == "" {
		in.t.Errorf("%s: there is no %s", user, what)
	}
}

// check notes in rows which ones of [needs] it has checked.
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

// checkBinding wants the role with a container's name to be for the container's account alone.
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

// checkContainer wants an account, and the rights for each flag.
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

// restricted finds the accounts in an expression: with namespace, or by the end of the name.
var restricted = regexp.MustCompile(`system:serviceaccount:([a-z0-9-]+):([a-z0-9-]+)|endsWith\(':([a-z0-9-]+)'\)`)

// checkPolicy wants a policy to restrict accounts that exist.
func (in *installation) checkPolicy(self string, o *unstructured.Unstructured) {
	in.t.Helper()
	found := 0
	for _, condition := range entries(o.Object, "spec", "matchConditions") {
		for _, m := range restricted.FindAllStringSubmatch(fmt.Sprint(condition["expression"]), -1) {
			found++
			wanted := key("ServiceAccount", m[1], m[2]+m[3])
			if m[3] != "" { // in whatever namespace
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

// checkSelector wants a selector to find pods of ours in a namespace.
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
