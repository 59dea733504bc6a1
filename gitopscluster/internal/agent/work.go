// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// fieldManager tells our fields on a managed cluster from those of other works: with
// the agent's usual one, two works that want one object would change it in turn, and
// neither would say so.
const fieldManager = workv1.DefaultFieldManager + "-" + AddOnName

// ErrBadManifests is wrapped by errors about [Wanted.Manifests].
var ErrBadManifests = errors.New("the manifests that are to go along are refused")

// Work returns the ManifestWork that delivers the agent. certificate names the client
// certificate that the managed cluster holds, as [CertificateName] says. Every field
// that the API server would default is set, so that the stored spec is the wanted one.
func Work(w Wanted, certificate string) (*workv1.ManifestWork, error) {
	if err := onlyCertificates(w.CABundle); err != nil {
		return nil, err
	}
	b := &builder{}
	b.addNamespace(w)
	if err := b.addManifests(w); err != nil {
		return nil, err
	}
	digest, err := digest(w, certificate)
	if err != nil {
		return nil, err
	}
	const rbac = "rbac.authorization.k8s.io"
	b.apply(serviceAccount(w), id("", "serviceaccounts", w.AgentNamespace, AddOnName))
	b.apply(role(w), id(rbac, "roles", w.AgentNamespace, AddOnName))
	b.apply(roleBinding(w), id(rbac, "rolebindings", w.AgentNamespace, AddOnName))
	b.apply(clusterRole(w), id(rbac, "clusterroles", "", AddOnName))
	b.apply(clusterRoleBinding(w, AddOnName, AddOnName), id(rbac, "clusterrolebindings", "", AddOnName))
	if w.LiveView {
		b.apply(clusterRoleBinding(w, liveViewName, "view"), id(rbac, "clusterrolebindings", "", liveViewName))
	}
	b.apply(configMap(w), id("", "configmaps", w.AgentNamespace, SettingsName))
	b.apply(caSecret(w), id("", "secrets", w.AgentNamespace, CASecretName))
	b.apply(deployment(w, digest), id("apps", "deployments", w.AgentNamespace, DeploymentName), deploymentPaths()...)
	b.look(clientSecret(w.AgentNamespace), clientSecretID(w.AgentNamespace))
	annotations := map[string]string{OwnerAnnotation: w.Owner.String(), ArgoNamespaceAnnotation: w.ArgoNamespace}
	if certificate != "" {
		annotations[ClientCertificateAnnotation] = certificate
	}
	return b.work(w.Cluster, WorkName, annotations)
}

// LeavingWork returns the ManifestWork that looks at the Secret which the registration
// agent made because of an add-on, and does nothing else.
func LeavingWork(addOn *addonv1alpha1.ManagedClusterAddOn) (*workv1.ManifestWork, error) {
	b := &builder{}
	b.look(clientSecret(InstallNamespace(addOn)), clientSecretID(InstallNamespace(addOn)))
	annotations := map[string]string{}
	for _, key := range []string{OwnerAnnotation, ArgoNamespaceAnnotation} {
		annotations[key] = addOn.Annotations[key]
	}
	return b.work(addOn.Namespace, LeavingWorkName, annotations)
}

// onlyCertificates keeps whatever else a Secret of the hub may hold from leaving it.
func onlyCertificates(bundle []byte) error {
	rest := bundle
	for n := 0; ; n++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && n > 0 && strings.TrimSpace(string(rest)) == "":
			return nil
		case block == nil || block.Type != "CERTIFICATE":
			return fmt.Errorf("deliver Secret %s: want certificates as PEM and nothing else, at least one", CASecretName)
		}
	}
}

func id(group, resource, namespace, name string) workv1.ResourceIdentifier {
	return workv1.ResourceIdentifier{Group: group, Resource: resource, Namespace: namespace, Name: name}
}

func namespaceID(w Wanted) workv1.ResourceIdentifier {
	return id("", "namespaces", "", w.AgentNamespace)
}

func clientSecretID(agentNamespace string) workv1.ResourceIdentifier {
	return id("", "secrets", agentNamespace, ClientSecretName)
}

// builder collects a work's manifests. The agent applies them in order.
type builder struct {
	spec    workv1.ManifestWorkSpec
	orphans []workv1.OrphaningRule
	err     error
}

func (b *builder) add(manifest any, config workv1.ManifestConfigOption) {
	raw, err := json.Marshal(manifest)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	b.spec.Workload.Manifests = append(b.spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: withoutStatus(raw)}})
	b.spec.ManifestConfigs = append(b.spec.ManifestConfigs, config)
}

// withoutStatus drops what a type marshals although nobody asks for it.
func withoutStatus(raw []byte) []byte {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return raw
	}
	delete(object, "status")
	if stripped, err := json.Marshal(object); err == nil {
		return stripped
	}
	return raw
}

// apply has an object applied. A field that another client owns is a conflict, which
// the agent reports: nothing of others is taken over.
func (b *builder) apply(manifest any, id workv1.ResourceIdentifier, feedback ...workv1.JsonPath) {
	config := workv1.ManifestConfigOption{ResourceIdentifier: id, FeedbackScrapeType: workv1.FeedbackPollType, UpdateStrategy: &workv1.UpdateStrategy{
		Type:            workv1.UpdateStrategyTypeServerSideApply,
		ServerSideApply: &workv1.ServerSideApplyConfig{FieldManager: fieldManager},
	}}
	if len(feedback) > 0 {
		config.FeedbackRules = []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: feedback}}
		config.FeedbackScrapeType = workv1.FeedbackWatchType
	}
	b.add(manifest, config)
}

// orphan is apply for an object that stays when the work goes.
func (b *builder) orphan(manifest any, id workv1.ResourceIdentifier) {
	b.apply(manifest, id)
	b.orphans = append(b.orphans, workv1.OrphaningRule(id))
}

// addNamespace adds a namespace that is not changed if it exists.
func (b *builder) addNamespace(w Wanted) {
	b.add(namespace(w), workv1.ManifestConfigOption{
		ResourceIdentifier: namespaceID(w), FeedbackScrapeType: workv1.FeedbackPollType,
		UpdateStrategy: &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
	})
	b.orphans = append(b.orphans, workv1.OrphaningRule(namespaceID(w)))
}

// look feeds back what the client certificate's Secret says, and never touches it.
func (b *builder) look(manifest any, id workv1.ResourceIdentifier) {
	b.add(manifest, workv1.ManifestConfigOption{
		ResourceIdentifier: id,
		FeedbackRules:      []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: secretPaths()}},
		FeedbackScrapeType: workv1.FeedbackWatchType,
		UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeReadOnly},
	})
	b.orphans = append(b.orphans, workv1.OrphaningRule(id))
}

func (b *builder) work(cluster, name string, annotations map[string]string) (*workv1.ManifestWork, error) {
	if b.err != nil {
		return nil, fmt.Errorf("build ManifestWork %s/%s: %w", cluster, name, b.err)
	}
	b.spec.DeleteOption = &workv1.DeleteOption{
		PropagationPolicy: workv1.DeletePropagationPolicyTypeSelectivelyOrphan,
		SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: b.orphans},
	}
	annotations[contract.RegisteredByAnnotation] = contract.RegisteredBy
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name, Labels: map[string]string{OwnedLabel: "true"}, Annotations: annotations},
		Spec:       b.spec,
	}, nil
}
