// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
)

// lived returns for each Lease a renewal time or an error.
type lived struct {
	client.Reader
	leases map[string]any
}

func (l lived) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch answer := l.leases[key.Name].(type) {
	case error:
		return answer
	case time.Time:
		o.(*coordinationv1.Lease).Spec.RenewTime = &metav1.MicroTime{Time: answer}
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, key.Name)
}

// A Lease that cannot be read is not reported as missing.
func TestLeases_doNotReportAFailureAsMissing(t *testing.T) {
	noon, failure := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), errors.New("etcdserver: request timed out")
	propagation, aggregation := leasePrefix+"propagation", leasePrefix+"aggregation"
	l := &Leases{Log: logr.Discard()}
	for _, step := range []struct {
		why    string
		leases map[string]any
		want   []model.Lease
	}{
		{"nothing was ever read", map[string]any{propagation: failure, aggregation: failure}, []model.Lease{}},
		{"one was read", map[string]any{propagation: failure, aggregation: noon}, []model.Lease{{Controller: "aggregation", Renewed: noon}}},
		{"it stays while it cannot be read", map[string]any{propagation: noon, aggregation: failure}, []model.Lease{{Controller: "propagation", Renewed: noon}, {Controller: "aggregation", Renewed: noon}}},
		{"one is gone", map[string]any{propagation: failure}, []model.Lease{{Controller: "propagation", Renewed: noon}, {Controller: "aggregation"}}},
	} {
		l.Live = lived{leases: step.leases}
		l.read(t.Context())
		if diff := cmp.Diff(step.want, l.Known()); diff != "" {
			t.Errorf("%s:\n%s", step.why, diff)
		}
	}
}
