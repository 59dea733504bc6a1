// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

// Annotations that steer a sync. Source: pkg/sync/common of Argo CD's gitops-engine v0.7.
const (
	// SyncWaveAnnotation holds a whole number. Lower waves are applied first.
	SyncWaveAnnotation = "argocd.argoproj.io/sync-wave"
	// SyncOptionsAnnotation holds a list of options, divided by commas.
	SyncOptionsAnnotation = "argocd.argoproj.io/sync-options"
	// HookAnnotation names the phase that a manifest runs in.
	HookAnnotation = "argocd.argoproj.io/hook"
	// HookDeletePolicyAnnotation defines when a hook is deleted.
	HookDeletePolicyAnnotation = "argocd.argoproj.io/hook-delete-policy"
)

// These are values of the annotations above.
const (
	OptionServerSideApply = "ServerSideApply=true"
	OptionKeepOnPrune     = "Prune=false"
	OptionPrune           = "Prune=true"
	OptionKeepOnDelete    = "Delete=false"

	HookPreSync    = "PreSync"
	HookSync       = "Sync"
	HookPostSync   = "PostSync"
	HookSyncFail   = "SyncFail"
	HookPostDelete = "PostDelete"
	HookSkip       = "Skip"

	DeleteBeforeHookCreation = "BeforeHookCreation"
)
