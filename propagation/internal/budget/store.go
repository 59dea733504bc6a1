// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
)

// recordsName is the ConfigMap in propagation's namespace that holds what has to survive a
// restart: guard's records under recordsKey, and its words of ApplicationSets under wordsKey.
const (
	recordsName = "multicluster-integrations-deletion-budget"
	recordsKey  = "records"
	wordsKey    = "applicationsets"
	// maxRecords and maxWords are how many bytes of each are written; the API server takes
	// 1 MiB a ConfigMap.
	maxRecords = 700 << 10
	maxWords   = 200 << 10
)

// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=configmaps,verbs=get;create;update

// recordStore keeps records and words in a ConfigMap: written before something is
// withdrawn, when a hold begins or ends, and when an ApplicationSet says something else, by
// one writer at a time.
type recordStore struct {
	client    client.Client
	live      client.Reader
	namespace string // "": nothing is stored
	version   string // of the ConfigMap, "" when there is none
	leftOut   int    // ApplicationSets that did not fit the last time
}

func (s *recordStore) object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: recordsName, ResourceVersion: s.version}}
}

// load reads both. What cannot be understood is lost: records cost no more than a window,
// since holds follow again from what is on the hub.
func (s *recordStore) load(ctx context.Context) (guard.Records, guard.Words, error) {
	if s.namespace == "" {
		return guard.Records{}, guard.Words{}, nil
	}
	stored := &corev1.ConfigMap{}
	err := s.live.Get(ctx, client.ObjectKeyFromObject(s.object()), stored)
	if apierrors.IsNotFound(err) {
		s.version = ""
		return guard.Records{}, guard.Words{}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get ConfigMap %s/%s: %w", s.namespace, recordsName, err)
	}
	s.version = stored.ResourceVersion
	log := ctrl.LoggerFrom(ctx).WithValues("configMap", s.namespace+"/"+recordsName)
	records, err := guard.DecodeRecords(stored.Data[recordsKey])
	if err != nil {
		log.Error(err, "cannot read the records of earlier withdrawals; starting with none", "key", recordsKey)
		records = guard.Records{}
	}
	words, err := guard.DecodeWords(stored.Data[wordsKey])
	if err != nil {
		log.Error(err, "cannot read the annotations of ApplicationSets that are gone; starting with none", "key", wordsKey)
	}
	return records, words, nil
}

// save writes both. When another client has written them since load, or deleted them, the
// error is a conflict.
func (s *recordStore) save(ctx context.Context, records guard.Records, words string, leftOut int) error {
	if s.namespace == "" {
		return nil
	}
	text, err := records.Encode(maxRecords)
	if err != nil {
		return fmt.Errorf("encode records of withdrawals: %w", err)
	}
	if leftOut != s.leftOut {
		ctrl.LoggerFrom(ctx).Info("annotations of ApplicationSets are too large for the ConfigMap; after a restart those left out no longer count once their ApplicationSet is deleted",
			"configMap", s.namespace+"/"+recordsName, "leftOut", leftOut)
		s.leftOut = leftOut
	}
	o := s.object()
	o.Data = map[string]string{recordsKey: text, wordsKey: words}
	if s.version == "" {
		err = s.client.Create(ctx, o)
	} else {
		err = s.client.Update(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", s.namespace, recordsName, err)
	}
	s.version = o.ResourceVersion
	return nil
}
