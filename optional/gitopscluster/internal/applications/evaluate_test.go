// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

func application(name, destination, project string) *argocd.Application {
	o := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}}
	o.Spec = json.RawMessage(`{"project":"` + project + `","destination":` + destination + `}`)
	return o
}

func pulled(name, cluster, project string) *argocd.Application {
	o := application(name, `{"server":"https://kubernetes.default.svc"}`, project)
	o.Annotations = map[string]string{contract.ClusterAnnotation: cluster}
	return o
}

func appProject(name, destinations string) *argocd.AppProject {
	return &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: name}, Spec: json.RawMessage(`{"destinations":` + destinations + `}`)}
}

// shown returns an AppProject that an autonomous agent sends to the hub.
func shown(cluster, name string) *argocd.AppProject {
	o := &argocd.AppProject{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: cluster + "-" + name, Annotations: map[string]string{sourceUIDAnnotation: "x"}}}
	o.Spec = json.RawMessage(`{"sourceNamespaces":["` + cluster + `"],"destinations":[{"name":"` + cluster + `","server":"*"}]}`)
	return o
}

func TestReport(t *testing.T) {
	now := time.Unix(1_767_000_000, 0)
	everywhere, named := `[{"server":"*","namespace":"*"}]`, `[{"name":"managed","namespace":"*"}]`
	ignored := appProject("shared", everywhere)
	ignored.Labels = map[string]string{argocd.IgnoreSyncLabel: "true"}
	elsewhere := func(age time.Duration, status string) *argocd.Application {
		o := application("a", `{"name":"managed"}`, "p")
		o.Namespace, o.CreationTimestamp, o.Status = "team", metav1.NewTime(now.Add(-age)), json.RawMessage(status)
		return o
	}
	cases := map[string]struct {
		reason       string
		projects     []*argocd.AppProject
		applications []*argocd.Application
		pulled       []*argocd.Application
		want         Report
	}{
		"nothing": {reason: "there is nothing to say of what agents serve", applications: []*argocd.Application{application("a", `{"name":"managed"}`, "p"), application("b", `{"name":"autonomous"}`, "p")}},
		"left":    {reason: "no agent serves that cluster any more", applications: []*argocd.Application{application("a", `{"name":"gone"}`, "p")}, want: Report{Orphaned: Named{1, []string{"Application argocd/a (cluster gone)"}}}},
		"by URL": {reason: "the resource proxy's URL names a cluster, too", applications: []*argocd.Application{application("a", `{"server":"https://x:9090?agentName=gone"}`, "p")},
			want: Report{Orphaned: Named{1, []string{"Application argocd/a (cluster gone)"}}}},
		"elsewhere": {reason: "who serves these is not known here", applications: []*argocd.Application{
			application("a", `{"name":"foreign"}`, "p"), application("b", `{"name":"in-cluster"}`, "p"), application("c", `{"server":"https://kubernetes.default.svc"}`, "p"), application("d", `{}`, "p")}},
		"broken":      {reason: "what Argo CD cannot read is not ours to report", applications: []*argocd.Application{{Spec: json.RawMessage(`{"destination":5}`)}}, projects: []*argocd.AppProject{{Spec: json.RawMessage(`[]`)}}},
		"shown":       {reason: "the agent that showed it has left; the other has not", projects: []*argocd.AppProject{shown("gone", "default"), shown("autonomous", "default")}, want: Report{Orphaned: Named{1, []string{"AppProject argocd/gone-default"}}}},
		"overwritten": {reason: "the agent cuts it to its own destinations", projects: []*argocd.AppProject{appProject("shared", everywhere)}, pulled: []*argocd.Application{pulled("a", "managed", "shared")}, want: Report{Overwritten: Named{1, []string{"shared"}}}},
		"both": {reason: "also where Applications of agents need it", projects: []*argocd.AppProject{appProject("shared", named)},
			applications: []*argocd.Application{application("b", `{"name":"managed"}`, "shared")}, pulled: []*argocd.Application{pulled("a", "managed", "shared")}, want: Report{Shared: Named{1, []string{"shared"}}}},
		"ignored":    {reason: "the principal does not send it", projects: []*argocd.AppProject{ignored}, pulled: []*argocd.Application{pulled("a", "managed", "shared")}},
		"denied":     {reason: "nor this one", projects: []*argocd.AppProject{appProject("shared", `[{"name":"!man*","server":"x"},{"server":"*"}]`)}, pulled: []*argocd.Application{pulled("a", "managed", "shared")}},
		"other":      {reason: "nor to a cluster that it does not name", projects: []*argocd.AppProject{appProject("shared", `[{"name":"other*"}]`)}, pulled: []*argocd.Application{pulled("a", "managed", "shared")}},
		"autonomous": {reason: "an autonomous agent gets none", projects: []*argocd.AppProject{appProject("shared", everywhere)}, pulled: []*argocd.Application{pulled("a", "autonomous", "shared")}},
		"unsynced": {reason: "its Argo CD does not watch that namespace", applications: []*argocd.Application{elsewhere(time.Hour, ""), elsewhere(time.Hour, `{"summary":{}}`)},
			want: Report{Unsynced: Named{2, []string{"team/a (cluster managed)", "team/a (cluster managed)"}}}},
		"compared": {reason: "its Argo CD watches that namespace", applications: []*argocd.Application{elsewhere(time.Hour, `{"sync":{"status":"OutOfSync"}}`)}},
		"young":    {reason: "it may be on its way", applications: []*argocd.Application{elsewhere(time.Minute, "")}},
		"no agent": {reason: "where no agent is, none writes", projects: []*argocd.AppProject{appProject("shared", everywhere)}, pulled: []*argocd.Application{pulled("a", "plain", "shared")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := &evaluation{projects: map[string]*project{}, namespace: "argocd", now: now, clusters: Clusters{
				Agents: map[string]bool{"managed": true, "autonomous": true}, Managed: map[string]bool{"managed": true}, Foreign: map[string]bool{"foreign": true}}}
			for _, p := range c.projects {
				e.addProject(p)
			}
			for _, a := range c.applications {
				e.addApplication(a)
			}
			for _, a := range c.pulled {
				e.addPulled(a)
			}
			if diff := cmp.Diff(c.want, e.finish()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// A report counts all objects, but names only a few.
func TestReport_isBounded(t *testing.T) {
	e := &evaluation{projects: map[string]*project{}}
	for range 1000 {
		e.addApplication(application("a", `{"name":"gone"}`, "p"))
	}
	if r := e.finish(); r.Orphaned.Count != 1000 || len(r.Orphaned.First) != maxNamed || strings.Contains(r.Orphaned.First[0], "\n") {
		t.Errorf("report %+v", r)
	}
}
