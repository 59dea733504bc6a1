// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These are the modes of agents.
const (
	ModeManaged    = "managed"
	ModeAutonomous = "autonomous"
	// ModeRegistration is the mode of a GitOpsCluster without agents.
	ModeRegistration = "registration"
)

// Reasons for which a spec is not accepted.
const (
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonRegistrationNotAdmitted means that the owner of Argo CD's Namespace has not admitted
	// GitOpsClusters of other namespaces, or their agents.
	ReasonRegistrationNotAdmitted = "RegistrationNotAdmitted"
	ReasonAgentsNotAdmitted       = "AgentsNotAdmitted"
	ReasonModeNotSupported        = "ModeNotSupported"
	ReasonBadManifests            = "BadManifests"
	ReasonBadField                = "BadField"
	ReasonBadAnnotation           = "BadAnnotation"
)

// These are annotations on a GitOpsCluster.
const (
	// DryRunAnnotation with a true boolean has gitopscluster write nothing but status.plan.
	DryRunAnnotation = contract.KeyPrefix + "dry-run"
	// ConfirmRemovalAnnotation lets the given number of clusters be removed, even if that exceeds
	// the limit.
	ConfirmRemovalAnnotation = contract.KeyPrefix + "confirm-removal"
	// AgentNamespaceAnnotation names Argo CD's namespace on the managed clusters.
	AgentNamespaceAnnotation = contract.KeyPrefix + "agent-namespace"
	// LiveViewAnnotation with a true boolean lets the agent read the objects that the live view
	// shows.
	LiveViewAnnotation = contract.KeyPrefix + "live-view"
	// RestartPrincipalAnnotation with a false boolean keeps the principal from being restarted.
	RestartPrincipalAnnotation = contract.KeyPrefix + "restart-principal"
	// CertificateGenerationAnnotation is the least generation of the agents' client certificates.
	// If it rises, all of them are renewed.
	CertificateGenerationAnnotation = contract.KeyPrefix + "certificate-generation"
	// RotateCAAnnotation requests a new CA whenever its value changes.
	RotateCAAnnotation = contract.KeyPrefix + "rotate-ca"
)

// These are labels with value "true" on the Namespace of an Argo CD. With the first label, its
// owner admits GitOpsClusters of other namespaces. With both labels, the owner also admits their
// agents.
const (
	AdmitLabel       = contract.KeyPrefix + "gitops-argo-namespace"
	AdmitAgentsLabel = contract.KeyPrefix + "gitops-argo-namespace-agents"
)

// GitOpsClusterFinalizer is on a GitOpsCluster until its clusters are removed.
const GitOpsClusterFinalizer = contract.KeyPrefix + "gitopscluster"

// maxManifests limits how many additional objects an agent has.
const maxManifests = 16

// maxGeneration limits the generation that an annotation may request.
const maxGeneration = 1_000_000

// Settings are gitopscluster's own.
type Settings struct {
	// Namespaces are the namespaces of the hub's Argo CDs with which clusters may be registered.
	Namespaces []string
	// Agents is true if agents are delivered. Otherwise clusters are only registered.
	Agents bool
	// Admitted has the permissions for other namespaces by the labels of Argo CD's Namespace.
	Admitted Admitted
}

// Admitted has the permissions that the owner of an Argo CD's Namespace gives to GitOpsClusters of
// others.
type Admitted struct{ Registration, Agents bool }

// AdmittedBy reads the labels of a Namespace.
func AdmittedBy(labels map[string]string) Admitted {
	registration := labels[AdmitLabel] == "true"
	return Admitted{Registration: registration, Agents: registration && labels[AdmitAgentsLabel] == "true"}
}

