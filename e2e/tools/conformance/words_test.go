// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/common"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argoproj/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

func TestConstants_equalTheConstantsOfArgoCD(t *testing.T) {
	for ours, theirs := range map[string]string{
		argocd.SkipReconcileAnnotation:  common.AnnotationKeyAppSkipReconcile,
		argocd.RefreshAnnotation:        v1alpha1.AnnotationKeyRefresh,
		argocd.HydrateAnnotation:        v1alpha1.AnnotationKeyHydrate,
		argocd.ResourcesFinalizer:       v1alpha1.ResourcesFinalizerName,
		argocd.ForegroundFinalizer:      v1alpha1.ForegroundPropagationPolicyFinalizer,
		argocd.BackgroundFinalizer:      v1alpha1.BackgroundPropagationPolicyFinalizer,
		argocd.PostDeleteFinalizer:      v1alpha1.PostDeleteFinalizerName,
		argocd.SecretTypeLabel:          common.LabelKeySecretType,
		argocd.SecretTypeCluster:        common.LabelValueSecretTypeCluster,
		argocd.InstanceLabel:            common.LabelKeyAppInstance,
		argocd.TrackingIDAnnotation:     common.AnnotationKeyAppInstance,
		argocd.InstallationIDAnnotation: common.AnnotationInstallationID,
		argocd.InClusterServer:          v1alpha1.KubernetesInternalAPIServerAddr,
		argocd.DefaultProject:           v1alpha1.DefaultAppProjectName,

		argocd.HealthUnknown:     string(health.HealthStatusUnknown),
		argocd.HealthProgressing: string(health.HealthStatusProgressing),
		argocd.HealthHealthy:     string(health.HealthStatusHealthy),
		argocd.HealthSuspended:   string(health.HealthStatusSuspended),
		argocd.HealthDegraded:    string(health.HealthStatusDegraded),
		argocd.HealthMissing:     string(health.HealthStatusMissing),

		argocd.SyncSynced:    string(v1alpha1.SyncStatusCodeSynced),
		argocd.SyncOutOfSync: string(v1alpha1.SyncStatusCodeOutOfSync),

		argocd.OperationRunning:     string(synccommon.OperationRunning),
		argocd.OperationTerminating: string(synccommon.OperationTerminating),
		argocd.OperationFailed:      string(synccommon.OperationFailed),
		argocd.OperationError:       string(synccommon.OperationError),
		argocd.OperationSucceeded:   string(synccommon.OperationSucceeded),

		argocd.SyncWaveAnnotation:         synccommon.AnnotationSyncWave,
		argocd.SyncOptionsAnnotation:      synccommon.AnnotationSyncOptions,
		argocd.HookAnnotation:             synccommon.AnnotationKeyHook,
		argocd.HookDeletePolicyAnnotation: synccommon.AnnotationKeyHookDeletePolicy,
		argocd.OptionServerSideApply:      synccommon.SyncOptionServerSideApply,
		argocd.OptionKeepOnPrune:          synccommon.SyncOptionDisablePrune,
		argocd.OptionKeepOnDelete:         synccommon.SyncOptionDisableDeletion,
		argocd.HookPreSync:                string(synccommon.HookTypePreSync),
		argocd.HookPostSync:               string(synccommon.HookTypePostSync),
		argocd.HookSyncFail:               string(synccommon.HookTypeSyncFail),
		argocd.HookSkip:                   string(synccommon.HookTypeSkip),
		argocd.DeleteBeforeHookCreation:   string(synccommon.HookDeletePolicyBeforeHookCreation),

		argocd.GroupVersion.String(): v1alpha1.SchemeGroupVersion.String(),
	} {
		if ours != theirs {
			t.Errorf("we say %q, Argo CD %q", ours, theirs)
		}
	}
	if argocd.HookSync != string(synccommon.HookTypeSync) { // another constant of ours has the same value
		t.Errorf("we say %q, Argo CD %q", argocd.HookSync, synccommon.HookTypeSync)
	}
	if argocd.SyncUnknown != string(v1alpha1.SyncStatusCodeUnknown) {
		t.Errorf("we say %q, Argo CD %q", argocd.SyncUnknown, v1alpha1.SyncStatusCodeUnknown)
	}
}

// contract.ConditionTypes contains exactly the types of Argo CD's errors and warnings.
func TestConditionTypes_areComplete(t *testing.T) {
	var theirs []string
	for _, value := range constants(t, "ApplicationConditionType") {
		c := v1alpha1.ApplicationCondition{Type: value}
		if c.IsError() || strings.HasSuffix(value, "Warning") {
			theirs = append(theirs, value)
		}
	}
	ours := slices.Clone(contract.ConditionTypes)
	slices.Sort(ours)
	slices.Sort(theirs)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("condition types (-Argo CD +ours):\n%s", diff)
	}
}

// Argo CD shows a condition as an error or a warning by the end of its type.
func TestStatusConditions_areShownByArgoCD(t *testing.T) {
	for reason, isError := range map[status.Reason]bool{status.ApplyFailed: true, status.ApplicationUnreadable: true, status.ClusterUnreachable: false, status.ChangeUndelivered: false} {
		o := status.Observation{Reason: reason}
		for _, condition := range o.StatusConditions() {
			c := v1alpha1.ApplicationCondition{Type: condition.Type}
			if c.IsError() != isError || !isError && !strings.HasSuffix(c.Type, "Warning") {
				t.Errorf("%s would not be shown as it is meant", c.Type)
			}
		}
	}
}

// constants returns the values of all constants of a type in Argo CD's API package.
func constants(t *testing.T, typeName string) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1").Output()
	if err != nil {
		t.Fatalf("find Argo CD's API package: %v", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "types.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, isLiteral := spec.Values[0].(*ast.BasicLit)
		named := false
		if name, ok := spec.Type.(*ast.Ident); ok {
			named = name.Name == typeName
		} else { // untyped constants are identified by their names
			named = strings.HasPrefix(spec.Names[0].Name, strings.TrimSuffix(typeName, "Type"))
		}
		if named && isLiteral {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("Argo CD has no constants of type %s", typeName)
	}
	return values
}
