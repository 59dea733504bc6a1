// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// note keeps a write for the state and reports whether it is to be made.
func (p *pass) note(ctx context.Context, verb, kind string, object client.ObjectKey, why string) bool {
	p.state.Writes = append(p.state.Writes, Write{Verb: verb, Kind: kind, Namespace: object.Namespace, Name: object.Name, Why: why})
	if !p.wanted.DryRun {
		ctrl.LoggerFrom(ctx).Info("writing what argocd-agent's principal depends on", "verb", verb, "kind", kind, "namespace", object.Namespace, "name", object.Name, "why", why)
	}
	return !p.wanted.DryRun
}

// create creates one of our Secrets. If it exists by now, the next pass reads it.
func (p *pass) create(ctx context.Context, object client.ObjectKey, kind corev1.SecretType, data map[string][]byte, annotations map[string]string, why string) error {
	if !p.note(ctx, "create", "Secret", object, why) {
		return nil
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name, Annotations: map[string]string{contract.RegisteredByAnnotation: contract.RegisteredBy}},
		Type:       kind,
		Data:       data,
	}
	for key, value := range annotations {
		secret.Annotations[key] = value
	}
	if err := p.keeper.client.Create(ctx, secret, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("create Secret %s: %w", object, err)
	}
	return nil
}

// patch gives a Secret of ours, as it was read, other data. Keys that are not in data go.
func (p *pass) patch(ctx context.Context, secret *corev1.Secret, data map[string][]byte, annotations map[string]string, why string) error {
	if !p.note(ctx, "patch", "Secret", client.ObjectKeyFromObject(secret), why) {
		return nil
	}
	changed := map[string]any{}
	for key, value := range data {
		changed[key] = value
	}
	for key := range secret.Data {
		if _, exists := data[key]; !exists {
			changed[key] = nil
		}
	}
	metadata := map[string]any{"resourceVersion": secret.ResourceVersion}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	raw, err := json.Marshal(map[string]any{"metadata": metadata, "data": changed})
	if err != nil {
		return fmt.Errorf("encode patch of Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	target := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}
	if err := p.keeper.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("patch Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}
