// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/request"
	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

// toShow returns the entries of a ManifestWork with views that have to be written. Such an entry
// was open or refreshed less than keep ago. In addition, the work has changed, or Redis has to be
// written again.
func (all entries) toShow(key client.ObjectKey, work *metav1.PartialObjectMetadata, keep time.Duration, now time.Time) entries {
	own := entries{}
	for instance, e := range all {
		if e.target != nil && e.work != "" && e.key() == key && now.Sub(e.seen) < keep && (e.shown != work.ResourceVersion || !now.Before(e.due)) {
			own[instance] = e
		}
	}
	return own
}

// show writes the views of a ManifestWork that have come to Redis. Of the work, which may be
// large, nothing is kept.
func (v *Viewer) show(ctx context.Context, key client.ObjectKey, own entries, now time.Time) {
	work, err := read(ctx, v.Live, key)
	if err == nil && work == nil {
		return
	}
	var views request.Views
	if err == nil {
		views, err = request.ViewsOf(work)
	}
	own.each(parallel, func(*entry) bool { return true }, func(instance string, e *entry) {
		problem := ""
		if work != nil {
			e.shown = work.ResourceVersion
		}
		if err := errors.Join(err, v.update(ctx, instance, e, views[instance], now)); err != nil {
			problem = key.Namespace + ": " + err.Error()
		}
		v.report(e, instance, problem)
	})
}

// update writes a view to Redis.
func (v *Viewer) update(ctx context.Context, instance string, e *entry, got request.View, now time.Time) error {
	if got.Renewed != e.renewed || e.renewedAt.IsZero() {
		e.renewed, e.renewedAt = got.Renewed, now
	}
	notes := e.notes(got, now, v.Outdated)
	key := sha256.Sum256([]byte(string(got.Blob) + "\n" + notes))
	switch {
	case got.Alone && !e.alone:
		e.work, e.alone = "", true
		return nil
	case len(got.Blob) == 0:
		e.due = now.Add(rewrite)
		if got.Message != "" {
			return errors.New(got.Message)
		}
		return nil
	case key == e.written && now.Before(e.due):
		return nil
	}
	e.answered, e.due = true, now.Add(firstRewrite)
	status, err := v.publish(ctx, instance, e, got.Blob, notes)
	if err != nil {
		return err
	}
	e.next = min(2*e.next, rewrite)
	if key != e.written {
		e.next = firstRewrite
	}
	e.written, e.due = key, now.Add(e.next)
	if err := v.patchStatus(ctx, instance, e, status); err != nil {
		return err
	}
	if got.Source == "" && got.Message != "" {
		return errors.New(got.Message)
	}
	return nil
}

// publish decodes a view, writes it to Redis, and returns the status in it. A view that the
// process did not survive is not tried again for some time.
func (v *Viewer) publish(ctx context.Context, instance string, e *entry, blob []byte, notes string) (status string, err error) {
	v.decoding.Lock()
	defer v.decoding.Unlock()
	ok, err := v.Redis.Begin(ctx, instance)
	if err != nil {
		return "", err
	}
	if !ok {
		e.due = time.Now().Add(rewrite)
		return "", errors.New("the viewer ended while it decoded this view, and does not try it again for ten minutes: look for the reason in the log of the container before, and raise its memory limit")
	}
	decoded, err := view.Decode(blob, notes)
	if err := errors.Join(err, v.Redis.End(ctx, instance)); err != nil {
		return "", err
	}
	if !e.target.diffs {
		decoded.Resources = []byte("[]")
	}
	return string(decoded.Status), v.Redis.Write(ctx, instance, decoded, expiration)
}

// maxNote limits the part of an observer's message that is shown as a label.
const maxNote = 160

// notes returns the text at the top of a view: why the view may not be the latest, and which parts
// it leaves out.
func (e *entry) notes(got request.View, now time.Time, outdated time.Duration) string {
	var notes []string
	switch {
	case e.target.note != "":
		notes = append(notes, e.target.note)
	case got.Source == "" && got.Message != "":
		notes = append(notes, "not the latest: "+strings.ToValidUTF8(got.Message[:min(len(got.Message), maxNote)], ""))
	case now.Sub(e.renewedAt) >= outdated:
		notes = append(notes, "not the latest: no sign of the observer since "+utc(e.renewedAt))
	}
	if !e.target.diffs {
		notes = append(notes, "no diffs")
	}
	return strings.Join(notes, "; ")
}

// sweep removes the views that are not open any more. It runs some times in [Options.Keep], so that
// views that are closed one by one are removed together.
func (v *Viewer) sweep(ctx context.Context, now time.Time) {
	closed := func(e *entry) bool { return now.Sub(e.seen) >= v.Keep-v.Keep/sweeps }
	var mu sync.Mutex
	var kept []string
	v.entries.each(parallel, func(e *entry) bool { return closed(e) && e.target != nil }, func(instance string, e *entry) {
		_, unreachable, err := clusterNote(ctx, v.Live, e.target.cluster)
		if err == nil && unreachable && e.answered && e.work != "" {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, instance)
			return
		}
		if err == nil {
			err = v.remove(ctx, instance, e)
		}
		if err != nil {
			v.report(e, instance, err.Error())
		}
	})
	// The request to an unreachable cluster stays, and with it the last view, which can be shown
	// until the cluster is reachable again. The views that were open last stay, up to half of
	// --max-open.
	slices.SortFunc(kept, func(a, b string) int { return v.entries[b].seen.Compare(v.entries[a].seen) })
	for _, instance := range kept[min(len(kept), v.MaxOpen/2):] {
		if err := v.remove(ctx, instance, v.entries[instance]); err != nil {
			v.report(v.entries[instance], instance, err.Error())
		}
	}
	maps.DeleteFunc(v.entries, func(_ string, e *entry) bool { return closed(e) && e.target == nil && e.status == "" })
}

// remove removes a view from Redis and from the Application. The work does not request the view any
// more.
func (v *Viewer) remove(ctx context.Context, instance string, e *entry) error {
	if err := v.Redis.Remove(ctx, instance); err != nil {
		return err
	}
	if err := v.patchStatus(ctx, instance, e, noStatus); err != nil {
		return err
	}
	*e = entry{open: e.open, seen: e.seen, checked: e.checked, problem: e.problem}
	return nil
}

// takeBack removes the data that an earlier viewer wrote about an Application without a view.
func (v *Viewer) takeBack(ctx context.Context, instance string, e *entry, why reason) error {
	if why.ours {
		if err := v.Redis.Remove(ctx, instance); err != nil {
			return err
		}
		return v.patchStatus(ctx, instance, e, noStatus)
	}
	e.status = "" // it does not exist any more, or another writer owns its status
	return nil
}
