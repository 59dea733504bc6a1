// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// fingerprint is of the bytes of a report; zero: of a file that cannot be read.
type fingerprint [sha256.Size]byte

func printOf(r *intermediate.Report) (fingerprint, error) {
	r.SchemaVersion = intermediate.SchemaVersion
	data, err := json.Marshal(r)
	return sha256.Sum256(data), err
}

// restore learns from the files what an earlier run knew, so that a restart loses
// nothing and writes nothing that has not changed.
func (p *Poller) restore() {
	p.known, p.readAt, p.doubts = map[string]translate.Cluster{}, map[string]time.Time{}, map[string]doubt{}
	p.dirty, p.written = map[intermediate.Key]bool{}, map[intermediate.Key]fingerprint{}
	p.answers = map[string]*answer{}
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
		if p.written[k], err = printOf(r); err != nil {
			p.Log.Error(err, "intermediate report cannot be compared", "applicationset", k.String())
		}
	}
}

// publish writes the reports that differ from their files and removes those of
// ApplicationSets that are gone. What fails is tried again with the next poll.
func (p *Poller) publish(view fleet.View) error {
	if len(p.dirty) > 0 || p.rows == nil {
		p.count() // nothing of what is known changes without a report that may differ
	}
	errs := []error{p.lookForFiles()}
	for k := range p.written {
		if !view.Sets[k] {
			errs = append(errs, p.remove(k))
		}
	}
	failed := map[intermediate.Key]bool{}
	if wanted := p.wanted(view); len(wanted) > 0 {
		for _, r := range translate.Reports(wanted, p.known) {
			if err := p.write(r); err != nil {
				failed[intermediate.Key{Namespace: r.Namespace, Name: r.Name}] = true
				errs = append(errs, err)
			}
		}
	}
	p.dirty = failed
	clustersStale.Set(float64(p.stale))
	reports.Set(float64(len(p.written)))
	return errors.Join(errs...)
}

// count looks at what is known for what every publication asks.
func (p *Poller) count() {
	p.rows, p.stale = map[intermediate.Key]bool{}, 0
	for _, c := range p.known {
		if c.StaleSince != nil {
			p.stale++
		}
		for i := range c.Applications {
			p.rows[c.Applications[i].Set] = true
		}
	}
}

// lookForFiles forgets the files that somebody else has removed, so that they are
// written again.
func (p *Poller) lookForFiles() error {
	keys, err := p.Files.List()
	if err != nil {
		return err
	}
	there := make(map[intermediate.Key]bool, len(keys))
	for _, k := range keys {
		there[k] = true
	}
	maps.DeleteFunc(p.written, func(k intermediate.Key, _ fingerprint) bool { return !there[k] })
	return nil
}

// wanted are the ApplicationSets whose report may differ from its file: those with
// Applications, and those that had some, since "none any more" is worth a report.
func (p *Poller) wanted(view fleet.View) []intermediate.Key {
	var out []intermediate.Key
	for k := range view.Sets {
		print, exists := p.written[k]
		if p.dirty[k] && (exists || p.rows[k]) || p.rows[k] && (!exists || print == fingerprint{}) {
			out = append(out, k)
		}
	}
	return out
}

func (p *Poller) write(r *intermediate.Report) error {
	k := intermediate.Key{Namespace: r.Namespace, Name: r.Name}
	print, err := printOf(r)
	if err != nil {
		return fmt.Errorf("encode intermediate report of ApplicationSet %s: %w", k, err)
	}
	if print == p.written[k] {
		return nil
	}
	if err := p.Files.Write(r); err != nil {
		failures.WithLabelValues("write").Inc()
		return err
	}
	p.written[k] = print
	writes.Inc()
	return nil
}

func (p *Poller) remove(k intermediate.Key) error {
	if err := p.Files.Remove(k.Namespace, k.Name); err != nil {
		failures.WithLabelValues("write").Inc()
		return err
	}
	delete(p.written, k)
	return nil
}
