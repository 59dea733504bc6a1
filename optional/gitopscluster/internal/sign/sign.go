// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const (
	// again is the delay until a waiting request is checked without an event.
	again = 30 * time.Second
	// settled is the age at which a request may be deleted. By then, its cluster has read the
	// result, and the cache has the add-on for which it was made.
	settled      = time.Minute
	fieldOwner   = "multicluster-integrations-sign"
	actionSign   = "Sign"
	reasonNoSign = "NoSigningKey"
)

// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=list;watch;delete
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests/approval;certificatesigningrequests/status,verbs=update
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=signers,resourceNames=open-cluster-management.io/mci-argocd-agent,verbs=approve;sign
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=managedclusteraddons,verbs=list;watch
// +kubebuilder:rbac:groups=addon.open-cluster-management.io,resources=managedclusteraddons,resourceNames=mci-argocd-agent,verbs=get;patch

// Reconciler decides about one CertificateSigningRequest.
type Reconciler struct {
	client client.Client
	// live reads the CA, which no cache holds, and the content of requests.
	live       client.Reader
	namespaces []string
	keys       string
	rules      pki.Rules
	lifetime   time.Duration
	now        func() time.Time
	recorder   events.EventRecorder

	waiting sync.Map // names of requests, to the reason that was last reported
	crowds  sync.Map // clusters with too many requests, to their [crowd]
}

// crowd is the last count of a cluster's requests, if they are too many.
type crowd struct {
	requests int
	until    time.Time
}

// Reconcile approves and signs a request, denies it, or has it wait.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	csr := &certificatesv1.CertificateSigningRequest{}
	err := r.client.Get(ctx, request.NamespacedName, csr)
	if apierrors.IsNotFound(err) {
		r.waiting.Delete(request.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get CertificateSigningRequest %s: %w", request.Name, err)
	}
	if csr.Spec.SignerName != agent.SignerName {
		return ctrl.Result{}, nil
	}
	addOn, facts, err := r.facts(ctx, csr)
	if err != nil {
		return ctrl.Result{}, err
	}
	if wrongRecord(csr, addOn) { // before the request is deleted
		if written, err := r.repairRecord(ctx, csr, addOn); written || err != nil {
			return requeueOnConflict(err)
		}
	}
	if useless(csr, r.rules, facts, addOn) {
		if young := csr.CreationTimestamp.Add(settled).Sub(r.now()); young > 0 {
			return ctrl.Result{RequeueAfter: min(young, again)}, nil
		}
		return ctrl.Result{}, r.delete(ctx, csr)
	}
	if refused(csr) {
		return ctrl.Result{}, nil
	}
	if len(csr.Status.Certificate) > 0 {
		r.waiting.Delete(csr.Name)
		return requeueOnConflict(r.addRecord(ctx, csr, addOn))
	}
	csr, verdict, err := r.evaluate(ctx, csr, facts)
	if err != nil {
		return requeueOnConflict(err)
	}
	switch verdict.Decision {
	case pki.Deny:
		return r.deny(ctx, csr, addOn, verdict)
	case pki.Sign:
		return r.sign(ctx, csr, addOn, verdict)
	case pki.Wait, pki.Read:
	}
	return r.wait(ctx, csr, addOn, verdict), nil
}

// evaluate returns the verdict about a cached request. It reads the whole request if the verdict depends on
// its content, or is written to it. A list of one name needs no further right.
func (r *Reconciler) evaluate(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, facts pki.ClusterFacts) (*certificatesv1.CertificateSigningRequest, pki.Verdict, error) {
	verdict := r.rules.Evaluate(csr, facts, r.now())
	if verdict.Decision != pki.Read {
		return csr, verdict, nil
	}
	var list certificatesv1.CertificateSigningRequestList
	if err := r.live.List(ctx, &list, client.MatchingFields{"metadata.name": csr.Name}); err != nil {
		return nil, verdict, fmt.Errorf("list CertificateSigningRequest %s: %w", csr.Name, err)
	}
	if len(list.Items) == 0 || list.Items[0].ResourceVersion != csr.ResourceVersion { // the facts are about another one
		return nil, verdict, apierrors.NewConflict(certificatesv1.Resource("certificatesigningrequests"), csr.Name, errors.New("the cache is not current"))
	}
	whole := &list.Items[0]
	whole.ManagedFields = nil // they do not count for its size
	return whole, r.rules.Evaluate(whole, facts, r.now()), nil
}

