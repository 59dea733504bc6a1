// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitopscluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
)

// loseKey deletes the Secret of a cluster's client certificate.
func loseKey(t *testing.T, c *env.Cluster) {
	t.Helper()
	must(t, c.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.ArgoCDNamespace, Name: clientSecret}}))
}

// renewed waits until a cluster has another certificate than before and its agent was restarted with it.
func renewed(t *testing.T, c *env.Cluster, before *x509.Certificate) *x509.Certificate {
	t.Helper()
	var now *x509.Certificate
	must(t, env.Wait(fleetContext(t), "another client certificate on "+c.Name, func(ctx context.Context) (bool, string) {
		pair := &corev1.Secret{}
		if err := c.Client.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: clientSecret}, pair); err != nil {
			return false, err.Error()
		}
		if len(pair.Data["tls.crt"]) == 0 {
			return false, "a Secret without certificate"
		}
		now = parse(t, pair.Data["tls.crt"])
		return !now.Equal(before), "the same certificate"
	}))
	sum := sha256.Sum256(now.Raw)
	fingerprint := strings.ToUpper(hex.EncodeToString(sum[:]))
	must(t, env.Wait(fleetContext(t), "the work of "+c.Name+" to name it", func(context.Context) (bool, string) {
		name := work(t, c).Annotations["apps.open-cluster-management.io/client-certificate"]
		return name == fingerprint, name
	}))
	digest := func() string { return deployment(t, c).Spec.Template.Annotations[certificates] }
	must(t, env.Wait(fleetContext(t), "the agent on "+c.Name+" to run with it", func(context.Context) (bool, string) {
		for _, m := range work(t, c).Spec.Workload.Manifests {
			if bytes.Contains(m.Raw, []byte(`"kind":"Deployment"`)) {
				return bytes.Contains(m.Raw, []byte(digest())), digest()
			}
		}
		return false, "no Deployment in the work"
	}))
	return now
}

// A cluster that has lost its key gets another certificate, and its agent is restarted exactly once.
func TestRenewal_replacesALostKey(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		before, key, rolled := held(t, c), keyPair(t, c).Data["tls.key"], deployment(t, c).Generation
		loseKey(t, c)
		after := renewed(t, c, before)
		delivered(t, c)
		if bytes.Equal(key, keyPair(t, c).Data["tls.key"]) || generation(t, after) != generation(t, before) {
			t.Errorf("the old key with generation %s, before %s", generation(t, after), generation(t, before))
		}
		if d := deployment(t, c); d.Generation != rolled+1 {
			t.Errorf("the Deployment was changed %d times", d.Generation-rolled)
		}
	})
}

// OCM's registration agent waits for a denied request without end. gitopscluster raises the generation, and
// the agent sends another request.
func TestRenewal_repeatsADeniedRequest(t *testing.T) {
	onEachCluster(t, func(t *testing.T, c *env.Cluster) {
		delivered(t, c)
		before, p := held(t, c), program(t)
		must(t, p.Stop(t.Context()))
		loseKey(t, c)
		var asked certificatesv1.CertificateSigningRequest
		must(t, env.Wait(fleetContext(t), c.Name+" to ask for a certificate", func(context.Context) (bool, string) {
			all := requests(t, c)
			if len(all) > 0 {
				asked = all[0]
			}
			return len(all) > 0, "no request"
		}))
		asked.Status.Conditions = append(asked.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "Mistaken",
		})
		must(t, hub.SubResource("approval").Update(t.Context(), &asked))
		must(t, p.Start(t.Context()))
		after := renewed(t, c, before)
		delivered(t, c)
		must(t, client.IgnoreNotFound(hub.Delete(t.Context(), &asked)))
		if generation(t, after) == generation(t, before) {
			t.Errorf("the generation is still %s", generation(t, after))
		}
	})
}

// During the rotation to a new CA no agent with its mounted Secrets is rejected, and no agent rejects the
// principal. Afterwards the principal rejects certificates of the former CA.
func TestRotation_rejectsNoAgent(t *testing.T) {
	former := map[string]*x509.Certificate{}
	for _, c := range fleet.Managed {
		delivered(t, c)
		former[c.Name] = held(t, c)
	}
	old, err := agentOf(t.Context(), fleet.Managed[0])
	must(t, err)
	bundle := read(t, hub, env.ArgoCDNamespace, "argocd-agent-ca", &corev1.Secret{}).Data["ca.crt"]
	running, end := dialing(t)
	ask := fmt.Sprintf(`{"metadata":{"annotations":{"apps.open-cluster-management.io/rotate-ca":"after-%s"}}}`, former[fleet.Managed[0].Name].SerialNumber)
	must(t, hub.Patch(t.Context(), gitopsCluster(example, "v1alpha1"), client.RawPatch(types.MergePatchType, []byte(ask))))

	var ca corev1.Secret
	must(t, env.WaitFor(fleetContext(t), 3*env.Patience, "the former CA to be gone", func(ctx context.Context) (bool, string) {
		err := hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: "argocd-agent-ca"}, &ca)
		s, _ := statusOf(ctx, example, "v1beta1")
		return err == nil && !bytes.Contains(ca.Data["ca.crt"], bytes.TrimSpace(bundle)), fmt.Sprintf("%v %+v", err, s)
	}))
	authority := parse(t, ca.Data["tls.crt"])
	for _, c := range fleet.Managed {
		delivered(t, c)
		now := held(t, c)
		if err := now.CheckSignatureFrom(authority); err != nil || generation(t, now) == generation(t, former[c.Name]) {
			t.Errorf("%s holds a certificate of generation %s, before %s: %v", c.Name, generation(t, now), generation(t, former[c.Name]), err)
		}
	}
	old.Roots = ca.Data["ca.crt"] // it trusts the principal, so only its own certificate decides
	must(t, env.Wait(fleetContext(t), "the principal to trust the new CA alone", func(context.Context) (bool, string) {
		server, _, err := peer.now()
		if err != nil {
			return false, err.Error()
		}
		name, err := old.Dial(server, address, nil)
		return err != nil, "a certificate of the former CA is taken for " + name
	}))
	end()
	for _, c := range fleet.Managed {
		if running.dials[c.Name] == 0 {
			t.Errorf("the agent of %s never got through", c.Name)
		}
	}
	for _, refused := range running.refused {
		t.Error("refused: ", refused)
	}
}
