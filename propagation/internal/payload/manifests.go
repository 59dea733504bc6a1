// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// hubOnlyKeys are not delivered. They have a meaning on the hub only, or only we may set them: the
// hub Application, its ApplicationSet, and the request. The author of an Application must not have
// it counted as another one.
var hubOnlyKeys = map[string]bool{
	contract.HubNamespaceAnnotation:      true,
	contract.HubNameAnnotation:           true,
	contract.HostingAnnotation:           true,
	contract.ApplicationSetLabel:         true,
	contract.ApplicationSetHashLabel:     true,
	contract.RequestAnnotation:           true,
	contract.ChangeGenerationAnnotation:  true,
	contract.StoredSpecAnnotation:        true,
	contract.ApplicationSpecAnnotation:   true,
	contract.PullLabel:                   true,
	contract.ClusterAnnotation:           true,
	contract.AppNamespaceAnnotation:      true,
	contract.DestinationNameAnnotation:   true,
	contract.DestinationServerAnnotation: true,
	contract.DeletionPolicyAnnotation:    true,
	contract.ManagementPolicyAnnotation:  true,
	contract.OnWithdrawAnnotation:        true,
	contract.PausedAnnotation:            true,
	contract.DeletionBudgetAnnotation:    true,
	argocd.SkipReconcileAnnotation:       true,
	argocd.RefreshAnnotation:             true, // delivered as a request, see package request
	argocd.HydrateAnnotation:             true, // as the refresh
	corev1.LastAppliedConfigAnnotation:   true,
	argocd.InstanceLabel:                 true, // the hub's owner is not an Application of the managed cluster
	argocd.TrackingIDAnnotation:          true,
	argocd.InstallationIDAnnotation:      true,
}