// facts returns the hub's facts about the cluster that a request names.
func (r *Reconciler) facts(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) (*addonv1alpha1.ManagedClusterAddOn, pki.ClusterFacts, error) {
	facts := pki.ClusterFacts{Cluster: csr.Labels[agent.CSRClusterLabel]}
	if !r.rules.OwnRequest(csr, facts.Cluster) {
		return nil, facts, nil // nothing else counts
	}
	cluster := &clusterv1.ManagedCluster{}
	err := r.client.Get(ctx, client.ObjectKey{Name: facts.Cluster}, cluster, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nil, facts, fmt.Errorf("get ManagedCluster %s: %w", facts.Cluster, err)
	}
	facts.Exists = err == nil && cluster.DeletionTimestamp.IsZero()
	facts.Accepted = cluster.Spec.HubAcceptsClient
	if facts.Requests, err = r.requests(ctx, csr, facts.Cluster); err != nil {
		return nil, facts, err
	}
	addOn, gone, err := r.addOn(ctx, facts.Cluster)
	facts.NoAddOn = gone
	if addOn != nil {
		facts.AddOn, facts.Leaving, facts.Generation = true, !addOn.DeletionTimestamp.IsZero(), WantedGeneration(addOn)
	}
	return addOn, facts, err
}

// requests counts the young requests of a cluster for the decision about one of them. Only the
// decision about a young request without certificate depends on the number. A number that is too high
// counts for a while. Otherwise the work for n requests would be n².
func (r *Reconciler) requests(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, cluster string) (int, error) {
	if !r.young(csr) || len(csr.Status.Certificate) > 0 {
		return 0, nil
	}
	last, _ := r.crowds.Load(cluster)
	if is, ok := last.(crowd); ok && r.now().Before(is.until) {
		return is.requests, nil
	}
	requests, err := ownRequests(ctx, r.client, r.rules, cluster)
	if err != nil {
		return 0, err
	}
	count := 0
	for i := range requests {
		if r.young(&requests[i]) {
			count++
		}
	}
	if count > pki.MaxRequests {
		r.crowds.Store(cluster, crowd{count, r.now().Add(again)})
	} else {
		r.crowds.Delete(cluster)
	}
	return count, nil
}

// young reports whether a request is one of those of which there may be no more than
// [pki.MaxRequests].
func (r *Reconciler) young(csr *certificatesv1.CertificateSigningRequest) bool {
	return !refused(csr) && r.now().Before(csr.CreationTimestamp.Add(pki.RequestAge))
}

// addOn returns the add-on of a cluster. It is nil unless it is ours and names an Argo CD for which
// we may sign. gone is true if the cluster has no add-on of that name.
func (r *Reconciler) addOn(ctx context.Context, cluster string) (addOn *addonv1alpha1.ManagedClusterAddOn, gone bool, err error) {
	addOn = &addonv1alpha1.ManagedClusterAddOn{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: cluster, Name: agent.AddOnName}, addOn)
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("get ManagedClusterAddOn %s/%s: %w", cluster, agent.AddOnName, err)
	}
	if addOn.Annotations[contract.RegisteredByAnnotation] != contract.RegisteredBy ||
		!slices.Contains(r.namespaces, addOn.Annotations[agent.ArgoNamespaceAnnotation]) {
		return nil, false, nil
	}
	return addOn, false, nil
}

// useless reports whether no cluster waits for a request any more. Its cluster has no add-on, or
// the add-on is newer than the request or requests a later generation. A request that another
// client made in the name of a cluster is useless once it is denied. OCM's registration agent sends
// no request while the hub has ten of its add-on, and OCM deletes them after an hour.
func useless(csr *certificatesv1.CertificateSigningRequest, rules pki.Rules, facts pki.ClusterFacts, addOn *addonv1alpha1.ManagedClusterAddOn) bool {
	switch {
	case !rules.OwnRequest(csr, facts.Cluster):
		return refused(csr) && pki.OfACluster(csr)
	case facts.NoAddOn:
		return true
	case addOn == nil || facts.Leaving || facts.Generation == 0:
		return false
	}
	generation := requestedGeneration(csr)
	return csr.CreationTimestamp.Before(&addOn.CreationTimestamp) || generation > 0 && generation < facts.Generation
}

