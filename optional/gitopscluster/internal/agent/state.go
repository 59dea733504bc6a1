// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"time"

	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Existing has the hub's objects about one managed cluster.
type Existing struct {
	Cluster status.Cluster
	AddOn   *addonv1alpha1.ManagedClusterAddOn
	Work    *workv1.ManifestWork
}

// StateOf returns the state of an agent. w is the input of [Work], and seen has its latest state.
// now decides whether a certificate is still valid.
func StateOf(w Desired, existing Existing, now time.Time) (State, error) {
	work := existing.Work
	if work == nil {
		work = &workv1.ManifestWork{}
	}
	digest, err := digest(w, CertificateName(work, existing.AddOn, w.AgentNamespace))
	if err != nil {
		return State{}, err
	}
	l, d := observe(work, w.AgentNamespace), deploymentOf(work, w.AgentNamespace)
	applied, failure := appliedAs(work)
	s := State{WorkApplied: applied}
	s.ClientCertificate = holdsCertificate(w, l, existing.AddOn, now)
	s.Deployed = applied && d.runs(w, digest)
	s.Connected = s.Deployed && d.available && l.known() && existing.Cluster.Available
	s.explain(w, existing, d, failure)
	return s, nil
}

// RunsWith returns the digest of the CA bundle with which an agent was started, and the
// [CertificateName] of its cluster. They are empty if they are not known. started is true if the agent
// was started with that certificate. A cluster reports a new certificate before its agent is restarted.
func RunsWith(work *workv1.ManifestWork, addOn *addonv1alpha1.ManagedClusterAddOn, agentNamespace string) (bundle, certificate string, started bool) {
	if work == nil {
		return "", "", false
	}
	certificate = CertificateName(work, addOn, agentNamespace)
	d := deploymentOf(work, agentNamespace)
	if applied, _ := appliedAs(work); applied && d.current && d.available {
		bundle = d.bundle
		started = certificate != "" && work.Annotations[ClientCertificateAnnotation] == certificate &&
			d.digest != "" && d.digest == work.Annotations[CertificatesAnnotation]
	}
	return bundle, certificate, started
}

// deployed is the work agent's report about the Deployment.
type deployed struct {
	image, digest, bundle string
	current               bool // its controller has observed its latest spec, and runs no other pods
	available             bool
}

func deploymentOf(work *workv1.ManifestWork, agentNamespace string) deployed {
	manifest := ManifestOf(work, id("apps", "deployments", agentNamespace, DeploymentName))
	v := valuesOf(manifest)
	d := deployed{
		image: v.text[feedbackImage], digest: v.text[feedbackDigest], bundle: contract.Token(v.text[feedbackBundle], &contract.Rejected{}),
		current: v.numbers[feedbackGeneration] > 0 && v.numbers[feedbackObserved] == v.numbers[feedbackGeneration] &&
			v.numbers[feedbackUpdated] > 0 && v.numbers[feedbackReplicas] == v.numbers[feedbackUpdated],
		available: v.numbers[feedbackAvailable] > 0,
	}
	if len(d.image) > maxImage {
		d.image = ""
	}
	return d
}

func (d deployed) runs(w Desired, digest string) bool {
	return d.current && d.digest == digest && d.image == w.Image
}

// holdsCertificate reports whether the managed cluster has a valid client certificate of the
// desired generation. If the work agent cannot read it, the registration agent's report counts.
func holdsCertificate(w Desired, l observation, addOn *addonv1alpha1.ManagedClusterAddOn, now time.Time) bool {
	switch {
	case l.unable:
		return rotated(addOn) != ""
	case !l.exists || l.certificate == nil:
		return false
	}
	return l.commonName == w.Cluster && l.certificate.Generation == w.Generation && now.Before(l.certificate.NotAfter)
}

// explain sets reason, message and the waits.
func (s *State) explain(w Desired, existing Existing, d deployed, failure string) {
	work := fmt.Sprintf("ManifestWork %s/%s", w.Cluster, WorkName)
	switch {
	case !s.WorkApplied:
		s.wait(WaitsForWork, ReasonWorkNotApplied, "the work agent of the managed cluster has not yet applied "+work)
		if failure != "" {
			s.Message = "the work agent of the managed cluster cannot apply " + work + ": " + failure +
				"; on a conflict, remove what another installer of argocd-agent left there"
		}
	case !s.ClientCertificate && !s.Connected:
		s.wait(WaitsForClientCertificate, ReasonNotConnected, fmt.Sprintf(
			"Secret %s/%s on the managed cluster holds no valid client certificate of generation %s; look at the CertificateSigningRequests with label %s=%s; for one that was denied or has waited too long the cluster asks anew by itself",
			w.AgentNamespace, ClientSecretName, Group(w.Generation), CSRClusterLabel, w.Cluster)+notRotated(existing.AddOn))
	case !s.Deployed && d.image != "" && d.image != w.Image:
		s.wait(WaitsForDeployment, ReasonVersionMismatch, fmt.Sprintf("the agent runs image %s, and the principal takes only agents of its own version, %s", d.image, w.Image))
	case !s.Deployed:
		s.wait(WaitsForDeployment, ReasonNotConnected, fmt.Sprintf(
			"Deployment %s/%s on the managed cluster does not yet run with the latest settings and certificates; look at its pods", w.AgentNamespace, DeploymentName))
	case !s.Connected:
		s.wait(WaitsForConnection, ReasonNotConnected, fmt.Sprintf(
			"the agent on the managed cluster is not connected to the principal at %s:%d; look at the log of Deployment %s/%s there, and whether that address is reached from there",
			w.Address, w.Port, w.AgentNamespace, DeploymentName))
	case !s.ClientCertificate:
		s.wait(WaitsForClientCertificate, connectedReason, "the agent is connected; a valid client certificate of generation "+Group(w.Generation)+" is awaited")
	default:
		s.Reason, s.Message = connectedReason, "the agent is connected to the principal"
	}
	if !existing.Cluster.Available {
		s.Reason = ReasonClusterUnavailable
		s.Message = contract.Message("the managed cluster is not available: "+existing.Cluster.Message, &contract.Rejected{})
	}
}

func (s *State) wait(forWhat, reason, message string) {
	s.WaitingFor, s.Reason, s.Message = forWhat, reason, message
}
