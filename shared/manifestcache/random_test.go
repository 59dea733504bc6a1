// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// maker generates random works: valid works, and works that no agent writes.
type maker struct{ *rand.Rand }

func pick[T any](m maker, of ...T) T { return of[m.IntN(len(of))] }

func (m maker) text() string {
	return pick(m, "", "a", "True", "ünï\x00\xff", strings.Repeat("long ", 400), "-1", "one\nline", fmt.Sprint("text-", m.IntN(1e6)))
}

// note returns a text that leaves room for other texts.
func (m maker) note() string {
	s := m.text()
	return s[:min(len(s), 300)]
}

func (m maker) stamp() string {
	at := time.Unix(m.Int64N(1<<33)-1<<32, m.Int64N(2)*5e8)
	return pick(m, "", at.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339Nano), at.In(time.FixedZone("", 3600)).Format(time.RFC3339), "1970-01-01T00:00:00Z", "never")
}

func (m maker) conditions(types ...string) []metav1.Condition {
	var list []metav1.Condition
	for _, t := range append(types, "Stray") {
		if m.IntN(4) == 0 {
			continue
		}
		c := metav1.Condition{Type: t, Status: pick(m, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown, ""), Reason: m.text(), Message: m.text(), ObservedGeneration: m.Int64N(4)}
		if m.IntN(3) > 0 {
			c.LastTransitionTime = metav1.NewTime(time.Unix(m.Int64N(1<<33)-1<<32, 0))
		}
		list = append(list, c)
	}
	m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (m maker) values() []workv1.FeedbackValue {
	hex := fmt.Sprintf("%040x", m.Uint64())
	texts := map[string]string{
		contract.FeedbackHealthStatus:   pick(m, argocd.HealthHealthy, argocd.HealthUnknown, argocd.HealthDegraded, "", "Splendid"),
		contract.FeedbackSyncStatus:     pick(m, argocd.SyncSynced, argocd.SyncUnknown, argocd.SyncOutOfSync, "", "synced"),
		contract.FeedbackOperationPhase: pick(m, argocd.OperationSucceeded, argocd.OperationRunning, argocd.OperationError, ""),
		contract.FeedbackSyncRevision:   pick(m, "", hex, strings.ToUpper(hex), hex[1:], "v1.2.3", strings.Repeat("é", 20)),
	}
	var list []workv1.FeedbackValue
	for _, p := range append(append(contract.FeedbackPaths(contract.MaxSources), contract.RequestPaths()...), contract.EndingPaths()[1:]...) {
		text, known := texts[p.Name]
		switch {
		case m.IntN(3) == 0:
			continue
		case strings.HasSuffix(p.Name, "At"):
			text = m.stamp()
		case !known:
			text = m.text()
		}
		list = append(list, workv1.FeedbackValue{Name: p.Name, Value: workv1.FieldValue{Type: workv1.String, String: &text}})
	}
	m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func (m maker) work() *workv1.ManifestWork {
	name := pick(m, "app", "app", "guestbook-cluster1", m.note())
	w := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Namespace: "cluster1", Name: "app-1a2b3", Generation: m.Int64N(4),
		UID:               types.UID(pick(m, "", "u", "0f2a3b4c-1111-4222-a333-0123456789ab", "0F2A3B4C-1111-4222-A333-0123456789AB", "0f2a3b4c-1111-4222-a333-0123456789a-")),
		ResourceVersion:   pick(m, "", "0", "7", "007", "18446744073709551615", "18446744073709551616", "-1", "abc"),
		CreationTimestamp: pick(m, metav1.Time{}, metav1.Unix(m.Int64N(1<<32), 0)),
		Labels:            map[string]string{contract.PullLabel: pick(m, "true", "1", "false")},
		Annotations:       map[string]string{contract.HubNamespaceAnnotation: pick(m, "team", "team", m.note()), contract.HubNameAnnotation: name},
	}}
	if m.IntN(3) == 0 {
		at := metav1.Unix(m.Int64N(1<<32), 0)
		w.DeletionTimestamp = &at
	}
	for _, key := range []string{contract.HostingAnnotation, contract.ChangeGenerationAnnotation, contract.RequestAnnotation, contract.HubUIDAnnotation, contract.KeyPrefix + "later"} {
		if m.IntN(2) == 0 {
			w.Annotations[key] = pick(m, "1", "2", "team/set", m.note())
		}
	}
	if m.IntN(2) == 0 {
		w.Annotations[contract.ApplicationSpecAnnotation] = pick(m, "0123456789abcdef", "0000000000000000", "0123456789abcdeg", "0123456789ABCDEF", "01", m.note())
	}
	w.Status.Conditions = m.conditions(workv1.WorkApplied, workv1.WorkAvailable)
	for range m.IntN(5) {
		meta := workv1.ManifestResourceMeta{Kind: m.text(), Name: m.text()}
		if m.IntN(2) == 0 {
			meta = workv1.ManifestResourceMeta{Group: argocd.Group, Resource: argocd.ApplicationPlural, Kind: pick(m, argocd.ApplicationKind, m.text()), Namespace: pick(m, "team", "argocd", m.text()), Name: pick(m, name, name, "other")}
		}
		w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, workv1.ManifestCondition{
			ResourceMeta: meta, Conditions: m.conditions(workv1.ManifestApplied, workv1.ManifestAvailable, "StatusFeedbackSynced"), StatusFeedbacks: workv1.StatusFeedbackResult{Values: m.values()},
		})
	}
	return w
}

