// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// storeName is the ConfigMap in propagation's namespace with the state that has to survive a
// restart. It contains the records of lanes, the notes of works, and the overrides of
// ApplicationSets.
const (
	storeName = "multicluster-integrations-deletion-budget"
	lanesKey  = "lanes"
	worksKey  = "works" // binary
	setsKey   = "applicationsets"
	formerKey = "records" // the format before lanes
	// maxBytes limits the whole ConfigMap, and maxSets the overrides in it. The API server accepts
	// 1 MiB.
	maxBytes = 1000 << 10
	maxSets  = 200 << 10
)

// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=configmaps,verbs=get;create;update

// memory is the content of the store.
type memory struct {
	records laneRecords
	// notes are all notes of works. If they do not fit, only the essential ones are stored.
	notes, essential workNotes
	sets             sets
}

// store keeps a memory in a ConfigMap. Only one process writes it at a time.
type store struct {
	client    client.Client
	live      client.Reader
	namespace string // "" to store nothing
	written   *corev1.ConfigMap
	// last is the time of the last write.
	last time.Time
	// setsLeftOut and notesLeftOut are how many did not fit at the last write.
	setsLeftOut, notesLeftOut int
}

func (s *store) object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: storeName}}
}

// load reads the memory. Damaged data is lost: holds are decided again from the objects on the hub.
// Lost records cost at most one window. Lost notes cost the removals that were allowed, and half a
// grace period.
func (s *store) load(ctx context.Context) (memory, error) {
	m := memory{records: laneRecords{}, notes: workNotes{}, sets: sets{}}
	if s.namespace == "" {
		return m, nil
	}
	stored := s.object()
	err := s.live.Get(ctx, client.ObjectKeyFromObject(stored), stored)
	if apierrors.IsNotFound(err) {
		s.written = nil
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("get ConfigMap %s/%s: %w", s.namespace, storeName, err)
	}
	s.written = stored
	log := ctrl.LoggerFrom(ctx).WithValues("configMap", s.namespace+"/"+storeName)
	damaged := func(err error, key, what string) {
		if err != nil {
			log.Error(err, "cannot read "+what+"; starting with none", "key", key)
		}
	}
	var failed error
	if text, now := stored.Data[lanesKey]; now {
		m.records, failed = decodeRecords(text)
		damaged(failed, lanesKey, "the records of earlier withdrawals")
	} else {
		m.records, failed = decodeFormerRecords(stored.Data[formerKey])
		damaged(failed, formerKey, "the records of earlier withdrawals")
	}
	m.notes, failed = decodeNotes(stored.BinaryData[worksKey])
	damaged(failed, worksKey, "what was allowed, and since when permissions are missing")
	m.sets, failed = decodeSets(stored.Data[setsKey])
	damaged(failed, setsKey, "what ApplicationSets that are gone hold")
	if m.records == nil {
		m.records = laneRecords{}
	}
	if m.notes == nil {
		m.notes = workNotes{}
	}
	return m, nil
}

// save writes the memory if it differs from the stored content. The error is a conflict if another
// client has written or deleted the ConfigMap since load.
func (s *store) save(ctx context.Context, m memory, now time.Time) error {
	if s.namespace == "" {
		return nil
	}
	o, err := s.encode(ctx, m)
	if err != nil {
		return fmt.Errorf("encode the records of withdrawals: %w", err)
	}
	if s.written != nil {
		if maps.Equal(s.written.Data, o.Data) && bytes.Equal(s.written.BinaryData[worksKey], o.BinaryData[worksKey]) {
			return nil
		}
		o.ResourceVersion = s.written.ResourceVersion
		err = s.client.Update(ctx, o)
	} else {
		err = s.client.Create(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", s.namespace, storeName, err)
	}
	s.written, s.last = o, now
	return nil
}

// encode returns the ConfigMap. If the memory does not fit, notes in a grace period are left out.
// Nothing else is left out, because a restart could then remove too much.
func (s *store) encode(ctx context.Context, m memory) (*corev1.ConfigMap, error) {
	held, setsLeftOut, err := m.sets.encode(maxSets)
	if err != nil {
		return nil, err
	}
	lanes, err := encodeRecords(m.records)
	if err != nil {
		return nil, err
	}
	notesLeftOut, free := 0, maxBytes-len(held)-len(lanes)
	works, err := encodeNotes(m.notes)
	if err == nil && len(works) > free {
		notesLeftOut = len(m.notes) - len(m.essential)
		works, err = encodeNotes(m.essential)
	}
	if err != nil {
		return nil, err
	}
	if len(works) > free {
		return nil, fmt.Errorf("%d lanes and %d works take %d bytes, of %d", len(m.records), len(m.essential), len(held)+len(lanes)+len(works), maxBytes)
	}
	log := ctrl.LoggerFrom(ctx).WithValues("configMap", s.namespace+"/"+storeName)
	if setsLeftOut != s.setsLeftOut {
		log.Info("annotations of ApplicationSets are too large for the ConfigMap; after a restart those left out no longer count once their ApplicationSet is deleted", "leftOut", setsLeftOut)
	}
	if notesLeftOut != s.notesLeftOut {
		log.Info("grace periods are too many for the ConfigMap; after a restart those left out begin again", "leftOut", notesLeftOut)
	}
	s.setsLeftOut, s.notesLeftOut = setsLeftOut, notesLeftOut
	o := s.object()
	o.Data = map[string]string{lanesKey: lanes, setsKey: held}
	o.BinaryData = map[string][]byte{worksKey: works}
	return o, nil
}
