// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// fingerprint is of the bytes of a report; zero: of a file that cannot be read.
type fingerprint [sha256.Size]byte

func print(r *intermediate.Report) (fingerprint, error) {
	r.SchemaVersion = intermediate.SchemaVersion
	data, err := json.Marshal(r)
	return sha256.Sum256(data), err
}

// restore learns from the files what an earlier run knew, so that a restart loses
// nothing and writes nothing that has not changed.
func (p *Poller) restore() {
	p.known, p.readAt, p.doubts = map[string]translate.Cluster{}, map[string]time.Time{}, map[string]doubt{}
	p.dirty, p.written = map[intermediate.Key]bool{}, map[intermediate.Key]fingerprint{}
	keys, err := p.Files.List()
	if err != nil {
		p.Log.Error(err, "some intermediate reports cannot be told")
	}
	for _, k := range keys {
		r, err := p.Files.Read(k.Namespace, k.Name)
		if errors.Is(err, intermediate.ErrNone) {
			continue
		}
		p.written[k] = fingerprint{}
		var at time.Time
		if err == nil {
			at, err = p.Files.WrittenAt(k.Namespace, k.Name)
		}
		if err != nil {
			p.Log.Error(err, "intermediate report cannot be read; it is replaced when search has answered", "applicationset", k.String())
			continue
		}
		translate.Restore(r, at.UTC().Truncate(time.Second), p.known)
		if p.written[k], err = print(r); err != nil {
			p.Log.Error(err, "intermediate report cannot be compared", "applicationset", k.String())
		}
	}
}

// publish writes the reports that differ from their files and removes those of
// ApplicationSets that are gone.
func (p *Poller) publish(view fleet.View) {
	rows := map[intermediate.Key]bool{}
	stale := 0
	for _, c := range p.known {
		if c.StaleSince != nil {
			stale++
		}
		for i := range c.Applications {
			rows[c.Applications[i].Set] = true
		}
	}
	clustersStale.Set(float64(stale))
	for k := range p.written {
		if !view.Sets[k] {
			p.remove(k)
		}
	}
	var wanted []intermediate.Key
	for k := range view.Sets {
		print, exists := p.written[k]
		unreadable := exists && print == fingerprint{}
		switch {
		case rows[k] && (!exists || unreadable || p.dirty[k]):
			wanted = append(wanted, k)
		case !rows[k] && exists && p.dirty[k]:
			wanted = append(wanted, k) // it had Applications and has none now: that is worth a report
		}
	}
	slices.SortFunc(wanted, func(a, b intermediate.Key) int { return compareKeys(a, b) })
	left := map[intermediate.Key]bool{}
	for _, r := range translate.Reports(wanted, p.known) {
		k := intermediate.Key{Namespace: r.Namespace, Name: r.Name}
		if !p.write(k, r) {
			left[k] = true // tried again with the next poll
		}
	}
	p.dirty = left
	reports.Set(float64(len(p.written)))
}

func (p *Poller) write(k intermediate.Key, r *intermediate.Report) bool {
	print, err := print(r)
	if err == nil && print != (fingerprint{}) && print == p.written[k] {
		return true
	}
	if err == nil {
		err = p.Files.Write(r)
	}
	if err != nil {
		requestErrors.WithLabelValues("write").Inc()
		p.Log.Error(err, "intermediate report is not written; the last one stays", "applicationset", k.String())
		return false
	}
	p.written[k] = print
	writes.Inc()
	return true
}

func (p *Poller) remove(k intermediate.Key) {
	if err := p.Files.Remove(k.Namespace, k.Name); err != nil {
		requestErrors.WithLabelValues("write").Inc()
		p.Log.Error(err, "intermediate report is not removed", "applicationset", k.String())
		return
	}
	delete(p.written, k)
}

func compareKeys(a, b intermediate.Key) int {
	if a == b {
		return 0
	}
	if a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Name < b.Name {
		return -1
	}
	return 1
}
