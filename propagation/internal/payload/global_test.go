// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/json"
	"testing"
)

func TestWithGlobal(t *testing.T) {
	for _, c := range []struct{ reason, own, global, want string }{
		{"each list gets those of the global project behind its own", `{"sourceRepos":["a"],"destinations":[{"namespace":"team"}]}`,
			`{"sourceRepos":["b"],"destinations":[{"namespace":"shared"}],"syncWindows":[{"kind":"deny"}],"namespaceResourceBlacklist":[{"kind":"Secret"}]}`,
			`{"destinations":[{"namespace":"team"},{"namespace":"shared"}],"namespaceResourceBlacklist":[{"kind":"Secret"}],"sourceRepos":["a","b"],"syncWindows":[{"kind":"deny"}]}`},
		{"all eight lists", `{}`,
			`{"clusterResourceWhitelist":[1],"clusterResourceBlacklist":[2],"namespaceResourceWhitelist":[3],"namespaceResourceBlacklist":[4],"syncWindows":[5],"sourceRepos":[6],"destinations":[7],"destinationServiceAccounts":[8]}`,
			`{"clusterResourceBlacklist":[2],"clusterResourceWhitelist":[1],"destinationServiceAccounts":[8],"destinations":[7],"namespaceResourceBlacklist":[4],"namespaceResourceWhitelist":[3],"sourceRepos":[6],"syncWindows":[5]}`},
		{"nothing else is inherited", `{"z":1}`, `{"roles":[{"name":"x"}],"sourceNamespaces":["*"],"description":"x","signatureKeys":[{"keyID":"1"}]}`, `{"z":1}`},
		{"null is no list", `{"sourceRepos":null}`, `{"sourceRepos":["b"],"destinations":null}`, `{"sourceRepos":["b"]}`},
		{"a global project without a spec", `{"z":1}`, ``, `{"z":1}`},
	} {
		got, err := WithGlobal(json.RawMessage(c.own), json.RawMessage(c.global))
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.reason, got, err, c.want)
		}
	}
	for _, bad := range [][2]string{{`{"sourceRepos":"a"}`, `{"sourceRepos":["b"]}`}, {`{}`, `{"sourceRepos":"b"}`}, {`{}`, `[]`}} {
		if got, err := WithGlobal(json.RawMessage(bad[0]), json.RawMessage(bad[1])); err == nil {
			t.Errorf("%s and %s became %s", bad[0], bad[1], got)
		}
	}
}

func TestForCluster_addsTheClusterToServiceAccounts(t *testing.T) {
	const here = `{"defaultServiceAccount":"deployer","namespace":"*","server":"https://kubernetes.default.svc"}`
	for _, c := range []struct{ reason, entries, want string }{
		{"the hub's own server is the cluster's there", `[{"server":"https://kubernetes.default.svc","namespace":"*","defaultServiceAccount":"deployer"}]`,
			`[{"server":"https://kubernetes.default.svc","namespace":"*","defaultServiceAccount":"deployer"}]`},
		{"the server that it is registered with is, too", `[{"server":"https://cluster7-control-plane:6443","namespace":"*","defaultServiceAccount":"deployer"}]`,
			`[{"defaultServiceAccount":"deployer","namespace":"*","server":"https://cluster7-control-plane:6443"},` + here + `]`},
		{"the order counts: the first that matches is taken", `[{"server":"https://cluster7*","namespace":"a","defaultServiceAccount":"x"},{"server":"*","namespace":"*","defaultServiceAccount":"y"}]`,
			`[{"defaultServiceAccount":"x","namespace":"a","server":"https://cluster7*"},{"defaultServiceAccount":"x","namespace":"a","server":"https://kubernetes.default.svc"},{"server":"*","namespace":"*","defaultServiceAccount":"y"}]`},
		{"another cluster stays: an annotation may name it", `[{"server":"https://cluster8-control-plane:6443","namespace":"*","defaultServiceAccount":"x"}]`,
			`[{"server":"https://cluster8-control-plane:6443","namespace":"*","defaultServiceAccount":"x"}]`},
		{"what is no entry stays", `[{"server":3},{"namespace":"*"}]`, `[{"server":3},{"namespace":"*"}]`},
	} {
		got, err := forCluster(json.RawMessage(`{"destinationServiceAccounts":`+c.entries+`}`), "cluster7")
		if want := `{"destinationServiceAccounts":` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.reason, got, err, want)
		}
	}
}

func TestRedirect_deliversTheHydratedSource(t *testing.T) {
	const to = `"destination":{"server":"https://kubernetes.default.svc"},`
	for _, c := range []struct{ reason, spec, want string }{
		{"the copy syncs what was hydrated", `{"sourceHydrator":{"drySource":{"repoURL":"https://git.example.com/apps.git","targetRevision":"main","path":"dry"},"syncSource":{"targetBranch":"env/prod","path":"wet"},"hydrateTo":{"targetBranch":"env/prod-next"}}}`,
			`{` + to + `"source":{"path":"wet","repoURL":"https://git.example.com/apps.git","targetRevision":"env/prod"}}`},
		{"from its own repository where it has one", `{"source":{"path":"x"},"sourceHydrator":{"drySource":{"repoURL":"a"},"syncSource":{"repoURL":"b","targetBranch":"c","path":"d"}}}`,
			`{` + to + `"source":{"path":"d","repoURL":"b","targetRevision":"c"}}`},
		{"null is none", `{"source":{"path":"x"},"sourceHydrator":null}`, `{` + to + `"source":{"path":"x"},"sourceHydrator":null}`},
	} {
		got, err := Redirect(json.RawMessage(c.spec), nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.reason, got, err, c.want)
		}
	}
	if got, err := Redirect(json.RawMessage(`{"sourceHydrator":"x"}`), nil); err == nil {
		t.Errorf("a malformed hydrator became %s", got)
	}
}