// Whatever a work contains, its cached form gives the same results.
func TestCompact_keepsWhatIsRead(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	for i := range 1000 {
		full := m.work()
		trimmed := full.DeepCopy()
		status.Trim(&trimmed.Status)
		stored := Stored{ApplicationSpec: "replaced", Project: m.text(), ProjectHash: m.note(), Finalized: m.IntN(2) == 0, Refused: m.IntN(2) == 0}
		is := stored
		kept, _ := Compact(full.DeepCopy(), &is)
		if s := kept.Stored; s.Project != contract.Name(stored.Project, &contract.Rejected{}) || s.ProjectHash != stored.ProjectHash || s.Finalized != stored.Finalized || s.Refused != stored.Refused {
			t.Fatalf("work %d was stored as %+v; kept is %+v", i, stored, s)
		}
		for _, cluster := range []status.Cluster{{Name: "cluster1", Exists: true, Available: true}, {Name: "cluster1"}} {
			whole := full
			if name := full.Annotations[contract.HubNameAnnotation]; contract.Name(name, &contract.Rejected{}) != name {
				whole = trimmed // a trimmed work is not found by an invalid name
			}
			if diff := cmp.Diff(status.Work(whole, cluster), kept.Observe(cluster), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("work %d (-whole +kept):\n%s", i, diff)
			}
		}
		if diff := cmp.Diff(asRead(trimmed, stored.Refused), fieldsOf(kept), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("work %d (-trimmed +kept):\n%s", i, diff)
		}
		app, ours := ApplicationOf(full)
		if keptApp, keptOurs := kept.Application(); ours != keptOurs || ours && app != keptApp {
			t.Fatalf("work %d is of %s, %t; kept is %s, %t", i, app, ours, keptApp, keptOurs)
		}
	}
}

// fields are the fields of a work that other packages than status read.
type fields struct {
	Metadata metav1.ObjectMeta
	Applied  bool
	Status   metav1.ConditionStatus
	Refusal  *Refusal
	Missing  bool
	Values   map[string]string
}

func fieldsOf(w *Work) fields {
	f := fields{Metadata: w.ObjectMeta, Applied: w.Facts.Applied, Status: w.Applied(), Refusal: w.Extra.Refusal, Missing: w.Extra.Missing, Values: map[string]string{}}
	f.Metadata.Annotations = w.AllAnnotations()
	for _, v := range w.Extra.Values {
		f.Values[v.Name] = v.Text
	}
	return f
}

// asRead returns the same fields of a trimmed work, which its agent may have refused.
func asRead(w *workv1.ManifestWork, refused bool) fields {
	f := fields{Metadata: w.ObjectMeta, Values: map[string]string{}}
	if refused {
		f.Status = metav1.ConditionFalse
	}
	for _, c := range w.Status.Conditions {
		if c.Type == workv1.WorkApplied && c.ObservedGeneration >= w.Generation {
			if f.Applied = c.Status == metav1.ConditionTrue; f.Applied {
				f.Status = metav1.ConditionTrue
			}
		}
	}
	maps.DeleteFunc(f.Metadata.Annotations, func(key, value string) bool {
		return value == "" && slices.Contains([]string{contract.HubNamespaceAnnotation, contract.HubNameAnnotation, contract.RequestAnnotation, contract.ApplicationSpecAnnotation}, key)
	})
	i := slices.IndexFunc(w.Status.ResourceStatus.Manifests, func(m workv1.ManifestCondition) bool {
		return m.ResourceMeta.Group == argocd.Group && m.ResourceMeta.Resource == argocd.ApplicationPlural
	})
	if i < 0 {
		return f
	}
	m := &w.Status.ResourceStatus.Manifests[i]
	for _, c := range m.Conditions {
		switch {
		case c.Status != metav1.ConditionFalse:
		case c.Type == workv1.ManifestApplied:
			f.Refusal = &Refusal{c.Message, c.ObservedGeneration}
		case c.Type == workv1.ManifestAvailable:
			f.Missing = true
		}
	}
	for _, v := range m.StatusFeedbacks.Values {
		if slices.ContainsFunc(append(contract.RequestPaths(), contract.EndingPaths()...), func(p workv1.JsonPath) bool { return p.Name == v.Name }) {
			f.Values[v.Name] = *v.Value.String
		}
	}
	return f
}
