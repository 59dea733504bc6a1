// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"
)

// request is what the hub asks of a managed cluster's Argo CD once.
type request struct {
	Operation json.RawMessage
}

func (r request) annotate(map[string]string) {}

func (r request) status() json.RawMessage { return nil }

func (r request) feedback() []workv1.JsonPath { return nil }
