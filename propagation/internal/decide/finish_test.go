// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Decide updates the AppProject and the automation in every work that stays, even if its delivery is paused
// or refused.
func TestDecide_updatesProjectAndAutomation(t *testing.T) {
	run(t, map[string]row{
		"rewritten": {reason: "the write has it", change: func(s *scene) { s.delivered("w").Stale = true }, want: "update w; w rewrite"},
		"paused":    {reason: "nobody delays what takes rights away", change: func(s *scene) { s.delivered("w").Stale = true; s.Namespace.Pause = paused("delivery") }, want: "w refresh project"},
		"refused":   {reason: "also where the wish is refused", change: func(s *scene) { s.delivered("w").Stale = true; s.May.Bound = false }, want: "w refresh project; NotBound"},
		"former":    {reason: "and on a former cluster, while the present one is not applied", change: func(s *scene) { s.delivered("w").Stale = true; s.aim("d1") }, want: "create; w refresh project"},
		"gone, held": {reason: "and of an Application that is gone", change: func(s *scene) {
			s.delivered("w").Stale = true
			s.gone(time.Hour)
			s.Works[0].Set = &Annotations{Override: Override{Effect: Hold, On: "set"}}
		}, want: "w end ApplicationGone tenant:team project delayed"},
		"gone, in grace":  {reason: "also in its grace", change: func(s *scene) { s.delivered("w").Stale = true; s.gone(0) }, want: "w refresh ApplicationGone upcoming tenant:team project"},
		"waits for agent": {reason: "and of one that ends", change: func(s *scene) { s.delivered("w").Stale = true; s.deleting() }, want: "w end Deleting tenant:team project cascade delete; Deleting"},
		"terminating": {reason: "its agent does not look at it any more", change: func(s *scene) {
			w := s.delivered("w")
			w.Stale, w.Live.DeletionTimestamp = true, &metav1.Time{Time: noon}
			w.see()
			s.deleting()
		}, want: "w leave; Deleting"},
		"paused syncs":         {reason: "the automation is taken out", change: func(s *scene) { s.delivered("w"); s.annotate(contract.PausedAnnotation, "sync") }, want: "w refresh automation-out"},
		"paused syncs, former": {reason: "of every copy", change: func(s *scene) { s.delivered("w"); s.aim("d1"); s.annotate(contract.PausedAnnotation, "sync") }, want: "w refresh automation-out; Paused"},
		"one cluster's pause":  {reason: "concerns that cluster alone", change: func(s *scene) { s.delivered("w"); s.aim("d1"); s.Target.Pause = paused("sync") }, want: "w keep; Paused"},
		"automation back": {reason: "the pause is over, and the wish is refused", change: func(s *scene) {
			w := s.delivered("w")
			w.stopped()
			s.Settings.SizeLimit = 100
		}, want: "w refresh automation-back; TooLarge"},
		"automation, other pause": {reason: "a pause of deliveries leaves works as they are", change: func(s *scene) {
			w := s.delivered("w")
			w.stopped()
			s.annotate(contract.PausedAnnotation, "delivery")
		}, want: "w keep"},
	})
}

// If a pause of syncs ends, a refused delivery gets its automation back.
func TestDecide_returnsAtTheEndOfAPause(t *testing.T) {
	for name, aim := range map[string]string{"refused": "c1", "former cluster": "d1"} {
		s := newScene()
		s.delivered("w").stopped()
		s.aim(aim)
		s.Settings.SizeLimit = 100
		s.Namespace.Pause = policy.Pause{Mode: policy.PauseSync, Until: noon.Add(time.Hour), By: "Namespace team"}
		if p := Decide(s.Facts); p.After != time.Hour {
			t.Errorf("%s: again after %s, want an hour", name, p.After)
		}
	}
}
