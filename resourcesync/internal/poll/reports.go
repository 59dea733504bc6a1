// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// Files keeps the reports. [intermediate.Store] implements it.
type Files interface {
	List() ([]intermediate.Key, error)
	Read(namespace, name string) (*intermediate.Report, error)
	WrittenAt(namespace, name string) (time.Time, error)
	Write(r *intermediate.Report) error
	Remove(namespace, name string) error
	LastSuccess() (time.Time, error)
	SetLastSuccess(at time.Time) error
}

// fingerprint is a hash of the bytes of a report. It is zero for a file that cannot be read.
type fingerprint [sha256.Size]byte

func fingerprintOf(r *intermediate.Report) (print fingerprint, size int, err error) {
	data, err := intermediate.Encode(r)
	return sha256.Sum256(data), len(data), err
}

// file is an existing file.
type file struct {
	print fingerprint
	size  int
	cut   translate.Cut // the parts that did not fit
	// unread are the clusters that the report does not cover, if an earlier run wrote it. nil means
	// that this run did.
	unread map[string]bool
	// since is the time from which nothing is known of the clusters that the file does not cover. It
	// is zero if the file covers all clusters.
	since time.Time
}

// reports are the files of the directory.
type reports struct {
	files   Files
	log     logr.Logger
	written map[intermediate.Key]*file
	total   int                       // bytes
	refused map[intermediate.Key]bool // reports for which the last publish had no room
	silent  []string                  // the clusters that no report covered when the reports were last written
	began   time.Time                 // when this run did
	// dated is true if reports have the time since which they do not cover clusters. The first
	// polls of a new pod are no reason to write every report twice.
	dated bool
}

// maxWithoutRows is the size of the directory up to which reports without rows are added. A hub may
// have many ApplicationSets without pulled Applications, and reports with rows need the room.
const maxWithoutRows = intermediate.MaxDirectoryBytes / 4

func newReports(files Files, log logr.Logger) *reports {
	return &reports{files: files, log: log, began: time.Now().UTC().Truncate(time.Second), written: map[intermediate.Key]*file{}}
}

// restore reads the files of an earlier run into s, so that a restart loses nothing and writes only
// changes.
func (f *reports) restore(s *state, success, now time.Time) {
	keys, err := f.files.List()
	if err != nil {
		f.log.Error(err, "cannot list intermediate reports")
	}
	for _, k := range keys {
		if err := f.restoreReport(k, s, success, now); err != nil && !errors.Is(err, intermediate.ErrNone) {
			f.written[k] = &file{}
			f.log.Error(err, "cannot read an intermediate report; it is replaced once search has answered", "applicationset", k.String())
		}
	}
}

func (f *reports) restoreReport(k intermediate.Key, s *state, success, now time.Time) error {
	r, err := f.files.Read(k.Namespace, k.Name)
	if err != nil {
		return err
	}
	at := success // a report that was not written again was true then
	if at.IsZero() {
		if at, err = f.files.WrittenAt(k.Namespace, k.Name); err != nil {
			return err
		}
	}
	if at.After(now) {
		at = now // a clock was wrong
	}
	print, size, err := fingerprintOf(r)
	if err != nil {
		return err
	}
	unread := make(map[string]bool, len(r.UnreadClusters))
	for _, c := range r.UnreadClusters {
		unread[c] = true
	}
	next := &file{print: print, size: size, unread: unread}
	if r.UnreadSince != nil {
		next.since = *r.UnreadSince
	}
	f.set(k, next)
	s.restore(r, at)
	return nil
}

func (f *reports) set(k intermediate.Key, next *file) {
	f.drop(k)
	f.written[k] = next
	f.total += next.size
}

func (f *reports) drop(k intermediate.Key) {
	if before := f.written[k]; before != nil {
		f.total -= before.size
	}
	delete(f.written, k)
}

// publish writes the reports that differ from their files, and removes the reports of deleted
// ApplicationSets. unread are the clusters that this run has not read, sorted. The next call
// retries failed writes and removals.
func (f *reports) publish(s *state, sets map[intermediate.Key]bool, unread []string) error {
	errs := []error{f.checkFiles()}
	for k := range f.written {
		if !sets[k] {
			errs = append(errs, f.remove(k))
		}
	}
	failed, refused := map[intermediate.Key]bool{}, map[intermediate.Key]bool{}
	excluded := s.excluded()
	silent := slices.Concat(unread, excluded)
	dates := !f.dated && len(silent) > 0 && time.Since(f.began) >= staleAfter*s.interval
	f.dated = f.dated || dates
	all := dates || !slices.Equal(silent, f.silent)
	if wanted := f.toWrite(s, sets, all, f.dated && len(silent) > 0); len(wanted) > 0 {
		for _, r := range translate.Reports(wanted, s.all()) {
			k := intermediate.Key{Namespace: r.Namespace, Name: r.Name}
			if len(r.Applications) == 0 && f.written[k] == nil && f.total > maxWithoutRows {
				continue
			}
			written, err := f.write(k, r, unread, excluded)
			if !written {
				failed[k] = true // the next call tries it again
			}
			if !written && err == nil {
				refused[k] = true
			}
			errs = append(errs, err)
		}
	}
	s.dirty, f.silent, f.refused = failed, silent, refused
	return errors.Join(errs...)
}

