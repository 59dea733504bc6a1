// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/fleet"
	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// fingerprint is of the bytes of a report; zero: of a file that cannot be read.
type fingerprint [sha256.Size]byte

func fingerprintOf(r *intermediate.Report) (print fingerprint, size int, err error) {
	r.SchemaVersion = intermediate.SchemaVersion
	data, err := json.Marshal(r)
	return sha256.Sum256(data), len(data), err
}

// files is what the directory holds.
type files struct {
	total   int
	sizes   map[intermediate.Key]int
	cut     map[intermediate.Key]int  // resources that a report has no room for
	refused map[intermediate.Key]bool // reports that there is no room for
}

func (f *files) set(k intermediate.Key, size int) {
	f.total += size - f.sizes[k]
	f.sizes[k] = size
	if size == 0 {
		delete(f.sizes, k)
		delete(f.cut, k)
		delete(f.refused, k)
	}
}

func (f *files) cutResources() (n int) {
	for _, cut := range f.cut {
		n += cut
	}
	return n
}

// restore learns from the files what an earlier run knew, so that a restart loses
// nothing and writes nothing that has not changed.
func (p *Poller) restore() {
	p.known, p.readAt = map[string]translate.Cluster{}, map[string]time.Time{}
	p.bare, p.reviewed = map[string]time.Time{}, map[string]time.Time{}
	p.dirty, p.written = map[intermediate.Key]bool{}, map[intermediate.Key]fingerprint{}
	p.answers, p.suspects = map[string]*answer{}, map[string]*suspect{}
	p.budget, p.unread = newBudget(), unread{restored: map[intermediate.Key]map[string]bool{}}
	p.files = files{sizes: map[intermediate.Key]int{}, cut: map[intermediate.Key]int{}, refused: map[intermediate.Key]bool{}}
	success, err := p.Files.LastSuccess()
	if err != nil {
		p.Log.Error(err, "cannot read the time of the last successful poll")
	}
	if !success.IsZero() {
		p.reached = true
		lastSuccess.Set(float64(success.Unix()))
	}
	keys, err := p.Files.List()
	if err != nil {
		p.Log.Error(err, "cannot list intermediate reports")
	}
	for _, k := range keys {
		if err := p.restoreReport(k, success); err != nil && !errors.Is(err, intermediate.ErrNone) {
			p.written[k] = fingerprint{}
			p.Log.Error(err, "cannot read an intermediate report; it is replaced once search has answered", "applicationset", k.String())
		}
	}
	for c, state := range p.known {
		p.budget.set(c, state.Applications, translate.Cut{})
	}
}

func (p *Poller) restoreReport(k intermediate.Key, success time.Time) error {
	r, err := p.Files.Read(k.Namespace, k.Name)
	if err != nil {
		return err
	}
	at := success // what was not written again was true then
	if at.IsZero() {
		if at, err = p.Files.WrittenAt(k.Namespace, k.Name); err != nil {
			return err
		}
	}
	print, size, err := fingerprintOf(r)
	if err != nil {
		return err
	}
	p.written[k] = print
	p.files.set(k, size)
	translate.Restore(r, p.known)
	for i := range r.Applications {
		if c := r.Applications[i].Cluster; p.readAt[c].Before(at) {
			p.readAt[c] = at
		}
	}
	p.unread.restored[k] = map[string]bool{}
	for _, c := range r.UnreadClusters {
		p.unread.restored[k][c] = true
	}
	return nil
}

// publish writes the reports that differ from their files and removes those of
// ApplicationSets that are gone. What fails is tried again with the next poll.
func (p *Poller) publish(view fleet.View) error {
	if len(p.dirty) > 0 || p.rows == nil {
		p.countRows() // nothing of what is known changes without a report that may differ
	}
	errs := []error{p.checkFiles()}
	for k := range p.written {
		if !view.Sets[k] {
			errs = append(errs, p.remove(k))
		}
	}
	failed := map[intermediate.Key]bool{}
	p.late = failed
	if wanted := p.reportsToWrite(view); len(wanted) > 0 {
		for _, r := range translate.Reports(wanted, p.known) {
			if err := p.write(r); err != nil {
				failed[intermediate.Key{Namespace: r.Namespace, Name: r.Name}] = true
				errs = append(errs, err)
			}
		}
	}
	p.dirty, p.unread.changed = failed, false
	return errors.Join(errs...)
}

// countRows finds the ApplicationSets that have Applications.
func (p *Poller) countRows() {
	p.rows = map[intermediate.Key]bool{}
	for _, c := range p.known {
		for i := range c.Applications {
			p.rows[c.Applications[i].Set] = true
		}
	}
}

// checkFiles forgets the files that aggregation or an operator has removed, so that
// they are written again.
func (p *Poller) checkFiles() error {
	keys, err := p.Files.List()
	if err != nil {
		return err
	}
	there := make(map[intermediate.Key]bool, len(keys))
	for _, k := range keys {
		there[k] = true
	}
	for k := range p.written {
		if !there[k] {
			delete(p.written, k)
			p.files.set(k, 0)
		}
	}
	return nil
}

// reportsToWrite are the ApplicationSets whose report may differ from its file: those with
// Applications, and those that had some, since "none any more" is worth a report.
func (p *Poller) reportsToWrite(view fleet.View) []intermediate.Key {
	var out []intermediate.Key
	for k := range view.Sets {
		print, exists := p.written[k]
		changed := p.dirty[k] || p.unread.changed
		if changed && (exists || p.rows[k]) || p.rows[k] && (!exists || print == fingerprint{}) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b intermediate.Key) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (p *Poller) write(r *intermediate.Report) error {
	k := intermediate.Key{Namespace: r.Namespace, Name: r.Name}
	r.UnreadClusters = p.unread.of(k)
	cut := shorten(r)
	print, size, err := fingerprintOf(r)
	if err != nil {
		return fmt.Errorf("encode intermediate report of ApplicationSet %s: %w", k, err)
	}
	if print == p.written[k] {
		return nil
	}
	if p.exceedsSpace(k, size) {
		return nil
	}
	if err := p.Files.Write(r); err != nil {
		failures.WithLabelValues("write").Inc()
		return err
	}
	p.written[k] = print
	p.files.set(k, size)
	delete(p.files.cut, k)
	if cut > 0 {
		p.files.cut[k] = cut
	}
	writes.Inc()
	return nil
}

// exceedsSpace reports whether there is no space for a report, the file that it replaces
// being there until it is written. The container's volume is not to be filled: the
// kubelet would evict the pod, and deliveries with it.
func (p *Poller) exceedsSpace(k intermediate.Key, size int) bool {
	if size <= intermediate.MaxReportBytes && p.files.total+size <= intermediate.MaxDirectoryBytes {
		delete(p.files.refused, k)
		return false
	}
	if !p.files.refused[k] {
		p.files.refused[k] = true
		p.Log.Error(nil, "no space for an intermediate report; the previous one stays", "applicationset", k.String(), "bytes", size,
			"directory", p.files.total, "remedy", "spread the Applications over more ApplicationSets or hubs")
	}
	p.late[k] = true
	return true
}

func (p *Poller) remove(k intermediate.Key) error {
	if err := p.Files.Remove(k.Namespace, k.Name); err != nil {
		failures.WithLabelValues("write").Inc()
		return err
	}
	delete(p.written, k)
	delete(p.unread.restored, k)
	p.files.set(k, 0)
	return nil
}
