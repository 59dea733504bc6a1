// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

func object(t *testing.T, text string) *v1beta1.GitOpsCluster {
	t.Helper()
	o := &v1beta1.GitOpsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "fleet"}}
	if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOf(t *testing.T) {
	const placement = "placementRef: {kind: Placement, name: p}, "
	desired := func(change func(*Agent)) *Agent {
		a := &Agent{Mode: ModeManaged, Namespace: "argocd", RestartPrincipal: true}
		if change != nil {
			change(a)
		}
		return a
	}
	on := "gitopsAddon: {enabled: true, argoCDAgent: {enabled: true"
	cases := map[string]struct {
		reason, text string
		want         Intent
		refused      string
		unused       string
	}{
		"beta":  {reason: "the namespace says which Argo CD", text: "spec: {" + placement + "argoServer: {argoNamespace: argocd}}", want: Intent{ArgoNamespace: "argocd", Placement: "p"}},
		"own":   {reason: "an empty one is the object's", text: "spec: {" + placement + "argoServer: {}}", want: Intent{ArgoNamespace: "team", Placement: "p"}},
		"agent": {reason: "both switches are on", text: "spec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(nil)}},
		"words": {reason: "every word of the agent counts", text: "metadata: {namespace: argocd, annotations: {apps.open-cluster-management.io/agent-namespace: gitops, apps.open-cluster-management.io/live-view: 'true', apps.open-cluster-management.io/restart-principal: 'false'}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + ", mode: autonomous, serverAddress: a, serverPort: '8443'}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(func(a *Agent) {
			a.Mode, a.Address, a.Port, a.Namespace, a.Settings.ClusterRole, a.RestartPrincipal = ModeAutonomous, "a", 8443, "gitops", "view", false
		})}},
		"settings": {reason: "those of the agent count in Argo CD's namespace", text: "metadata: {namespace: argocd, annotations: {apps.open-cluster-management.io/live-view: 'true'}}\nspec: {" + placement + "agent: {allowedNamespaces: ['*'], createNamespace: true, clusterRole: ui, keepAlive: 50s, redis: {address: 'redis:6379'}}, principal: {service: s, deployment: d, agentImage: i}, argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(func(a *Agent) {
			a.Settings = v1beta1.AgentSettings{AllowedNamespaces: []string{"*"}, CreateNamespace: true, ClusterRole: "ui", KeepAlive: "50s", Redis: &v1beta1.AgentRedis{Address: "redis:6379"}}
			a.KeepAlive, a.Principal = 50*time.Second, v1beta1.PrincipalSpec{Service: "s", Deployment: "d", AgentImage: "i"}
		})}},
		"foreign settings": {reason: "and nowhere else", text: "spec: {" + placement + "agent: {clusterRole: ui}, principal: {deployment: d}, argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(nil)}, unused: "spec.agent spec.principal"},
		"without an agent": {reason: "there is nothing that they could be of", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {createNamespace: true}, principal: {deployment: d}, argoServer: {argoNamespace: argocd}}", want: Intent{ArgoNamespace: "argocd", Placement: "p"}, unused: "spec.agent spec.principal"},
		"often":            {reason: "principals close such connections", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {keepAlive: 10s}, argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"no unit":          {reason: "an interval has a unit", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {keepAlive: '60'}, argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"no pings":         {reason: "an empty interval means none", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {keepAlive: ''}, argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(nil)}},
		"everything":       {reason: "Secrets included", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {clusterRole: cluster-admin}, argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"admin":            {reason: "which is as much, bound to all namespaces", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {clusterRole: admin}, argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"foreign view":     {reason: "rights on the clusters come from Argo CD's namespace", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/live-view: 'true'}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(nil)}, unused: "annotation apps.open-cluster-management.io/live-view"},
		"OpenShift":        {reason: "nor OpenShift's own", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/agent-namespace: openshift-config}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"OpenShift GitOps": {reason: "but where its Argo CD is", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/agent-namespace: openshift-gitops}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(func(a *Agent) { a.Namespace = "openshift-gitops" })}},
		"no pattern":       {reason: "the agent would not start", text: "metadata: {namespace: argocd}\nspec: {" + placement + "agent: {allowedNamespaces: ['[']}, argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"half":             {reason: "one switch is none, and is named", text: "spec: {" + placement + "argoServer: {argoNamespace: argocd}, gitopsAddon: {argoCDAgent: {enabled: true}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p"}, unused: "gitopsAddon.argoCDAgent.enabled"},
		"alpha":            {reason: "the other words always mean an agent, and the own namespace", text: "spec: {" + placement + "argoCDAgentAddon: {mode: managed}}", want: Intent{ArgoNamespace: "team", Placement: "p", Agent: desired(nil)}},
		"alphaWords":       {reason: "and have words of their own", text: "spec: {" + placement + "argoCDAgentAddon: {principalServerAddress: a, principalServerPort: '1', agentNamespace: spoke}}", want: Intent{ArgoNamespace: "team", Placement: "p", Agent: desired(func(a *Agent) { a.Address, a.Port, a.Namespace = "a", 1, "spoke" })}},
		"manifests": {reason: "manifests go along", text: "spec: {" + placement + "argoCDAgentAddon: {argoCDCRManifestWork: {manifests: [{apiVersion: v1, kind: A, metadata: {name: a}}]}}}", want: Intent{ArgoNamespace: "team", Placement: "p", Agent: desired(func(a *Agent) {
			a.Manifests = [][]byte{[]byte(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`)}
		})}},
		"unused":            {reason: "what is not acted on is named, each field", text: "spec: {" + placement + "argoServer: {argoNamespace: argocd}, managedServiceAccountRef: m, createPolicyTemplate: true, createBlankClusterSecrets: false, gitopsAddon: {enabled: true, gitOpsOperatorImage: i, overrideExistingConfigs: true, olmSubscription: {enabled: true}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p"}, unused: "managedServiceAccountRef createBlankClusterSecrets createPolicyTemplate gitopsAddon.enabled gitopsAddon.gitOpsOperatorImage gitopsAddon.overrideExistingConfigs gitopsAddon.olmSubscription"},
		"defaults":          {reason: "what says nothing is not named", text: "spec: {" + placement + "argoServer: {argoNamespace: argocd}, createBlankClusterSecrets: true, createPolicyTemplate: false, gitopsAddon: {enabled: false, olmSubscription: {enabled: false}, argoCDAgent: {enabled: false, propagateHubCA: true}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p"}},
		"elsewhere":         {reason: "an Argo CD that gitopscluster was not told of", text: "spec: {" + placement + "argoServer: {argoNamespace: secret-ns}}", refused: ReasonNamespaceNotAllowed},
		"both":              {reason: "an object older than our schema may have both shapes", text: "spec: {" + placement + "argoServer: {argoNamespace: argocd}, argoCDAgentAddon: {}}", refused: ReasonBadField},
		"neither":           {reason: "or none", text: "spec: {" + placement + "}", refused: ReasonBadField},
		"nameless":          {reason: "a placement has a name", text: "spec: {placementRef: {}, argoServer: {argoNamespace: argocd}}", refused: ReasonBadField},
		"kind":              {reason: "and is a Placement", text: "spec: {placementRef: {name: p, kind: PlacementRule}, argoServer: {argoNamespace: argocd}}", refused: ReasonBadField},
		"mode":              {reason: "there is no third mode", text: "spec: {" + placement + "argoCDAgentAddon: {mode: both}}", refused: ReasonModeNotSupported},
		"port":              {reason: "a port is a number", text: "spec: {" + placement + "argoCDAgentAddon: {principalServerPort: https}}", refused: ReasonBadField},
		"portZero":          {reason: "not every number is a port", text: "spec: {" + placement + "argoCDAgentAddon: {principalServerPort: '70000'}}", refused: ReasonBadField},
		"manifest":          {reason: "a manifest is a whole object", text: "spec: {" + placement + "argoCDAgentAddon: {argoCDCRManifestWork: {manifests: [{kind: A}]}}}", refused: ReasonBadManifests},
		"large":             {reason: "a ManifestWork has a size", text: "spec: {" + placement + "argoCDAgentAddon: {argoCDCRManifestWork: {manifests: [{apiVersion: v1, kind: A, metadata: {name: a}, data: " + strings.Repeat("x", agent.MaxManifestBytes) + "}]}}}", refused: ReasonBadManifests},
		"dry":               {reason: "a dry run that may not be one", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/dry-run: yep}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}}", refused: ReasonBadAnnotation},
		"live":              {reason: "rights are not given by a slip", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/live-view: yep}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}}", refused: ReasonBadAnnotation},
		"renew":             {reason: "a generation is a number", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/certificate-generation: g2}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}}", refused: ReasonBadAnnotation},
		"renewed":           {reason: "and asks for all of that generation", text: "metadata: {namespace: argocd, annotations: {apps.open-cluster-management.io/certificate-generation: '2'}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Generation: 2}},
		"renewed elsewhere": {reason: "what all agents share is not decided in another namespace", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/certificate-generation: '2', apps.open-cluster-management.io/rotate-ca: x, apps.open-cluster-management.io/restart-principal: 'false'}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + "}}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", Agent: desired(nil)}, unused: "annotation apps.open-cluster-management.io/rotate-ca annotation apps.open-cluster-management.io/certificate-generation annotation apps.open-cluster-management.io/restart-principal"},
		"rotated":           {reason: "it is in the namespace of Argo CD", text: "metadata: {namespace: argocd, annotations: {apps.open-cluster-management.io/rotate-ca: x}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}}", want: Intent{ArgoNamespace: "argocd", Placement: "p", RotateCA: "x"}},
		"system":            {reason: "the agent may write every Secret of its namespace", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/agent-namespace: kube-system}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}, " + on + "}}}", refused: ReasonBadField},
		"OCM":               {reason: "of the work agent as well", text: "spec: {" + placement + "argoCDAgentAddon: {agentNamespace: open-cluster-management-agent}}", refused: ReasonBadField},
		"no name":           {reason: "it is one of a namespace", text: "spec: {" + placement + "argoCDAgentAddon: {agentNamespace: a/b}}", refused: ReasonBadField},
		"confirm":           {reason: "a number of clusters is a number", text: "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/confirm-removal: '-1'}}\nspec: {" + placement + "argoServer: {argoNamespace: argocd}}", refused: ReasonBadAnnotation},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Of(object(t, c.text), Settings{Namespaces: []string{"argocd", "team"}, Agents: true, Admitted: Admitted{Registration: true, Agents: true}})
			if c.refused != "" {
				if got.Refusal == nil || got.Refusal.Reason != c.refused || !strings.Contains(got.Refusal.Message, " ") {
					t.Fatalf("%s: refusal %+v", c.reason, got.Refusal)
				}
				return
			}
			var fields []string
			for _, text := range got.Unused {
				field, remedy, ok := strings.Cut(text, ": ")
				if !ok || remedy == "" {
					t.Errorf("no remedy: %s", text)
				}
				fields = append(fields, field)
			}
			if strings.Join(fields, " ") != c.unused {
				t.Errorf("%s: unused %v, want %s", c.reason, fields, c.unused)
			}
			got.Unused = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// The example of argocd-pull-integration is in OCM's namespace, which has no Argo CD. v1alpha1 has no
// argoServer, so the remedy must not mention it.
func TestOf_reportsARemedyForANamespaceWithoutArgoCD(t *testing.T) {
	const text = `apiVersion: apps.open-cluster-management.io/v1alpha1
kind: GitOpsCluster
metadata:
  name: gitops-cluster
  namespace: open-cluster-management
spec:
  placementRef:
    apiVersion: cluster.open-cluster-management.io/v1beta1
    kind: Placement
    name: placement
    namespace: open-cluster-management
  argoCDAgentAddon:
    mode: managed
`
	settings := Settings{Namespaces: []string{"argocd", "second"}, Agents: true}
	refusal := Of(object(t, text), settings).Refusal
	if refusal == nil || refusal.Reason != ReasonNamespaceNotAllowed || strings.Contains(refusal.Message, "argoServer") {
		t.Fatalf("refusal %+v", refusal)
	}
	for _, way := range []string{"open-cluster-management;", "create it, with its Placement and ManagedClusterSetBinding, in one of argocd, second", "--argocd-namespace=open-cluster-management"} {
		if !strings.Contains(refusal.Message, way) {
			t.Errorf("%q does not say %q", refusal.Message, way)
		}
	}
	if got := Of(object(t, strings.ReplaceAll(text, "open-cluster-management\n", "argocd\n")), settings); got.Refusal != nil || got.Agent == nil {
		t.Errorf("following it: %+v", got)
	}
}

// Without agents, a GitOpsCluster that asks for one gets a message, so that nobody waits for it.
func TestOf_reportsThatAgentsAreOff(t *testing.T) {
	got := Of(object(t, "spec: {placementRef: {name: p}, argoCDAgentAddon: {}}"), Settings{Namespaces: []string{"team"}})
	if got.Agent != nil || len(got.Unused) != 1 || !strings.Contains(got.Unused[0], "--agents") {
		t.Errorf("agent %v, unused %q", got.Agent, got.Unused)
	}
}

// A GitOpsCluster outside Argo CD's namespace needs labels on Argo CD's Namespace: one for its clusters,
// and another for their agents. A GitOpsCluster in Argo CD's namespace needs none.
func TestOf_requiresTheAdmissionLabels(t *testing.T) {
	const registration, agents = "spec: {placementRef: {name: p}, argoServer: {argoNamespace: argocd}}", "spec: {placementRef: {name: p}, argoServer: {argoNamespace: argocd}, gitopsAddon: {enabled: true, argoCDAgent: {enabled: true}}}"
	both := map[string]string{AdmitLabel: "true", AdmitAgentsLabel: "true"}
	for name, c := range map[string]struct {
		text, namespace string
		labels          map[string]string
		refused, label  string
	}{
		"nothing":               {registration, "team", nil, ReasonRegistrationNotAdmitted, AdmitLabel},
		"another value":         {registration, "team", map[string]string{AdmitLabel: "yes"}, ReasonRegistrationNotAdmitted, AdmitLabel},
		"agents alone":          {agents, "team", map[string]string{AdmitAgentsLabel: "true"}, ReasonRegistrationNotAdmitted, AdmitLabel},
		"registration":          {registration, "team", map[string]string{AdmitLabel: "true"}, "", ""},
		"agents, one label":     {agents, "team", map[string]string{AdmitLabel: "true"}, ReasonAgentsNotAdmitted, AdmitAgentsLabel},
		"agents, both":          {agents, "team", both, "", ""},
		"in its own, no labels": {agents, "argocd", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, c.text)
			o.Namespace = c.namespace
			got := Of(o, Settings{Namespaces: []string{"argocd"}, Agents: true, Admitted: AdmittedBy(c.labels)}).Refusal
			switch {
			case c.refused == "" && got != nil || c.refused != "" && (got == nil || got.Reason != c.refused):
				t.Errorf("refusal %+v, want %q", got, c.refused)
			case got != nil && !strings.Contains(got.Message, "label "+c.label+`: "true" on Namespace argocd`):
				t.Errorf("the message %q names another label than %s", got.Message, c.label)
			}
		})
	}
}

// The cache of GitOpsClusters keeps only what is read, and manifests that are delivered. It changes no
// decision.
func TestTransform_dropsRefusedManifests(t *testing.T) {
	const good = `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`
	for name, manifests := range map[string][]string{
		"good":  {good},
		"many":  slices.Repeat([]string{good}, 2000),
		"large": {good, `{"apiVersion":"v1","kind":"A","metadata":{"name":"b"},"data":"` + strings.Repeat("x", agent.MaxManifestBytes) + `"}`},
		"bad":   {`{"kind":"` + strings.Repeat("x", agent.MaxManifestBytes/2) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, "metadata: {namespace: team, annotations: {apps.open-cluster-management.io/deletion-policy: abandon}}\nspec: {placementRef: {name: p}, argoCDAgentAddon: {argoCDCRManifestWork: {manifests: []}}}")
			o.Labels = map[string]string{}
			for i := range 10_000 {
				o.Labels[strconv.Itoa(i)], o.Annotations[strconv.Itoa(i)] = "", ""
			}
			for _, m := range manifests {
				o.Spec.ArgoCDAgentAddon.ArgoCDCRManifestWork.Manifests = append(o.Spec.ArgoCDAgentAddon.ArgoCDCRManifestWork.Manifests, runtime.RawExtension{Raw: []byte(m)})
			}
			settings := Settings{Namespaces: []string{"team"}, Agents: true}
			want := Of(o, settings)
			for range 2 { // a cache may transform an object again
				if _, err := Transform(o); err != nil {
					t.Fatal(err)
				}
			}
			got := Of(o, settings)
			if got.Refusal != nil {
				want.Agent.Manifests, got.Agent.Manifests = nil, nil
			}
			if diff := cmp.Diff(want, got); diff != "" || !got.Abandon || (got.Refusal == nil) != (name == "good") {
				t.Errorf("refusal %+v (-whole +cached):\n%s", got.Refusal, diff)
			}
			if text, err := json.Marshal(o); err != nil || len(text) > 700 {
				t.Errorf("the cache keeps %d bytes, %v", len(text), err)
			}
		})
	}
}
