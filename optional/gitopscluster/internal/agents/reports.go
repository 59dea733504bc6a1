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

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/pki"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/sign"
)

// reporter makes reports of what clusters run with.
type reporter struct {
	client  client.Client
	signing sign.Options
	// secret is as in Options.
	secret func(namespace, cluster string) (holders []string, digest string, err error)
	// generations are those that add-ons ask for, by cluster, as [wantedSince].
	generations sync.Map
}

// wantedSince is a generation that an add-on requests, and since when that is known.
type wantedSince struct {
	generation int
	since      time.Time
}

// of returns the certificates with which the clusters run. Nothing is known of the unknown ones.
func (r *reporter) of(ctx context.Context, v *view) (reports []pki.Report, unknown []string, err error) {
	for name, p := range v.there {
		if v.leaving(name) {
			r.generations.Delete(name) // a cluster that returns starts again
			continue                   // its agent need not be let in any more: it holds up nothing
		}
		state, known := v.states[name]
		if !known && p.addOn != nil && p.available { // of an unreachable cluster nothing else counts
			unknown = append(unknown, name)
		}
		report := pki.Report{
			Cluster: name, Reachable: p.available, Connected: state.Connected, Bundle: state.Bundle, Generation: state.Generation,
			Issued: p.issued(),
		}
		if report.Generation == 0 {
			report.Generation = p.generation()
		}
		if state.Certificate != nil {
			report.Holds = state.Certificate.Fingerprint
		}
		report.Since = r.since(name, report.Generation)
		if report.SecretCurrent, err = r.secretCurrent(v, name); err != nil {
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
	slices.Sort(unknown)
	return reports, unknown, nil
}

// secretCurrent reports whether the Secret of a cluster has the present config. One without
// a config of ours need not.
func (r *reporter) secretCurrent(v *view, name string) (bool, error) {
	if r.secret == nil {
		return true, nil
	}
	_, digest, err := r.secret(v.namespace, name)
	t := v.tasks[name]
	return digest == "" || t != nil && strings.TrimPrefix(digest, "sha256:") == t.digest, err
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