// Intent is the parsed desired state of a GitOpsCluster.
type Intent struct {
	// ArgoNamespace is where the cluster Secrets are.
	ArgoNamespace string
	// Placement is in the GitOpsCluster's own namespace.
	Placement string
	// Agent is nil when clusters are registered only.
	Agent *Agent
	// Unused names the fields that are set but ignored, each with its remedy.
	Unused []string
	// Refusal is why nothing is done, or nil.
	Refusal *Problem
	// RotateCA requests a new CA (see certificates.Facts).
	RotateCA string
	// Generation is the least one of the agents' certificates, 0 for any.
	Generation int
	// DryRun is true if only the plan is written.
	DryRun bool
	// Abandon releases clusters that are unreachable.
	Abandon bool
	// Confirmed is how many clusters may be removed at a time, whatever the limit is.
	Confirmed int
}

// Agent is the desired agent on each cluster.
type Agent struct {
	// Mode is [ModeManaged] or [ModeAutonomous].
	Mode string
	// Address and Port are the principal's. If they are "" and 0, gitopscluster has to find them.
	Address string
	Port    int32
	// Namespace is the namespace of Argo CD on the clusters.
	Namespace string
	// Manifests are additional manifests for the agent's work.
	Manifests [][]byte
	// Settings are spec.agent, with the ClusterRole that annotation live-view means.
	Settings v1beta1.AgentSettings
	// KeepAlive is the parsed spec.agent.keepAlive. 0 means no pings.
	KeepAlive time.Duration
	// Principal is spec.principal.
	Principal v1beta1.PrincipalSpec
	// RestartPrincipal may be done when its certificates change.
	RestartPrincipal bool
}

// Problem is why something is not as it should be: a condition's reason and message.
type Problem struct{ Reason, Message string }

// ArgoNamespace returns where the cluster Secrets of a GitOpsCluster are.
func ArgoNamespace(o *v1beta1.GitOpsCluster) string {
	if o.Spec.ArgoServer != nil && o.Spec.ArgoCDAgentAddon == nil {
		return cmp.Or(o.Spec.ArgoServer.ArgoNamespace, o.Namespace)
	}
	return o.Namespace
}

// Of returns the intent of a GitOpsCluster.
func Of(o *v1beta1.GitOpsCluster, s Settings) Intent {
	in := Intent{ArgoNamespace: ArgoNamespace(o), Placement: o.Spec.PlacementRef.Name, Unused: unused(&o.Spec)}
	agent, problem := agentOf(o, in.ArgoNamespace)
	if agent != nil && !s.Agents {
		in.Unused = append(in.Unused, "argocd-agent: clusters are registered without it, as gitopscluster runs without --agents")
		agent = nil
	}
	in.Agent = agent
	in.RotateCA = contract.Token(o.Annotations[RotateCAAnnotation], &contract.Rejected{})
	in.Refusal = firstProblem(shape(&o.Spec), allowed(o, in.ArgoNamespace, s.Namespaces), in.admitted(o, s.Admitted), problem, in.annotations(o.Annotations))
	if o.Namespace != in.ArgoNamespace {
		in.keepToOwn(o.Annotations, &o.Spec)
	}
	return in
}

// keepToOwn drops settings that affect all agents of an Argo CD and come from another namespace.
// The users of that namespace may not be the owners of the Argo CD.
func (in *Intent) keepToOwn(annotations map[string]string, spec *v1beta1.GitOpsClusterSpec) {
	if in.Agent != nil && spec.Agent != nil {
		in.Unused = append(in.Unused, fmt.Sprintf("spec.agent: it grants rights on the clusters; set it on a GitOpsCluster in namespace %s", in.ArgoNamespace))
	}
	if in.Agent != nil && spec.Principal != nil {
		in.Unused = append(in.Unused, fmt.Sprintf("spec.principal: it concerns every agent of that Argo CD; set it on a GitOpsCluster in namespace %s", in.ArgoNamespace))
	}
	if in.Agent != nil && annotations[LiveViewAnnotation] != "" {
		in.Unused = append(in.Unused, fmt.Sprintf("annotation %s: it grants rights on the clusters; set it on a GitOpsCluster in namespace %s", LiveViewAnnotation, in.ArgoNamespace))
	}
	for _, key := range []string{RotateCAAnnotation, CertificateGenerationAnnotation, RestartPrincipalAnnotation} {
		if annotations[key] != "" {
			in.Unused = append(in.Unused, fmt.Sprintf("annotation %s: it concerns every agent of that Argo CD; set it on a GitOpsCluster in namespace %s", key, in.ArgoNamespace))
		}
	}
	in.RotateCA, in.Generation = "", 0
	if in.Agent != nil {
		in.Agent.RestartPrincipal = true
	}
}

