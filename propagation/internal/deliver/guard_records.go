// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

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

// recordsName is the ConfigMap in propagation's namespace that holds what the guard
// remembers, under recordsKey.
const (
	recordsName = "multicluster-integrations-withdrawals"
	recordsKey  = "records"
	// maxRecords is how many bytes of it are written; the API server takes 1 MiB a ConfigMap.
	maxRecords = 900 << 10
)

// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=configmaps,verbs=get;create;update

// recordStore keeps the guard's records in a ConfigMap: written before something is
// withdrawn and when a hold begins or ends, by one writer at a time.
type recordStore struct {
	client    client.Client
	live      client.Reader
	namespace string // "": nothing is stored
	version   string // of the ConfigMap, "" when there is none
	leftOut   int    // groups that did not fit the last time
}

func (s *recordStore) object() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: recordsName, ResourceVersion: s.version}}
}

// load reads the records. Those that cannot be understood are lost, which costs no more
// than a window: holds follow again from what is on the hub.
func (s *recordStore) load(ctx context.Context) (guard.Records, error) {
	if s.namespace == "" {
		return guard.Records{}, nil
	}
	stored := &corev1.ConfigMap{}
	err := s.live.Get(ctx, client.ObjectKeyFromObject(s.object()), stored)
	if apierrors.IsNotFound(err) {
		s.version = ""
		return guard.Records{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get ConfigMap %s/%s: %w", s.namespace, recordsName, err)
	}
	s.version = stored.ResourceVersion
	records, err := guard.DecodeRecords(stored.Data[recordsKey])
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the records of earlier withdrawals; starting with none", "configMap", s.namespace+"/"+recordsName, "key", recordsKey)
		return guard.Records{}, nil
	}
	return records, nil
}

// save writes the records. When another client has written them since load, or deleted
// them, the error is a conflict.
func (s *recordStore) save(ctx context.Context, records guard.Records) error {
	if s.namespace == "" {
		return nil
	}
	text, leftOut, err := records.Encode(maxRecords)
	if err != nil {
		return fmt.Errorf("encode records of withdrawals: %w", err)
	}
	if len(leftOut) != s.leftOut {
		ctrl.LoggerFrom(ctx).Info("records of withdrawals are too large for their ConfigMap; after a restart, earlier withdrawals of the groups left out no longer count", "configMap", s.namespace+"/"+recordsName,
			"leftOut", len(leftOut), "of", len(records), "first", fmt.Sprint(leftOut[:min(3, len(leftOut))]))
		s.leftOut = len(leftOut)
	}
	o := s.object()
	o.Data = map[string]string{recordsKey: text}
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
