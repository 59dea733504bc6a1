// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"
	"time"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
)

// formerRecord is a record of the format before lanes. There, all removals of a group shared one
// limit. It is read once and written in the present format.
type formerRecord struct {
	Withdrawn []struct {
		At time.Time `json:"at"`
		N  int       `json:"n"`
	} `json:"withdrawn"`
	Held *struct {
		holding
		Hub bool `json:"hub"`
	} `json:"held"`
}

// decodeFormerRecords decodes records of that format. Each count applies to both lanes of its
// group, and so does a hold. The hold of a lane without removals ends by itself.
func decodeFormerRecords(text string) (laneRecords, error) {
	stored := map[decide.Group]formerRecord{}
	if text == "" {
		return laneRecords{}, nil
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return nil, err
	}
	r := laneRecords{}
	for group, former := range stored {
		group = short(group)
		for _, kind := range []decide.LaneKind{decide.Tenant, decide.Admin} {
			lane, hub := decide.Lane{Kind: kind, Group: group}, decide.Lane{Kind: kind}
			record := r[lane]
			for _, c := range former.Withdrawn {
				record.Withdrawn = append(record.Withdrawn, count{at: c.At, n: c.N})
			}
			if held := former.Held; held != nil && held.Hub {
				all := r[hub]
				all.Held, all.Together = &held.holding, sortGroups(append(all.Together, group))
				r[hub] = all
			} else if held != nil {
				record.Held = &held.holding
			}
			if record.Held != nil || len(record.Withdrawn) > 0 {
				r[lane] = record
			}
		}
	}
	return r, nil
}