func firstProblem(problems ...*Problem) *Problem {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

// shape refuses invalid values that the API server also refuses, because objects may be older than
// the schema.
func shape(spec *v1beta1.GitOpsClusterSpec) *Problem {
	switch {
	case spec.ArgoCDAgentAddon != nil && (spec.ArgoServer != nil || spec.GitOpsAddon != nil):
		return &Problem{ReasonBadField, "spec.argoCDAgentAddon excludes spec.argoServer and spec.gitopsAddon; remove the fields of one shape"}
	case spec.ArgoCDAgentAddon == nil && spec.ArgoServer == nil:
		return &Problem{ReasonBadField, "spec names no Argo CD; set spec.argoServer or spec.argoCDAgentAddon"}
	case spec.PlacementRef.Name == "":
		return &Problem{ReasonBadField, "spec.placementRef.name is empty; name a Placement in this namespace"}
	case spec.PlacementRef.Kind != "" && spec.PlacementRef.Kind != "Placement":
		return &Problem{ReasonBadField, "spec.placementRef.kind is not Placement; nothing else selects clusters"}
	}
	return nil
}

func allowed(o *v1beta1.GitOpsCluster, namespace string, namespaces []string) *Problem {
	if slices.Contains(namespaces, namespace) {
		return nil
	}
	remedy := "replace this GitOpsCluster by one with spec.argoServer.argoNamespace one of %[2]s, because that field cannot be changed"
	if o.Spec.ArgoCDAgentAddon != nil {
		remedy = "spec.argoCDAgentAddon is for the Argo CD of the GitOpsCluster's own namespace: create it, with its Placement and ManagedClusterSetBinding, in one of %[2]s"
	}
	name := contract.Token(namespace, &contract.Rejected{})
	return &Problem{ReasonNamespaceNotAllowed, fmt.Sprintf("gitopscluster does not register clusters in namespace %[1]s; "+remedy+", or start gitopscluster with a further --argocd-namespace=%[1]s and grant it Secrets there",
		name, strings.Join(namespaces, ", "))}
}

// admitted refuses a GitOpsCluster of another namespace than its Argo CD's, unless the owner of
// that Argo CD admits it. Its clusters get the AppProjects of that Argo CD, and with an agent its
// repositories.
func (in *Intent) admitted(o *v1beta1.GitOpsCluster, a Admitted) *Problem {
	const remedy = "set label %[2]s: \"true\" on Namespace %[1]s; until then nothing of this GitOpsCluster changes"
	switch {
	case o.Namespace == in.ArgoNamespace:
		return nil
	case !a.Registration:
		return &Problem{ReasonRegistrationNotAdmitted, fmt.Sprintf("the Argo CD of namespace %[1]s admits no GitOpsClusters of other namespaces; "+remedy, in.ArgoNamespace, AdmitLabel)}
	case in.Agent != nil && !a.Agents:
		return &Problem{ReasonAgentsNotAdmitted, fmt.Sprintf("the Argo CD of namespace %[1]s admits no agents of GitOpsClusters of other namespaces; "+remedy, in.ArgoNamespace, AdmitAgentsLabel)}
	}
	return nil
}

func agentOf(o *v1beta1.GitOpsCluster, argocd string) (*Agent, *Problem) {
	a := &Agent{RestartPrincipal: true}
	var port string
	switch spec := o.Spec; {
	case spec.ArgoCDAgentAddon != nil:
		w := spec.ArgoCDAgentAddon
		a.Mode, a.Address, port, a.Namespace = w.Mode, w.PrincipalServerAddress, w.PrincipalServerPort, cmp.Or(w.AgentNamespace, "argocd")
		if w.ArgoCDCRManifestWork != nil {
			a.Manifests = rawOf(w.ArgoCDCRManifestWork)
		}
	case wantsAgent(&spec):
		w := spec.GitOpsAddon.ArgoCDAgent
		a.Mode, a.Address, port, a.Namespace = w.Mode, w.ServerAddress, w.ServerPort, cmp.Or(o.Annotations[AgentNamespaceAnnotation], argocd)
	default:
		return nil, nil
	}
	a.Mode = cmp.Or(a.Mode, ModeManaged)
	if a.Mode != ModeManaged && a.Mode != ModeAutonomous {
		return a, &Problem{ReasonModeNotSupported, "the agent's mode is unknown; set mode to managed or autonomous"}
	}
	if problem := agentNamespace(a.Namespace); problem != nil {
		return a, problem
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return a, &Problem{ReasonBadField, "the principal's port is no number from 1 to 65535; correct it or leave it empty"}
		}
		a.Port = int32(n)
	}
	problem := a.settings(o, argocd)
	if value := o.Annotations[RestartPrincipalAnnotation]; value != "" {
		a.RestartPrincipal, _ = contract.IsTrue(value)
	}
	return a, firstProblem(problem, badManifests(a.Manifests))
}

