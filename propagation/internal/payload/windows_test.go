// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// What a sync window says on the hub about clusters holds on the managed cluster.
func TestWindowsFor(t *testing.T) {
	const here = `"clusters":["https://kubernetes.default.svc"]`
	for _, c := range []struct{ reason, windows, want string }{
		{"the cluster's name", `[{"kind":"deny","clusters":["cluster7"],"duration":"1h"}]`, `[{` + here + `,"duration":"1h","kind":"deny"}]`},
		{"a pattern for it", `[{"clusters":["eu-*","cluster?"]}]`, `[{` + here + `}]`},
		{"the server that it is registered with", `[{"clusters":["https://cluster7-control-plane:6443"]}]`, `[{` + here + `}]`},
		{"Argo CD's name of the cluster itself", `[{"clusters":["https://kubernetes.default.svc"]}]`, `[{` + here + `}]`},
		{"one of another cluster selects nothing and goes", `[{"clusters":["cluster8"]},{"clusters":["*"]}]`, `[{` + here + `}]`},
		{"but for what else it selects", `[{"clusters":["cluster8"],"applications":["a*"]},{"namespaces":["n"],"clusters":["x"]}]`, `[{"applications":["a*"]},{"namespaces":["n"]}]`},
		{"of which nothing is left when all must hold", `[{"clusters":["cluster8"],"applications":["a*"],"andOperator":true}]`, `[]`},
		{"while all hold here", `[{"clusters":["cluster7"],"applications":["a*"],"andOperator":true}]`, `[{"andOperator":true,"applications":["a*"],` + here + `}]`},
		{"without clusters it stays as it is, unknown fields and order included", `[{"z":null,"applications":["a*"],"b":1e400}]`, `[{"z":null,"applications":["a*"],"b":1e400}]`},
		{"so does what is no window", `[{"clusters":"cluster7"},null,3]`, `[{"clusters":"cluster7"},null,3]`},
		{"or no list", `{"clusters":[]}`, `{"clusters":[]}`},
	} {
		got, err := windowsFor(json.RawMessage(`{"syncWindows":`+c.windows+`}`), "cluster7")
		if want := `{"syncWindows":` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.reason, got, err, want)
		}
	}
	const plain = `{"z":1,"a":null}`
	if got, err := windowsFor(json.RawMessage(plain), "cluster7"); err != nil || string(got) != plain {
		t.Errorf("a project without windows became %s, %v", got, err)
	}
	if got, err := windowsFor(nil, "cluster7"); err != nil || got != nil {
		t.Errorf("no spec became %s, %v", got, err)
	}
}

func TestWindowed(t *testing.T) {
	app := &argocd.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{contract.ClusterAnnotation: "cluster7"}},
		Spec:       json.RawMessage(`{"destination":{"namespace":"sales"}}`),
	}
	for _, c := range []struct {
		reason, windows string
		want            bool
	}{
		{"its cluster", `[{"clusters":["cluster*"]}]`, true},
		{"another cluster", `[{"clusters":["cluster8"]}]`, false},
		{"its name", `[{"applications":["sh*"]}]`, true},
		{"another name", `[{"applications":["bank"]}]`, false},
		{"the namespace that it deploys to", `[{"namespaces":["sales"]}]`, true},
		{"one of several", `[{"namespaces":["other"]},{"clusters":["x"],"applications":["shop"]}]`, true},
		{"all that is given", `[{"namespaces":["sales"],"clusters":["cluster7"],"andOperator":true}]`, true},
		{"not all that is given", `[{"namespaces":["other"],"clusters":["cluster7"],"andOperator":true}]`, false},
		{"no window", `[]`, false},
		{"one that selects nothing", `[{"kind":"deny"}]`, false},
		{"no list of windows", `"x"`, false},
		{"no window in the list", `["x"]`, false},
	} {
		if got := Windowed(json.RawMessage(`{"syncWindows":`+c.windows+`}`), app); got != c.want {
			t.Errorf("%s: got %t", c.reason, got)
		}
	}
	if Windowed(nil, app) || Windowed(json.RawMessage("[]"), app) {
		t.Error("a project without windows has one")
	}
}
