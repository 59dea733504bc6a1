// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Facts are the input of a decision about one Application. If one of them cannot be read, gathering
// them is an error, so that no value here means "unknown".
type Facts struct {
	Key      types.NamespacedName
	Now      time.Time
	Settings Settings
	// Application is nil if it does not exist. It belongs to the cache and must not be changed.
	Application *argocd.Application
	// GoneSince is when the ledger first had the Application as deleted, or the zero time.
	GoneSince time.Time
	// Owner has the annotations of the ApplicationSet. It is nil if the Application names no
	// ApplicationSet. It is also nil if the ApplicationSet was deleted and none of them remains.
	Owner *Annotations
	// Namespace has the annotations of the Application's Namespace. Hub has the annotations of
	// propagation's Namespace.
	Namespace, Hub Annotations
	// Target is the cluster that the Application names.
	Target Cluster
	// May has the permissions of the target: its cluster, project and namespace.
	May Permission
	// Project is the AppProject on the hub that the Application names. Default is the AppProject
	// "default" on the hub. Either is nil if it does not exist.
	Project, Default *argocd.AppProject
	// ProjectProblem describes an invalid setting in the global projects of the hub's Argo CD, or
	// is "".
	ProjectProblem string
	// HasAgent is true if the target has an argocd-agent. ByAgent names the argocd-agent that also
	// delivers the Application, or is "".
	HasAgent bool
	ByAgent  string
	// Rivals are the other Applications that ask for the same identity on the target, or deliver
	// it.
	Rivals []Rival
	// Request is the state of the Application's one-time request. RefreshDone is when the refresh
	// [request.Known.Refreshing] was first observed to be done, or the zero time.
	Request     request.Known
	RefreshDone time.Time
	// StatusProblem describes a malformed value in the Application's status, or is "". The state of
	// its request is then unknown, so that nothing may be written.
	StatusProblem string
	// Works are all ManifestWorks that name the Application, and its own works that no longer name
	// it.
	Works []Work
}

// Settings are the settings of delivery that decisions depend on.
type Settings struct {
	BindingGrace, RecreateGrace time.Duration
	// SizeLimit is the highest number of bytes of manifests in a ManifestWork.
	SizeLimit int
	// ArgoCDNamespace is the namespace of the AppProjects on the hub.
	ArgoCDNamespace string
	AppNamespaces   policy.AppNamespaces
	// InstanceLabel is the label key by which the hub's Argo CD tracks resources.
	InstanceLabel string
	// CreateNamespace and DeliverProject deliver the Namespace and the AppProject with the
	// Application.
	CreateNamespace, DeliverProject bool
}

// Cluster is a ManagedCluster. The zero Cluster does not exist.
type Cluster struct {
	Name string
	// There is true if it exists, Leaving if it is being deleted, and Hub if it is the hub itself.
	Exists, Leaving, Hub bool
	// Pause is the pause of its annotation or of its ClusterClaim.
	Pause policy.Pause
	// State is the input for observing the statuses of its works.
	State status.Cluster
}

// Permission lists what a hub namespace may do: use a cluster, use an AppProject, and deliver to a
// namespace on the cluster. If one of these cannot be read, gathering it is an error.
type Permission struct{ Bound, Project, Namespace bool }

// Annotations are the annotations of one object that decide about deliveries, without expired ones.
type Annotations struct {
	// On names the object in kubectl's form.
	On    string
	Pause policy.Pause
	// Override is the value of its deletion-budget annotation.
	Override Override
	// Policy is the value of its deletion-policy annotation. A Namespace has none.
	Policy policy.DeletionPolicy
	// Gone is true for a deleted ApplicationSet. Only its hold, undo or deletion policy orphan
	// remains.
	Gone bool
}

// Relation is how a ManifestWork that names an Application relates to it.
type Relation int

// The annotations alone prove nothing, because an agent may change every ManifestWork of its
// cluster.
const (
	Leftover  Relation = iota // it only names the Application
	Adoptable                 // it is on the target and delivers the desired identity
	Own                       // its name, or the UID that it carries, proves its owner
)

// Work is a ManifestWork that carries the Application, with the facts about its cluster and
// namespaces.
type Work struct {
	*manifestcache.Work
	Relation Relation
	Cluster  Cluster
	// Project is the project of the delivered Application, or "" if the work delivers none.
	Project string
	// May has the permissions of the work's hub namespace on its cluster, for the namespace and
	// project that the work carries.
	May Permission
	// Stale is true if its AppProject differs from the hub's, and its cluster may receive the
	// hub's.
	Stale bool
	// Finalized is true once the agent has started to apply it. Missing is true if the cluster
	// reports that the Application does not exist.
	Finalized, Missing bool
	// Applied is the status of condition Applied at the work's generation, or "" if it is not
	// reported.
	Applied metav1.ConditionStatus
	// Live is the work from the API server. It is nil if the facts come from the cache, which has
	// no spec.
	Live *workv1.ManifestWork
	// Waiting is when this process first observed that the removal waits for the cluster, or the
	// zero time.
	Waiting time.Time
	// Note is the ledger's note of the work.
	Note Note
	// Set has the annotations of the ApplicationSet that this work names. Only a work of a deleted
	// Application has it. It is nil if the work names no ApplicationSet, or if the ApplicationSet
	// was deleted and none of them remains.
	Set *Annotations
}

// Note is the ledger's record of a ManifestWork. Neither an agent nor a tenant can write it.
type Note struct {
	// Known is true if the work was observed as an own work of its Application. Group is its owner
	// then.
	Known bool
	Group Group
	// Since is when each lost permission was first missing.
	Since map[Why]time.Time
	// Allowed is true if the budget has allowed the removal, in that lane.
	Allowed bool
	Lane    Lane
}

// Rival is another hub Application, or the copy that one has left, for the same identity.
type Rival struct {
	Key     types.NamespacedName
	UID     types.UID
	Created time.Time
	// Copy is the name of its work that delivers the identity, or "". Applied is true if the API
	// server has that work as applied and not as being deleted.
	Copy    string
	Applied bool
	// Wants is true if the Application exists and asks for the identity. Otherwise only its copy
	// exists.
	Wants bool
	// Waits is the Application that the rival waits for, or empty.
	Waits types.NamespacedName
}