// secretRoles are Kubernetes' own roles that a binding to all namespaces makes as good as
// cluster-admin.
var secretRoles = []string{"cluster-admin", "admin", "edit"}

// minKeepAlive is the shortest interval that principals of argocd-operator accept. They close a
// connection with more frequent pings.
const minKeepAlive = 30 * time.Second

// settings takes those that grant rights, or concern the principal, in the namespace of its
// Argo CD only.
func (a *Agent) settings(o *v1beta1.GitOpsCluster, argocd string) *Problem {
	if s := o.Spec.Agent; s != nil && o.Namespace == argocd {
		a.Settings = *s.DeepCopy()
	}
	if p := o.Spec.Principal; p != nil && o.Namespace == argocd {
		a.Principal = *p
	}
	if live, _ := contract.IsTrue(o.Annotations[LiveViewAnnotation]); live && o.Namespace == argocd {
		a.Settings.ClusterRole = cmp.Or(a.Settings.ClusterRole, "view")
	}
	if text := a.Settings.KeepAlive; text != "" {
		var err error
		if a.KeepAlive, err = time.ParseDuration(text); err != nil || a.KeepAlive < minKeepAlive {
			return &Problem{ReasonBadField, fmt.Sprintf("spec.agent.keepAlive is no duration of %[1]s or more, and a principal may close connections with more frequent pings; set %[1]s or more, or remove it", minKeepAlive)}
		}
	}
	if slices.Contains(secretRoles, a.Settings.ClusterRole) {
		return &Problem{ReasonBadField, fmt.Sprintf("spec.agent.clusterRole is %s, which reads every Secret and acts as every ServiceAccount of the clusters; name view, or a ClusterRole of your own", a.Settings.ClusterRole)}
	}
	for _, pattern := range a.Settings.AllowedNamespaces {
		if _, err := path.Match(pattern, ""); err != nil || strings.Contains(pattern, ",") {
			return &Problem{ReasonBadField, "spec.agent.allowedNamespaces has an entry that is no pattern; correct it"}
		}
	}
	return nil
}

// openShiftGitOps is the one namespace of OpenShift's own that has an Argo CD.
const openShiftGitOps = "openshift-gitops"

// agentNamespace refuses namespaces in which the agent, which may write every Secret of its
// own, would have more rights than Argo CD.
func agentNamespace(name string) *Problem {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return &Problem{ReasonBadField, "the agent's namespace on the clusters is no name of a namespace; correct it"}
	}
	if name == metav1.NamespaceDefault || strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "open-cluster-management") ||
		name == "openshift" || strings.HasPrefix(name, "openshift-") && name != openShiftGitOps {
		return &Problem{ReasonBadField, fmt.Sprintf("the agent is not delivered to namespace %s, whose Secrets it could write; name the one of the clusters' Argo CD", name)}
	}
	return nil
}

