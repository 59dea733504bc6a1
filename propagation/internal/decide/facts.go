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

// Facts are what a decision about one Application rests on. Whoever gathers them returns an
// error when one cannot be read: nothing in here means "unknown".
type Facts struct {
	Key      types.NamespacedName
	Now      time.Time
	Settings Settings
	// Application is nil when it is gone. It is borrowed from the cache and never changed.
	Application *argocd.Application
	// GoneSince is since when the ledger knows the Application to be gone, zero for not.
	GoneSince time.Time
	// Owner is what the Application's ApplicationSet says, nil when it names none, or one
	// that is gone and has left no word.
	Owner *Words
	// Namespace is what the Application's Namespace says, Hub what propagation's own does.
	Namespace, Hub Words
	// Target is the cluster that the Application names.
	Target Cluster
	// May is what the Application's place grants: its cluster, project and namespace there.
	May Permission
	// Project is the hub's AppProject that the Application names, nil for none; Default the
	// hub's AppProject "default", nil for none.
	Project, Default *argocd.AppProject
	// ProjectProblem is what is invalid in the setting of the hub's Argo CD with its global
	// projects, empty for nothing.
	ProjectProblem string
	// HasAgent: the target has an agent of argocd-agent. ByAgent names the agent by which
	// argocd-agent delivers the Application as well, "" for none.
	HasAgent bool
	ByAgent  string
	// Rivals are the other Applications that want, or deliver, what this one wants to be on
	// its target.
	Rivals []Rival
	// Request is what is known of the Application's one-time request. RefreshDone is when the
	// refresh [request.Known.Refreshing] was first seen to be done, zero for not yet.
	Request     request.Known
	RefreshDone time.Time
	// StatusProblem is what is malformed in the Application's status, empty for nothing. Its
	// request is unknown then, so that nothing may be written for it.
	StatusProblem string
	// Again is when the facts have to be gathered anew, 0 for not by the clock: a
	// PlacementDecision without status is unread for a time, and what it may bind is permitted.
	Again time.Duration
	// Works are all ManifestWorks that name the Application, and own ones that lost that name.
	Works []Work
}

// Settings are those of delivery that decisions depend on.
type Settings struct {
	BindingGrace, RecreateGrace time.Duration
	// SizeLimit is the most bytes of manifests that a ManifestWork may have.
	SizeLimit int
	// ArgoCDNamespace is where the hub's Argo CD keeps its AppProjects.
	ArgoCDNamespace string
	AppNamespaces   policy.AppNamespaces
	// InstanceLabel is the label key that the hub's Argo CD tracks resources by.
	InstanceLabel string
	// CreateNamespace and DeliverProject let them travel with the Application.
	CreateNamespace, DeliverProject bool
}

// Cluster is a ManagedCluster. The zero Cluster is one that is not there.
type Cluster struct {
	Name string
	// There: it exists. Leaving: it is being deleted. Hub: it is the hub itself.
	There, Leaving, Hub bool
	// Pause is that of its annotation or of its ClusterClaim.
	Pause policy.Pause
	// State is what statuses of its works are observed with.
	State status.Cluster
}

// Permission is what a hub namespace may: use a cluster, use an AppProject, and deliver to a
// namespace there. Of what could not be read there is none: that is an error.
type Permission struct{ Bound, Project, Namespace bool }

// Words are what one object says about deliveries, without what has ended by itself.
type Words struct {
	// On names the object, as kubectl does.
	On    string
	Pause policy.Pause
	// Override is what its deletion-budget says.
	Override Override
	// Policy is its deletion-policy; a Namespace has none.
	Policy policy.DeletionPolicy
	// Gone: it is an ApplicationSet that is gone. Only a hold or an undo outlives one.
	Gone bool
}

// Relation is what a ManifestWork that names an Application is to it.
type Relation int

// Relations. The annotations alone prove nothing: an agent may change every ManifestWork of its cluster.
const (
	Leftover  Relation = iota // it only names the Application
	Adoptable                 // it lies on the target and delivers just what is wanted
	Own                       // its name, or the UID that it carries, proves it
)

// Work is a ManifestWork that carries the Application, and what is known of its place.
type Work struct {
	*manifestcache.Work
	Relation Relation
	Cluster  Cluster
	// Project is that of the delivered Application, "" for a work that delivers none.
	Project string
	// May is what this work's place grants, by what the work carries.
	May Permission
	// Stale: its AppProject is not the hub's of that name, and its cluster may be told.
	Stale bool
	// Finalized: the agent has begun. Missing: the cluster says that the Application is not there.
	Finalized, Missing bool
	// Applied is the condition Applied at the work's generation, empty while unreported.
	Applied metav1.ConditionStatus
	// Live is the work as the API server has it, nil in facts of the cache, which has no spec.
	Live *workv1.ManifestWork
	// Note is what the ledger has of it.
	Note Note
	// Set is, of an Application that is gone, what the ApplicationSet says that this work
	// names; nil for none, or one that is gone and has left no word.
	Set *Words
}

// Note is what the ledger has of a ManifestWork. Neither an agent nor a tenant can write it.
type Note struct {
	// Known: it was seen as an own work of its Application, and Group is that one's.
	Known bool
	Group Group
	// Since is since when something is missing.
	Since map[Why]time.Time
	// Allowed: its end was allowed in that lane.
	Allowed bool
	Lane    Lane
}

// Rival is another hub Application, or what is left of one, for the same delivered identity.
type Rival struct {
	Key     types.NamespacedName
	UID     types.UID
	Created time.Time
	// Copy is the name of its work that delivers the identity, "" without one. Applied: the
	// API server has that copy applied, and not being deleted.
	Copy    string
	Applied bool
	// Wants: it is there and asks for the identity. Otherwise only its copy is left.
	Wants bool
	// Waits is the Application that it waits for in turn, empty for none.
	Waits types.NamespacedName
}
