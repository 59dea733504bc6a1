// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// boundedEvents is a recorder that limits the notes of all Events. The API server rejects an Event
// with a note of more than 1,024 bytes, and the client then drops the Event.
type boundedEvents struct{ events.EventRecorder }

// Eventf implements [events.EventRecorder].
func (b boundedEvents) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	note = contract.Message(fmt.Sprintf(note, args...), &contract.Rejected{})
	b.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", note)
}
