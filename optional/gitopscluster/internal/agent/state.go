// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Seen has the hub's objects about one managed cluster.
type Seen struct {
	Cluster status.Cluster
	AddOn   *addonv1alpha1.ManagedClusterAddOn
	Work    *workv1.ManifestWork
}

// StateOf returns the state of an agent. w is the input of [Work], and seen has its latest state.
// now decides whether a certificate is still valid.
func StateOf(w Wanted, seen Seen, now time.Time) (State, error) {
	work := seen.Work
	if work == nil {
		work = &workv1.ManifestWork{}
	}
	digest, err := digest(w, CertificateName(work, seen.AddOn, w.AgentNamespace))
	if err != nil {
		return State{}, err
	}
	l, d := lookAt(work, w.AgentNamespace), deploymentOf(work, w)
	applied, failure := appliedAs(work)
	s := State{WorkApplied: applied, Image: d.image, Certificate: l.certificate}
	s.ClientCertificate = holdsCertificate(w, l, seen.AddOn, now)
	s.Deployed = applied && d.runs(w, digest)
	s.Generation = requestedGeneration(seen.AddOn)
	if d.current && d.available {
		s.Bundle = d.bundle
	}
	s.Connected = s.Deployed && d.available && l.known() && seen.Cluster.Available
	s.explain(w, seen, d, failure)
	return s, nil
}

// deployed is the work agent's report about the Deployment.
type deployed struct {
	image, digest, bundle string
	current               bool // its controller has observed its latest spec, and runs no other pods
	available             bool
	observed              time.Time
}

func deploymentOf(work *workv1.ManifestWork, w Wanted) deployed {
	manifest := ManifestOf(work, id("apps", "deployments", w.AgentNamespace, DeploymentName))
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
	if manifest != nil {
		if synced := meta.FindStatusCondition(manifest.Conditions, statusFeedbackSynced); synced != nil {
			d.observed = synced.LastTransitionTime.Time
		}
	}
	return d
}

func (d deployed) runs(w Wanted, digest string) bool {
	return d.current && d.digest == digest && d.image == w.Image
}

// holdsCertificate reports whether the managed cluster has a valid client certificate of the
// desired generation. If the work agent cannot read it, the registration agent's report counts.
func holdsCertificate(w Wanted, l look, addOn *addonv1alpha1.ManagedClusterAddOn, now time.Time) bool {
	switch {
	case l.unable:
		return rotated(addOn) != ""
	case !l.there || l.certificate == nil:
		return false
	}
	return l.commonName == w.Cluster && l.certificate.Generation == w.Generation && now.Before(l.certificate.NotAfter)
}

// explain sets reason, message and what is waited for.
func (s *State) explain(w Wanted, seen Seen, d deployed, failure string) {
	work := fmt.Sprintf("ManifestWork %s/%s", w.Cluster, WorkName)
	switch {
	case !s.WorkApplied:
		s.wait(WaitsForWork, ReasonWorkNotApplied, firstOf(transition(seen.Work, workv1.WorkApplied), created(seen.Work)),
			"the work agent of the managed cluster has not yet applied "+work)
		if failure != "" {
			s.Message = "the work agent of the managed cluster cannot apply " + work + ": " + failure +
				"; on a conflict, remove what another installer of argocd-agent left there"
		}
	case !s.ClientCertificate && !s.Connected:
		s.wait(WaitsForClientCertificate, ReasonNotConnected, created(seen.AddOn), fmt.Sprintf(
			"Secret %s/%s on the managed cluster holds no valid client certificate of generation %s; look at the CertificateSigningRequests with label %s=%s; for one that was denied or has waited too long the cluster asks anew by itself",
			w.AgentNamespace, ClientSecretName, Group(w.Generation), CSRClusterLabel, w.Cluster)+notRotated(seen.AddOn))
	case !s.Deployed && d.image != "" && d.image != w.Image:
		s.wait(WaitsForDeployment, ReasonVersionMismatch, d.observed, fmt.Sprintf("the agent runs image %s, and the principal takes only agents of its own version, %s", d.image, w.Image))
	case !s.Deployed:
		s.wait(WaitsForDeployment, ReasonNotConnected, d.observed, fmt.Sprintf(
			"Deployment %s/%s on the managed cluster does not yet run with the latest settings and certificates; look at its pods", w.AgentNamespace, DeploymentName))
	case !s.Connected:
		s.wait(WaitsForConnection, ReasonNotConnected, d.observed, fmt.Sprintf(
			"the agent on the managed cluster is not connected to the principal at %s:%d; look at the log of Deployment %s/%s there, and whether that address is reached from there",
			w.Address, w.Port, w.AgentNamespace, DeploymentName))
	case !s.ClientCertificate:
		s.wait(WaitsForClientCertificate, connectedReason, time.Time{},
			"the agent is connected; a valid client certificate of generation "+Group(w.Generation)+" is awaited")
	default:
		s.Reason, s.Message, s.Since = connectedReason, "the agent is connected to the principal", d.observed
	}
	if !seen.Cluster.Available {
		s.Reason, s.Since = ReasonClusterUnavailable, seen.Cluster.Since
		s.Message = contract.Message("the managed cluster is not available: "+seen.Cluster.Message, &contract.Rejected{})
	}
}

func (s *State) wait(forWhat, reason string, since time.Time, message string) {
	s.WaitingFor, s.Reason, s.Since, s.Message = forWhat, reason, since, message
}

// transition is when a work's condition last changed.
func transition(work *workv1.ManifestWork, condition string) time.Time {
	if work == nil {
		return time.Time{}
	}
	if c := meta.FindStatusCondition(work.Status.Conditions, condition); c != nil && c.Status != metav1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// created is when an object was made; zero while it is not.
func created[T interface {
	comparable
	GetCreationTimestamp() metav1.Time
}](o T) time.Time {
	var none T
	if o == none {
		return time.Time{}
	}
	return o.GetCreationTimestamp().Time
}

func firstOf(times ...time.Time) time.Time {
	if i := slices.IndexFunc(times, func(t time.Time) bool { return !t.IsZero() }); i >= 0 {
		return times[i]
	}
	return time.Time{}
}