// checkFiles drops the files that aggregation or an operator has removed, so that
// they are written again.
func (f *reports) checkFiles() error {
	keys, err := f.files.List()
	if err != nil {
		return err
	}
	existing := make(map[intermediate.Key]bool, len(keys))
	for _, k := range keys {
		existing[k] = true
	}
	for k := range f.written {
		if !existing[k] {
			f.drop(k)
		}
	}
	return nil
}

// toWrite returns the ApplicationSets with a report that may differ from its file. Such an
// ApplicationSet has Applications, or had some, because a report has to show that none exist any
// more. If mayHave is true, each ApplicationSet may have Applications on clusters that no report
// covers, and its report has to show that. While search has not answered for any cluster, it may not
// exist on this hub.
func (f *reports) toWrite(s *state, sets map[intermediate.Key]bool, all, mayHave bool) []intermediate.Key {
	rows, read := map[intermediate.Key]bool{}, false
	for _, st := range s.clusters {
		read = read || !st.readAt.IsZero()
		for i := range st.Applications {
			rows[st.Applications[i].Set] = true
		}
	}
	var out []intermediate.Key
	for k := range sets {
		before := f.written[k]
		changed := all || s.dirty[k]
		if changed && (before != nil || rows[k]) || (rows[k] || mayHave && read) && (before == nil || before.print == fingerprint{}) {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b intermediate.Key) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// complete adds the clusters that search could not answer for, and since when. It cuts the parts
// for which r has no room, and returns that time and the counts of cut parts.
func (f *reports) complete(r *intermediate.Report, before *file, unread, excluded []string) (since time.Time, cut translate.Cut) {
	for _, c := range unread {
		if before == nil || before.unread == nil || before.unread[c] {
			r.UnreadClusters = append(r.UnreadClusters, c)
		}
	}
	switch {
	case before != nil && !before.since.IsZero():
		since = before.since
	case before == nil || before.print == fingerprint{} || len(r.UnreadClusters) > 0:
		since = f.began
	default: // the file covers all clusters, and some do not fit any more
		since = time.Now().UTC().Truncate(time.Second)
	}
	r.UnreadClusters = append(r.UnreadClusters, excluded...)
	slices.Sort(r.UnreadClusters)
	cut = shorten(r)
	if len(r.UnreadClusters) == 0 {
		return time.Time{}, cut
	}
	if f.dated || since != f.began || cut != (translate.Cut{}) {
		r.UnreadSince = &since
	}
	return since, cut
}

// write writes a report that differs from its file, and returns whether the file is right. It is
// not, without an error, if the report has no room.
func (f *reports) write(k intermediate.Key, r *intermediate.Report, unread, excluded []string) (bool, error) {
	before := f.written[k]
	since, cut := f.complete(r, before, unread, excluded)
	print, size, err := fingerprintOf(r)
	if err != nil {
		return false, fmt.Errorf("encode intermediate report of ApplicationSet %s: %w", k, err)
	}
	if before != nil && print == before.print {
		before.cut = cut // unknown of the file of an earlier run
		return true, nil
	}
	// The replaced file exists until the new file is written. The container's volume must not
	// become full, because the kubelet would evict the pod, and deliveries would stop.
	if size > intermediate.MaxReportBytes || f.total+size > intermediate.MaxDirectoryBytes {
		if !f.refused[k] {
			f.log.Error(nil, "no space for an intermediate report; the previous one stays", "applicationset", k.String(), "bytes", size,
				"directory", f.total, "remedy", "spread the Applications over more ApplicationSets or hubs")
		}
		return false, nil
	}
	if err := f.files.Write(r); err != nil {
		failures.WithLabelValues("write").Inc()
		return false, err
	}
	next := &file{print: print, size: size, cut: cut, since: since}
	if before != nil {
		next.unread = before.unread
	}
	f.set(k, next)
	writes.Inc()
	return true, nil
}

func (f *reports) remove(k intermediate.Key) error {
	if err := f.files.Remove(k.Namespace, k.Name); err != nil {
		failures.WithLabelValues("write").Inc()
		return err
	}
	f.drop(k)
	return nil
}