// isHubOnly reports whether a label or annotation is not delivered. instanceLabel is the label key
// by which the hub's Argo CD tracks resources.
func isHubOnly(key, instanceLabel string) bool {
	if hubOnlyKeys[key] || key == instanceLabel {
		return true
	}
	for _, prefix := range []string{argocd.NotifiedAnnotationPrefix, argocd.NotificationsKeyPrefix, contract.SubscribeAnnotationPrefix} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// subscribe adds the notification subscriptions for the managed cluster.
func subscribe(delivered, onHub map[string]string) {
	for key, value := range onHub {
		if name, is := strings.CutPrefix(key, contract.SubscribeAnnotationPrefix); is {
			delivered[argocd.SubscribeAnnotationPrefix+name] = value
		}
	}
}

// errNoSpec means that the Application has nothing to deliver.
var errNoSpec = errors.New("the Application has no spec")

// applicationManifest returns the Application for the managed cluster, and does not change the
// hub's. It is the hub's Application byte for byte, with three differences: spec.destination is the
// cluster's, the request is added, and metadata that only the hub uses is missing. Such metadata
// are labels, annotations and finalizers (see isHubOnly and argoCDFinalizers). spec is the hub's
// spec with the new destination. If the cluster has an argocd-agent, a label makes the agent ignore
// the delivered Application.
func applicationManifest(p Inputs, spec json.RawMessage) (json.RawMessage, error) {
	app, r := p.Application, p.Request
	annotations := withoutHubOnly(app.Annotations, p.InstanceLabel)
	labels := withoutHubOnly(app.Labels, p.InstanceLabel)
	if appset := app.OwningApplicationSet(); appset != "" {
		labels[contract.ApplicationSetLabel] = "true"
		annotations[contract.HostingAnnotation] = app.Namespace + "/" + appset
	}
	subscribe(annotations, app.Annotations)
	if p.HasAgent {
		labels[argocd.IgnoreSyncLabel] = "true"
	}
	r.Annotate(annotations)
	if r.Refresh != "" {
		annotations[argocd.RefreshAnnotation] = r.Refresh
		if hydrate := app.Annotations[argocd.HydrateAnnotation]; hydrate != "" {
			annotations[argocd.HydrateAnnotation] = hydrate
		}
	}
	status, err := r.Status()
	if err != nil {
		return nil, err
	}
	return encode("Application", deliveredApplication{
		APIVersion: argocd.GroupVersion.String(),
		Kind:       argocd.ApplicationKind,
		Metadata: deliveredMetadata{
			Name: app.Name, Namespace: DeliveredNamespace(app),
			Labels: labels, Annotations: annotations,
			Finalizers: DeliveredFinalizers(app),
		},
		Spec:      spec,
		Operation: r.Operation,
		Status:    status,
	})
}

// projectManifest returns the AppProject for a managed cluster. Its spec is the hub's byte for
// byte, except for the clusters of sync windows and service accounts. So everything that it denies
// on the hub remains denied.
func projectManifest(project *argocd.AppProject, namespace, cluster, instanceLabel string) (json.RawMessage, error) {
	spec, err := forCluster(project.Spec, cluster)
	if err != nil {
		return nil, fmt.Errorf("AppProject %s: spec: %w", project.Name, err)
	}
	return encode("AppProject", deliveredObject{
		APIVersion: argocd.GroupVersion.String(),
		Kind:       argocd.AppProjectKind,
		Metadata:   deliveredMetadata{Name: project.Name, Namespace: namespace, Labels: withoutHubOnly(project.Labels, instanceLabel)},
		Spec:       spec,
	})
}

// forCluster returns the spec of an AppProject with rewritten lists that name clusters.
func forCluster(spec json.RawMessage, cluster string) (json.RawMessage, error) {
	for name, rewrite := range map[string]func([]json.RawMessage, string) ([]json.RawMessage, error){
		"syncWindows": windowsFor, "destinationServiceAccounts": serviceAccountsFor,
	} {
		var err error
		if spec, err = edit(spec, func(raw json.RawMessage) (json.RawMessage, error) {
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) != nil {
				return raw, nil //nolint:nilerr // the API server validates it
			}
			kept, err := rewrite(list, cluster)
			if err != nil || slices.EqualFunc(kept, list, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				return raw, err
			}
			return encode(name, kept)
		}, name); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

// namespaceManifest returns a Namespace without labels, annotations and spec.
func namespaceManifest(name string) (json.RawMessage, error) {
	return encode("Namespace", deliveredObject{APIVersion: "v1", Kind: "Namespace", Metadata: deliveredMetadata{Name: name}})
}

// Redirect returns spec with another destination. It replaces a source hydrator by the source to
// which the hydrator writes, because otherwise each managed cluster would hydrate. It decodes
// nothing else.
func Redirect(spec json.RawMessage, annotations map[string]string) (json.RawMessage, error) {
	fields, err := members(spec)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	if fields == nil {
		return nil, errNoSpec
	}
	if err := syncFromHydrated(fields); err != nil {
		return nil, fmt.Errorf("spec.sourceHydrator: %w", err)
	}
	to, err := members(fields["destination"])
	if err != nil {
		return nil, fmt.Errorf("spec.destination: %w", err)
	}
	if to == nil {
		to = map[string]json.RawMessage{}
	}
	name, server := Destination(annotations)
	for key, value := range map[string]string{"name": name, "server": server} {
		delete(to, key)
		if value != "" {
			if to[key], err = encode(key, value); err != nil {
				return nil, err
			}
		}
	}
	if fields["destination"], err = encode("destination", to); err != nil {
		return nil, err
	}
	return encode("spec", fields)
}

// syncFromHydrated replaces source by the source that Argo CD syncs from if a source is hydrated
// (v3, SourceHydrator.GetSyncSource).
func syncFromHydrated(spec map[string]json.RawMessage) error {
	var hydrator *struct {
		DrySource struct {
			RepoURL string `json:"repoURL"`
		} `json:"drySource"`
		SyncSource struct {
			RepoURL      string `json:"repoURL"`
			TargetBranch string `json:"targetBranch"`
			Path         string `json:"path"`
		} `json:"syncSource"`
	}
	err := decode(spec["sourceHydrator"], &hydrator)
	if err != nil || hydrator == nil {
		return err
	}
	from := hydrator.SyncSource
	delete(spec, "sourceHydrator")
	delete(spec, "sources")
	spec["source"], err = encode("source", map[string]string{
		"repoURL": cmp.Or(from.RepoURL, hydrator.DrySource.RepoURL), "path": from.Path, "targetRevision": from.TargetBranch,
	})
	return err
}

// Hydrates reports whether the source of an Application is hydrated.
func Hydrates(spec json.RawMessage) bool {
	fields, err := members(spec)
	raw := fields["sourceHydrator"]
	return err == nil && len(raw) > 0 && string(raw) != "null"
}

// withoutHubOnly returns a copy of labels or annotations. The copy has only the keys that are
// delivered.
func withoutHubOnly(m map[string]string, instanceLabel string) map[string]string {
	kept := make(map[string]string, len(m))
	maps.Copy(kept, m)
	maps.DeleteFunc(kept, func(key, _ string) bool { return isHubOnly(key, instanceLabel) })
	return kept
}
