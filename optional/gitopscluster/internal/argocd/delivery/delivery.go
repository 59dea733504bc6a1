// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// fieldOwner is who writes, as the API server sees it.
const fieldOwner = "multicluster-integrations-argocd"

// leavingCheck is how often a withdrawal looks whether what it waits for is over.
const leavingCheck = 5 * time.Second

// Works of other programs are listed by their metadata where Argo CD is to be withdrawn.
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=list;watch;create
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,resourceNames=mci-argocd,verbs=patch;delete

// Reasons of condition ArgoCDDeployed.
const (
	ReasonLooking          = "Looking"
	ReasonDelivering       = "Delivering"
	ReasonAlreadyThere     = "AlreadyThere"
	ReasonRolloutStopped   = "RolloutStopped"
	ReasonClustersConflict = "ClustersConflict"
	ReasonUnavailable      = "ClusterUnavailable"
)

// Caches are what a manager's cache holds of works: their metadata and status.
func Caches() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&workv1.ManifestWork{}: {
		Label: labels.SelectorFromSet(labels.Set{argocd.OwnedLabel: "true"}), Transform: withoutManifests,
	}}
}

// withoutManifests drops what is delivered: 100 KiB for each cluster, which are not read.
func withoutManifests(o any) (any, error) {
	if work, ok := o.(*workv1.ManifestWork); ok {
		work.Spec, work.ManagedFields = workv1.ManifestWorkSpec{}, nil
	}
	return o, nil
}

// Delivery delivers Argo CD for GitOpsClusters.
type Delivery struct {
	client client.Client
	// reader reads from the cache, live past it.
	reader, live client.Reader
	now          func() time.Time
}

// New returns a Delivery. c reads works from a cache with [Caches].
func New(c client.Client, live client.Reader) *Delivery {
	return &Delivery{client: c, reader: c, live: live, now: time.Now}
}

// Reading returns a Delivery for dry runs.
func Reading(reader client.Reader) *Delivery {
	return &Delivery{reader: reader, live: reader, now: time.Now}
}

// Request is what a GitOpsCluster wants.
type Request struct {
	Owner types.NamespacedName
	// ArgoCD is nil when none is wanted.
	ArgoCD *intent.ArgoCD
	// Clusters are those that have one, or get one.
	Clusters map[string]bool
	// Abandon withdraws without waiting for anything; DryRun writes nothing.
	Abandon, DryRun bool
	// Others returns what other GitOpsClusters want, the oldest first: one of them gets what
	// this one gives up.
	Others func(ctx context.Context) ([]Request, error)
}

// Result is how far the clusters are.
type Result struct {
	// Condition is nil when no Argo CD is wanted.
	Condition *metav1.Condition
	Status    *v1beta1.ArgoCDStatus
	Waits     []v1beta1.ClusterWait
	// Leaving are clusters that Argo CD is withdrawn from, and what is waited for.
	Leaving map[string]string
	Plan    []v1beta1.PlannedWrite
	// RequeueAfter is when to look again although nothing changes; 0: not at all.
	RequeueAfter time.Duration
}

// Held returns the clusters that have a work of a GitOpsCluster.
func (d *Delivery) Held(ctx context.Context, owner types.NamespacedName) ([]string, error) {
	works, err := d.works(ctx)
	if err != nil {
		return nil, err
	}
	var held []string
	for cluster, work := range works {
		if work.Annotations[argocd.OwnerAnnotation] == owner.String() {
			held = append(held, cluster)
		}
	}
	slices.Sort(held)
	return held, nil
}

