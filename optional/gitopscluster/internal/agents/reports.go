// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
)

// reporter makes reports about the CA bundle and the client certificate of each cluster's agent.
type reporter struct {
	client  client.Client
	signing sign.Options
	// secret is as in Options.
	secret func(ctx context.Context, namespace, cluster string) (holders []string, digest string, err error)
	// generations are those that add-ons ask for, by cluster, as [wantedSince].
	generations sync.Map
}

// wantedSince is a generation that an add-on requests, and since when that is known.
type wantedSince struct {
	generation int
	since      time.Time
}

// of returns a report for each cluster, and the digest of the config in its Secret.
func (r *reporter) of(ctx context.Context, v *view) (reports []pki.Report, secrets map[string]string, err error) {
	secrets = map[string]string{}
	for name, p := range v.existing {
		if v.leaving(name) {
			r.generations.Delete(name) // a cluster that returns starts again
			continue                   // nothing waits for its agent, which needs no access any more
		}
		report := pki.Report{
			Cluster: name, Reachable: p.available, Connected: p.available && agent.Reported(p.addOn).Connected,
			Generation: p.generation(), Issued: p.issued(), SecretCurrent: true,
		}
		if p.addOn != nil {
			var certificate string
			report.Bundle, certificate, report.Started = agent.RunsWith(p.work, p.addOn, agent.InstallNamespace(p.addOn))
			report.Holds = fingerprintOf(certificate, report.Issued)
		}
		report.Since = r.since(name, report.Generation)
		if _, secrets[name], err = r.secret(ctx, v.namespace, name); err != nil {
			return nil, nil, err
		}
		if report.Generation > 0 {
			requests, err := sign.RequestsOf(ctx, r.client, r.signing, name, report.Generation)
			if err != nil {
				return nil, nil, err
			}
			report.Stuck, report.Full = requests.Stuck, requests.Full
		}
		reports = append(reports, report)
	}
	slices.SortFunc(reports, func(a, b pki.Report) int { return strings.Compare(a.Cluster, b.Cluster) })
	return reports, secrets, nil
}

// fingerprintOf returns the fingerprint of the issued certificate with this [agent.CertificateName], or "". If the
// work agent cannot read the Secret, the name is the registration agent's message "client certificate
// rotated starting from <time> to <time>". The source of the message is OCM's package register/csr.
func fingerprintOf(certificate string, issued []pki.Issued) string {
	for _, i := range slices.Backward(issued) {
		if i.SHA256 == certificate || strings.HasSuffix(certificate, " to "+i.Expires.UTC().String()) {
			return i.SHA256
		}
	}
	return ""
}

// since returns since when the add-on of a cluster is known to request a generation.
func (r *reporter) since(name string, generation int) time.Time {
	last, _ := r.generations.Load(name)
	if is, ok := last.(wantedSince); ok && is.generation == generation {
		return is.since
	}
	is := wantedSince{generation, time.Now()}
	r.generations.Store(name, is)
	return is.since
}