// Transform is the transform of a cache. It drops managed fields. Of a GitOpsCluster it also drops
// labels, foreign annotations and refused manifests, because anybody who may create one can make
// them large. One text replaces such manifests. The API server admits no text there, and [Of] returns
// it as the refusal.
func Transform(in any) (any, error) {
	if o, ok := in.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	o, ok := in.(*v1beta1.GitOpsCluster)
	if !ok {
		return in, nil
	}
	o.Labels = nil
	maps.DeleteFunc(o.Annotations, func(key, _ string) bool { return !strings.HasPrefix(key, contract.KeyPrefix) })
	if a := o.Spec.ArgoCDAgentAddon; a != nil && a.ArgoCDCRManifestWork != nil {
		if problem := badManifests(rawOf(a.ArgoCDCRManifestWork)); problem != nil {
			text, err := json.Marshal(problem.Message)
			if err != nil {
				return nil, err
			}
			a.ArgoCDCRManifestWork.Manifests = []runtime.RawExtension{{Raw: text}}
		}
	}
	return o, nil
}

func rawOf(w *v1beta1.ArgoCDCRManifestWorkSpec) (manifests [][]byte) {
	for _, m := range w.Manifests {
		manifests = append(manifests, m.Raw)
	}
	return manifests
}

func badManifests(manifests [][]byte) *Problem {
	var message string
	if len(manifests) == 1 && json.Unmarshal(manifests[0], &message) == nil && message != "" {
		return &Problem{ReasonBadManifests, message} // from Transform
	}
	if len(manifests) > maxManifests {
		return &Problem{ReasonBadManifests, fmt.Sprintf("argoCDCRManifestWork.manifests has %d objects; keep to %d", len(manifests), maxManifests)}
	}
	size := 0
	for i, raw := range manifests {
		if size += len(raw); size > agent.MaxManifestBytes {
			return &Problem{ReasonBadManifests, fmt.Sprintf("argoCDCRManifestWork.manifests are larger than %d KiB; deliver the others by a ManifestWork of your own", agent.MaxManifestBytes>>10)}
		}
		var o struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := json.Unmarshal(raw, &o); err != nil || o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			return &Problem{ReasonBadManifests, fmt.Sprintf("argoCDCRManifestWork.manifests[%d] is no object with apiVersion, kind and metadata.name; add them", i)}
		}
	}
	return nil
}

// annotations parses the annotations that change how a GitOpsCluster is reconciled. An invalid
// annotation stops everything, because it may have been meant to prevent the next step.
func (in *Intent) annotations(annotations map[string]string) *Problem {
	in.DryRun, _ = contract.IsTrue(annotations[DryRunAnnotation])
	switch annotations[contract.DeletionPolicyAnnotation] {
	case "", "prune":
	case "abandon":
		in.Abandon = true
	default:
		return &Problem{ReasonBadAnnotation, fmt.Sprintf(`annotation %s is neither "prune" nor "abandon"; correct or remove it`, contract.DeletionPolicyAnnotation)}
	}
	for _, key := range []string{DryRunAnnotation, LiveViewAnnotation, RestartPrincipalAnnotation} {
		if _, ok := contract.IsTrue(annotations[key]); !ok {
			return &Problem{ReasonBadAnnotation, fmt.Sprintf(`annotation %s is neither "true" nor "false"; correct or remove it`, key)}
		}
	}
	if text := annotations[ConfirmRemovalAnnotation]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return &Problem{ReasonBadAnnotation, fmt.Sprintf("annotation %s is no number of clusters; correct or remove it", ConfirmRemovalAnnotation)}
		}
		in.Confirmed = n
	}
	if text := annotations[CertificateGenerationAnnotation]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxGeneration {
			return &Problem{ReasonBadAnnotation, fmt.Sprintf("annotation %s is no number from 1 to %d; correct or remove it", CertificateGenerationAnnotation, maxGeneration)}
		}
		in.Generation = n
	}
	return nil
}

func isTrue(b *bool) bool { return b != nil && *b }