func (d *Delivery) works(ctx context.Context) (map[string]*workv1.ManifestWork, error) {
	list := &workv1.ManifestWorkList{}
	if err := d.reader.List(ctx, list, client.MatchingLabels{argocd.OwnedLabel: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ManifestWorks that deliver Argo CD: %w", err)
	}
	works := map[string]*workv1.ManifestWork{}
	for i := range list.Items {
		if list.Items[i].Name == argocd.WorkName {
			works[list.Items[i].Namespace] = &list.Items[i]
		}
	}
	return works, nil
}

// Reconcile takes the next step for the clusters of a GitOpsCluster.
func (d *Delivery) Reconcile(ctx context.Context, r Request) (Result, error) {
	works, err := d.works(ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{Leaving: map[string]string{}}
	if r.ArgoCD != nil {
		if err := d.deliver(ctx, r, works, &result); err != nil {
			return result, err
		}
	}
	others := sync.OnceValues(func() ([]Request, error) { return r.Others(ctx) })
	for _, cluster := range slices.Sorted(maps.Keys(works)) {
		work := works[cluster]
		if work.Annotations[argocd.OwnerAnnotation] != r.Owner.String() || r.ArgoCD != nil && r.Clusters[cluster] {
			continue
		}
		claims, err := others()
		if err != nil {
			return result, err
		}
		if i := slices.IndexFunc(claims, func(c Request) bool {
			return c.Clusters[cluster] && work.DeletionTimestamp.IsZero() && argocd.Delivers(work, c.ArgoCD.Install, c.ArgoCD.Namespace)
		}); i >= 0 {
			err = d.handOver(ctx, r, claims[i].Owner, work, &result)
		} else {
			err = d.withdraw(ctx, r, work, &result)
		}
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// target is one cluster, and what it is to have.
type target struct {
	wanted argocd.Wanted
	// digest is that of the work which delivers it, stored the work that there is.
	digest    string
	stored    *workv1.ManifestWork
	state     argocd.State
	available bool
	// owner is another GitOpsCluster that delivers to the cluster.
	owner string
}

func (d *Delivery) deliver(ctx context.Context, r Request, works map[string]*workv1.ManifestWork, result *Result) error {
	targets, digests := map[string]*target{}, map[argocd.Wanted]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Clusters)) {
		t, err := d.target(ctx, r, name, works[name], digests)
		if err != nil {
			return err
		}
		if t != nil {
			targets[name] = t
		}
	}
	states := map[string]argocd.State{}
	for name, t := range targets {
		if t.owner == "" && t.available {
			states[name] = t.state
		}
	}
	next, failed, err := argocd.Next(states, r.ArgoCD.MaxConcurrency)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		t := targets[name]
		switch {
		case t.owner != "":
		case t.stored != nil && t.stored.Annotations[argocd.OwnerAnnotation] != r.Owner.String():
			err = d.handOver(ctx, r, r.Owner, t.stored, result)
		case t.state.Phase == argocd.PhaseAbsent:
			err = d.create(ctx, r, argocd.LookWork(t.wanted), result)
		case slices.Contains(next, name):
			err = d.replace(ctx, r, t, result)
		}
		if err != nil {
			return err
		}
	}
	result.summarize(targets, failed, d.now())
	return nil
}

// target reads one cluster; nil if there is none. digests are those that are known already.
func (d *Delivery) target(ctx context.Context, r Request, name string, stored *workv1.ManifestWork, digests map[argocd.Wanted]string) (*target, error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := d.reader.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	a := r.ArgoCD
	t := &target{stored: stored, available: status.ClusterOf(name, cluster).Available, wanted: argocd.Wanted{
		Owner: r.Owner, Cluster: name, Namespace: a.Namespace, Install: a.Install, Image: a.Image, RedisImage: a.RedisImage,
		Registries: cluster.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey], ClusterRole: a.ClusterRole, TakeOver: a.TakeOver,
	}}
	same := t.wanted
	same.Cluster = ""
	var err error
	if t.digest = digests[same]; t.digest == "" {
		if t.digest, err = argocd.Digest(t.wanted); err != nil {
			return nil, err
		}
		digests[same] = t.digest
	}
	t.state = argocd.StateOf(t.wanted, stored, t.digest, d.now())
	if stored != nil {
		t.owner, err = d.owner(ctx, r, stored)
	}
	return t, err
}

// owner returns the other GitOpsCluster that a work belongs to, if there is one.
func (d *Delivery) owner(ctx context.Context, r Request, stored *workv1.ManifestWork) (string, error) {
	owner := stored.Annotations[argocd.OwnerAnnotation]
	if owner == r.Owner.String() {
		return "", nil
	}
	namespace, name, _ := strings.Cut(owner, "/")
	err := d.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &v1beta1.GitOpsCluster{})
	if apierrors.IsNotFound(err) || name == "" {
		return "", nil // its finalizer was removed by force
	}
	return owner, err
}

