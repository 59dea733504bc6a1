// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A sync window that selects the cluster on the hub also selects it on the managed cluster. The window then
// contains both names that a delivered Application may have as its destination.
func TestWindowsFor(t *testing.T) {
	const here = `"in-cluster","https://kubernetes.default.svc"`
	for _, c := range []struct{ reason, windows, want string }{
		{"the cluster's name", `[{"kind":"deny","clusters":["cluster7"],"duration":"1h"}]`, `[{"clusters":["cluster7",` + here + `],"duration":"1h","kind":"deny"}]`},
		{"a pattern for it", `[{"clusters":["eu-*","cluster?"]}]`, `[{"clusters":["eu-*","cluster?",` + here + `]}]`},
		{"the server that it is registered with", `[{"clusters":["https://cluster7-control-plane:6443"]}]`, `[{"clusters":["https://cluster7-control-plane:6443",` + here + `]}]`},
		{"Argo CD's server of the cluster itself", `[{"clusters":["https://kubernetes.default.svc"]}]`, `[{"clusters":["https://kubernetes.default.svc","in-cluster"]}]`},
		{"Argo CD's name of the cluster itself", `[{"clusters":["in-cluster"]}]`, `[{"clusters":["in-cluster","https://kubernetes.default.svc"]}]`},
		{"all clusters: nothing is missing", `[{"z":null,"clusters":["*"]}]`, `[{"z":null,"clusters":["*"]}]`},
		{"all servers", `[{"clusters":["https://*"]}]`, `[{"clusters":["https://*","in-cluster"]}]`},
		{"another cluster, which may be the name of a destination there", `[{"clusters":["cluster8"]}]`, `[{"clusters":["cluster8"]}]`},
		{"but one that would match this cluster by chance goes", `[{"clusters":["in-*","cluster8"]},{"clusters":["in-*"]}]`, `[{"clusters":["cluster8"]}]`},
		{"though not what else its window selects", `[{"clusters":["in-*"],"applications":["a*"]},{"namespaces":["n"],"clusters":["*-cluster"]}]`, `[{"applications":["a*"]},{"namespaces":["n"]}]`},
		{"of which nothing is left when all must hold", `[{"clusters":["in-*"],"applications":["a*"],"andOperator":true}]`, `[]`},
		{"while all hold here", `[{"clusters":["cluster7"],"applications":["a*"],"andOperator":true}]`, `[{"andOperator":true,"applications":["a*"],"clusters":["cluster7",` + here + `]}]`},
		{"without clusters it stays as it is, unknown fields and order included", `[{"z":null,"applications":["a*"],"b":1e400}]`, `[{"z":null,"applications":["a*"],"b":1e400}]`},
		{"so does what is no window", `[{"clusters":"cluster7"},null,3]`, `[{"clusters":"cluster7"},null,3]`},
		{"or no list", `{"clusters":[]}`, `{"clusters":[]}`},
	} {
		got, err := forCluster(json.RawMessage(`{"syncWindows":`+c.windows+`}`), "cluster7")
		if want := `{"syncWindows":` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.reason, got, err, want)
		}
	}
	const plain = `{"z":1,"a":null}`
	if got, err := forCluster(json.RawMessage(plain), "cluster7"); err != nil || string(got) != plain {
		t.Errorf("a project without windows became %s, %v", got, err)
	}
	if got, err := forCluster(nil, "cluster7"); err != nil || got != nil {
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
		{"its cluster under Argo CD's name there", `[{"clusters":["in-cluster"]}]`, true},
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

// If the annotations of an Application name a destination outside a sync window of its cluster, WindowEscaped
// reports that. propagation then warns the user.
func TestWindowEscaped(t *testing.T) {
	for _, c := range []struct {
		reason, windows string
		annotations     map[string]string
		want            bool
	}{
		{"the server of the cluster itself", `[{"clusters":["cluster7"]}]`, nil, false},
		{"its name", `[{"clusters":["cluster7"]}]`, map[string]string{contract.DestinationNameAnnotation: "in-cluster"}, false},
		{"a freeze of all", `[{"clusters":["*"]}]`, map[string]string{contract.DestinationNameAnnotation: "in-cluster"}, false},
		{"another destination in a freeze of all", `[{"clusters":["*"]}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, false},
		{"another destination that the window names, too", `[{"clusters":["cluster7","virtual"]}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, false},
		{"another destination by name", `[{"clusters":["cluster7"]}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, true},
		{"another destination by server", `[{"clusters":["cluster7"]}]`, map[string]string{contract.DestinationServerAnnotation: "https://virtual"}, true},
		{"one window of several", `[{"clusters":["*"]},{"clusters":["cluster7"],"applications":["shop"],"andOperator":true}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, true},
		{"a window that selects it otherwise", `[{"clusters":["cluster7"],"applications":["shop"]}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, false},
		{"a window of another cluster", `[{"clusters":["cluster8"]}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, false},
		{"no window", `[]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, false},
		{"no list of windows", `"x"`, nil, false},
		{"what is no window", `["x",{"clusters":["cluster7"]}]`, map[string]string{contract.DestinationNameAnnotation: "virtual"}, true},
	} {
		app := &argocd.Application{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{contract.ClusterAnnotation: "cluster7"}},
			Spec:       json.RawMessage(`{"destination":{"namespace":"sales"}}`),
		}
		maps.Copy(app.Annotations, c.annotations)
		if got := WindowEscaped(json.RawMessage(`{"syncWindows":`+c.windows+`}`), app); got != c.want {
			t.Errorf("%s: got %t", c.reason, got)
		}
	}
}