func (r *Reconciler) delete(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) error {
	if err := r.client.Delete(ctx, csr, client.Preconditions{UID: &csr.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete CertificateSigningRequest %s: %w", csr.Name, err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("deleted a request for a certificate of argocd-agent that nobody waits for any more")
	return nil
}

// WantedGeneration is the generation that an add-on asks the registration agent for, 0 for none.
func WantedGeneration(addOn *addonv1alpha1.ManagedClusterAddOn) int {
	for i := range addOn.Status.Registrations {
		registration := &addOn.Status.Registrations[i]
		signer, groups := registration.SignerName, registration.Subject.Groups
		if signer == agent.SignerName && len(groups) == 1 {
			generation, _ := agent.Generation(groups[0])
			return generation
		}
	}
	return 0
}

func (r *Reconciler) deny(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, addOn *addonv1alpha1.ManagedClusterAddOn, v pki.Verdict) (ctrl.Result, error) {
	if approved(csr) { // the API server refuses both
		v.Final = true
		return r.wait(ctx, csr, addOn, v), nil
	}
	ctrl.LoggerFrom(ctx).Info("denied a request for a certificate of argocd-agent", "reason", v.Reason, "message", v.Message)
	return requeueOnConflict(r.decide(ctx, csr.DeepCopy(), certificatesv1.CertificateDenied, v))
}

// decide writes approval or denial. After that, csr is as stored.
func (r *Reconciler) decide(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, decision certificatesv1.RequestConditionType, v pki.Verdict) error {
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: decision, Status: corev1.ConditionTrue, Reason: v.Reason, Message: v.Message, LastUpdateTime: metav1.NewTime(r.now()),
	})
	if err := r.client.SubResource("approval").Update(ctx, csr, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("write approval of CertificateSigningRequest %s: %w", csr.Name, err)
	}
	return nil
}

// sign puts a certificate on record, approves the request and issues the certificate.
func (r *Reconciler) sign(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, addOn *addonv1alpha1.ManagedClusterAddOn, v pki.Verdict) (ctrl.Result, error) {
	authorities, err := certificates.Load(ctx, r.live, addOn.Annotations[agent.ArgoNamespaceAnnotation], r.keys)
	if errors.Is(err, certificates.ErrNoSigner) {
		return r.wait(ctx, csr, addOn, pki.Verdict{Reason: reasonNoSign, Message: err.Error() + "; condition CertificatesReady of the GitOpsCluster has the remedy"}), nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	text, issued, err := authorities.Signing.Issue(v, csr, r.lifetime, r.now())
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.record(ctx, addOn, issued); err != nil {
		return requeueOnConflict(err)
	}
	csr = csr.DeepCopy()
	if !approved(csr) {
		if err := r.decide(ctx, csr, certificatesv1.CertificateApproved, v); err != nil {
			return requeueOnConflict(err)
		}
	}
	csr.Status.Certificate = text
	if err := r.client.Status().Update(ctx, csr, client.FieldOwner(fieldOwner)); err != nil {
		return requeueOnConflict(fmt.Errorf("write certificate to CertificateSigningRequest %s: %w", csr.Name, err))
	}
	r.waiting.Delete(csr.Name)
	ctrl.LoggerFrom(ctx).Info("signed a certificate of argocd-agent", "cluster", addOn.Namespace, "generation", issued.Generation,
		"ca", issued.CA, "expires", issued.Expires, "fingerprint", issued.SHA256)
	return ctrl.Result{}, nil
}

// record puts a certificate on the add-on's record.
func (r *Reconciler) record(ctx context.Context, addOn *addonv1alpha1.ManagedClusterAddOn, issued pki.Issued) error {
	value, err := pki.AddIssued(addOn.Annotations[agent.IssuedAnnotation], issued)
	if err != nil || value == addOn.Annotations[agent.IssuedAnnotation] {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": addOn.ResourceVersion, "annotations": map[string]string{agent.IssuedAnnotation: value},
	}})
	if err != nil {
		return fmt.Errorf("encode patch of ManagedClusterAddOn: %w", err)
	}
	target := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: addOn.Namespace, Name: addOn.Name}}
	if err := r.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("record a certificate on ManagedClusterAddOn %s/%s: %w", addOn.Namespace, addOn.Name, err)
	}
	return nil
}