func (d *Delivery) create(ctx context.Context, r Request, work *workv1.ManifestWork, result *Result) error {
	result.plan("create", work, "looks whether the cluster has an Argo CD already, and delivers one if not")
	if r.DryRun {
		return nil
	}
	err := d.client.Create(ctx, work, client.FieldOwner(fieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("ManifestWork %s/%s is another program's, or the cache is behind: %w", work.Namespace, work.Name, err)
	}
	if err != nil {
		return fmt.Errorf("create ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("looking whether the cluster has an Argo CD", "cluster", work.Namespace)
	return nil
}

// replace replaces the spec as a whole, of the work as it was seen.
func (d *Delivery) replace(ctx context.Context, r Request, t *target, result *Result) error {
	result.plan("patch", t.stored, "delivers the Argo CD that is wanted")
	if r.DryRun {
		return nil
	}
	want, err := argocd.Work(t.wanted, d.now())
	if err != nil {
		return err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	annotations := maps.Clone(t.stored.Annotations)
	maps.Copy(annotations, want.Annotations)
	patch, err := json.Marshal([]operation{
		{"replace", "/metadata/resourceVersion", t.stored.ResourceVersion},
		{"add", "/metadata/annotations", annotations}, {"replace", "/spec", want.Spec},
	})
	if err != nil {
		return err
	}
	if err := d.client.Patch(ctx, want, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patch ManifestWork %s/%s: %w", want.Namespace, want.Name, err)
	}
	t.state = argocd.State{Phase: argocd.PhaseProgressing, Message: "its work agent is about to apply Argo CD"}
	ctrl.LoggerFrom(ctx).Info("delivering Argo CD", "cluster", want.Namespace, "digest", t.digest)
	return nil
}

// handOver makes a work, as it was seen, that of another GitOpsCluster. What it delivers stays as it is.
func (d *Delivery) handOver(ctx context.Context, r Request, to types.NamespacedName, work *workv1.ManifestWork, result *Result) error {
	result.plan("patch", work, fmt.Sprintf("its Argo CD stays, and becomes that of GitOpsCluster %s", to))
	if r.DryRun {
		return nil
	}
	after := work.DeepCopy()
	after.Annotations[argocd.OwnerAnnotation] = to.String()
	patch := client.MergeFromWithOptions(work, client.MergeFromWithOptimisticLock{})
	if err := d.client.Patch(ctx, after, patch, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patch ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Argo CD is another GitOpsCluster's now", "cluster", work.Namespace, "owner", to)
	return nil
}

// withdraw takes Argo CD off a cluster, once nothing there needs it any more: pulled
// Applications with a finalizer would wait for it, and argocd-agent reads its Redis. Its
// agent proves the end, by releasing the work.
func (d *Delivery) withdraw(ctx context.Context, r Request, work *workv1.ManifestWork, result *Result) error {
	cluster := work.Namespace
	if !work.DeletionTimestamp.IsZero() {
		if !r.Abandon {
			result.Leaving[cluster] = fmt.Sprintf("managed cluster %s: waiting for its work agent to remove Argo CD (ManifestWork %s)", cluster, work.Name)
		}
		return nil
	}
	if work.Annotations[argocd.DigestAnnotation] != "" && !r.Abandon {
		users, err := d.users(ctx, cluster)
		if err != nil {
			return err
		}
		if users != "" {
			result.Leaving[cluster] = fmt.Sprintf("managed cluster %s: %s, which Argo CD would be missing for; withdraw them first", cluster, users)
			result.RequeueAfter = leavingCheck
			return nil
		}
	}
	result.plan("delete", work, "Argo CD is not wanted there any more; definitions, Applications, settings and workloads stay")
	result.Leaving[cluster] = fmt.Sprintf("managed cluster %s: waiting for its work agent to remove Argo CD (ManifestWork %s)", cluster, work.Name)
	if r.DryRun {
		return nil
	}
	uid, seen := work.UID, work.ResourceVersion
	if err := d.client.Delete(ctx, work.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &seen}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ManifestWork %s/%s: %w", cluster, work.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("withdrawing Argo CD", "cluster", cluster)
	if r.Abandon {
		delete(result.Leaving, cluster)
	}
	return nil
}

// users says what on a cluster still needs its Argo CD.
func (d *Delivery) users(ctx context.Context, cluster string) (string, error) {
	var found []string
	for _, of := range []struct{ label, what string }{
		{contract.PullLabel, "%d Applications are delivered there by pull"}, {agent.OwnedLabel, "%d ManifestWorks of argocd-agent are there"},
	} {
		list := metadataList()
		if err := d.live.List(ctx, list, client.InNamespace(cluster), client.MatchingLabels{of.label: "true"}); err != nil {
			return "", fmt.Errorf("list ManifestWorks of managed cluster %s: %w", cluster, err)
		}
		if n := len(list.Items); n > 0 {
			found = append(found, fmt.Sprintf(of.what, n))
		}
	}
	return strings.Join(found, ", and "), nil
}

// Left reports whether nothing of a GitOpsCluster is left, as the API server has it: the
// cache may be behind. Works whose agent never comes back do not count with abandon.
func (d *Delivery) Left(ctx context.Context, owner types.NamespacedName, abandon bool) (bool, error) {
	list := metadataList()
	if err := d.live.List(ctx, list, client.MatchingLabels{argocd.OwnedLabel: "true"}); err != nil {
		return false, fmt.Errorf("list ManifestWorks that deliver Argo CD: %w", err)
	}
	for i := range list.Items {
		work := &list.Items[i]
		if work.Annotations[argocd.OwnerAnnotation] == owner.String() && (!abandon || work.DeletionTimestamp.IsZero()) {
			return false, nil
		}
	}
	return true, nil
}

// metadataList is for works without what they hold.
func metadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: workv1.GroupName, Version: workv1.GroupVersion.Version, Kind: "ManifestWorkList"})
	return list
}