// wrongRecord reports whether the record of a request is about another certificate than the request
// has. Such a certificate was signed from a cache that was behind, and never published.
func wrongRecord(csr *certificatesv1.CertificateSigningRequest, addOn *addonv1alpha1.ManagedClusterAddOn) bool {
	certificate, err := pki.ParseCertificates(csr.Status.Certificate)
	return err == nil && addOn != nil && slices.ContainsFunc(pki.ParseIssued(addOn.Annotations[agent.IssuedAnnotation]), func(i pki.Issued) bool {
		return i.Request == string(csr.UID) && i.SHA256 != pki.Fingerprint(certificate[0])
	})
}

// addRecord writes the record of an issued certificate if it is missing, because the response to an
// earlier write may have been lost. Records that are older than the oldest record are not kept.
func (r *Reconciler) addRecord(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, addOn *addonv1alpha1.ManagedClusterAddOn) error {
	if addOn == nil {
		return nil
	}
	certificate, err := pki.ParseCertificates(csr.Status.Certificate)
	if err != nil {
		return nil //nolint:nilerr // another writer's, and of no use to an agent
	}
	records := pki.ParseIssued(addOn.Annotations[agent.IssuedAnnotation])
	if slices.ContainsFunc(records, func(i pki.Issued) bool { return i.SHA256 == pki.Fingerprint(certificate[0]) }) ||
		len(records) > 1 && certificate[0].NotAfter.Before(records[0].Expires) {
		return nil
	}
	_, err = r.repairRecord(ctx, csr, addOn)
	return err
}

// repairRecord writes the record of the issued certificate. It replaces a record of the same
// request. It reports false if the certificate is of a CA that is not trusted any more.
func (r *Reconciler) repairRecord(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, addOn *addonv1alpha1.ManagedClusterAddOn) (bool, error) {
	authorities, err := certificates.Load(ctx, r.live, addOn.Annotations[agent.ArgoNamespaceAnnotation], r.keys)
	if err != nil && !errors.Is(err, certificates.ErrNoSigner) {
		return false, err
	}
	issued, err := pki.RecordOf(csr.Status.Certificate, string(csr.UID), authorities.Trusted)
	if err != nil {
		return false, nil //nolint:nilerr // of a CA that is not trusted any more
	}
	return true, r.record(ctx, addOn, issued)
}

// wait reports once for each reason why a request waits.
func (r *Reconciler) wait(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, addOn *addonv1alpha1.ManagedClusterAddOn, v pki.Verdict) ctrl.Result {
	if before, known := r.waiting.Swap(csr.Name, v.Reason); !known || before != v.Reason {
		ctrl.LoggerFrom(ctx).Info("a request for a certificate of argocd-agent waits", "reason", v.Reason, "message", v.Message)
		if addOn != nil && v.Reason != "OtherGeneration" {
			r.recorder.Eventf(addOn, nil, corev1.EventTypeWarning, v.Reason, actionSign, "%s",
				"gitopscluster does not sign CertificateSigningRequest "+csr.Name+": "+v.Message)
		}
	}
	if v.Final {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: again}
}

func refused(csr *certificatesv1.CertificateSigningRequest) bool {
	return has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed)
}

func approved(csr *certificatesv1.CertificateSigningRequest) bool {
	return has(csr, certificatesv1.CertificateApproved)
}

func has(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool { return c.Type == kind })
}

// requeueOnConflict reconciles a request again soon after a write conflict.
func requeueOnConflict(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{RequeueAfter: boot.ConflictDelay}, nil
	}
	return ctrl.Result{}, err
}
