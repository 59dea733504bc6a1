// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package workindex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// A work comes out as it went in, whatever is in it.
func TestPackedIsTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "True", "Healthy", "2026-01-02T03:04:05Z", "ünï\x00\xff", strings.Repeat("long ", 400), "argoproj.io", "-1"}
	text := func() string { return texts[random.IntN(len(texts))] }
	conditions := func() []metav1.Condition {
		var list []metav1.Condition
		for range random.IntN(3) {
			c := metav1.Condition{Type: text(), Status: metav1.ConditionStatus(text()), Reason: text(), Message: text(), ObservedGeneration: random.Int64() - random.Int64()}
			if random.IntN(2) > 0 {
				c.LastTransitionTime = metav1.NewTime(time.Unix(random.Int64N(1<<33)-1<<32, 0))
			}
			list = append(list, c)
		}
		return list
	}
	for i := range 500 {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
			Namespace: "cluster1", Name: "app-1a2b3", UID: "u", ResourceVersion: "7", Generation: 3,
			Labels: map[string]string{contract.PullLabel: "true"}, Finalizers: []string{"f"},
		}}
		for range random.IntN(5) {
			if work.Annotations == nil {
				work.Annotations = map[string]string{}
			}
			work.Annotations[fmt.Sprintf("key-%d", random.IntN(9))] = text()
		}
		work.Status.Conditions = conditions()
		for range random.IntN(3) {
			m := workv1.ManifestCondition{Conditions: conditions()}
			m.ResourceMeta = workv1.ManifestResourceMeta{Ordinal: random.Int32(), Group: text(), Version: text(), Kind: text(), Resource: text(), Name: text(), Namespace: text()}
			for range random.IntN(4) {
				v := workv1.FeedbackValue{Name: text(), Value: workv1.FieldValue{Type: workv1.ValueType(text())}}
				if random.IntN(2) > 0 {
					s := text()
					v.Value.String = &s
				}
				if random.IntN(2) > 0 {
					n := random.Int64() - random.Int64()
					v.Value.Integer = &n
				}
				if random.IntN(2) > 0 {
					b := random.IntN(2) > 0
					v.Value.Boolean = &b
				}
				if random.IntN(2) > 0 {
					s := text()
					v.Value.JsonRaw = &s
				}
				m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, v)
			}
			work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, m)
		}
		p := Pack(work)
		if diff := cmp.Diff(work, p.Unpack()); diff != "" {
			t.Fatalf("work %d (-packed +unpacked):\n%s", i, diff)
		}
		if diff := cmp.Diff(work.Annotations, p.GetAnnotations(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("annotations of work %d (-packed +unpacked):\n%s", i, diff)
		}
	}
}

// What is damaged gives something, never a panic: it is only memory, but a
// controller that dies at every start is worse than a row that is wrong.
func FuzzReader(f *testing.F) {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}}
	work.Status.Conditions = []metav1.Condition{{Type: "Applied", Status: "True"}}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{{}}
	f.Add(Pack(work).rest)
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	f.Fuzz(func(_ *testing.T, rest string) {
		p := Packed{rest: rest}
		p.Unpack()
	})
}

func TestApplicationOf(t *testing.T) {
	annotations := map[string]string{contract.HubNamespaceAnnotation: "team", contract.HubNameAnnotation: "app"}
	labels := map[string]string{contract.PullLabel: "true"}
	for name, c := range map[string]struct {
		reason string
		meta   metav1.ObjectMeta
		ours   bool
	}{
		"ours":     {reason: "label and annotations say whose it is", meta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, ours: true},
		"strange":  {reason: "without the label it is somebody else's", meta: metav1.ObjectMeta{Annotations: annotations}},
		"nobody's": {reason: "without the annotations it is of no Application", meta: metav1.ObjectMeta{Labels: labels}},
		"half":     {reason: "nor with one of them", meta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{contract.HubNameAnnotation: "app"}}},
	} {
		work := &workv1.ManifestWork{ObjectMeta: c.meta}
		for kind, object := range map[string]metav1.Object{"plain": work, "packed": Pack(work)} {
			app, ours := ApplicationOf(object)
			if ours != c.ours || ours && app != (types.NamespacedName{Namespace: "team", Name: "app"}) {
				t.Errorf("%s, %s: %s: got %s, %t", name, kind, c.reason, app, ours)
			}
		}
	}
}

// What a cluster writes never becomes a word, and is kept all the same.
func TestDictionaryIsFixed(t *testing.T) {
	before := len(words.texts)
	work := &workv1.ManifestWork{}
	for i := range 10_000 {
		work.Annotations = map[string]string{fmt.Sprint("key-", i): "v"}
		work.Status.Conditions = []metav1.Condition{{Type: fmt.Sprint("type-", i)}}
		if got := Pack(work).Unpack().Status.Conditions[0].Type; got != work.Status.Conditions[0].Type {
			t.Fatalf("got %q", got)
		}
	}
	if len(words.texts) != before || len(words.numbers) != before {
		t.Errorf("the dictionary has grown from %d to %d texts", before, len(words.texts))
	}
}

func benchmarked() *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{
		Name: "guestbook-cluster1-1a2b3", Labels: map[string]string{contract.PullLabel: "true"},
		Annotations: map[string]string{contract.HubNamespaceAnnotation: "argocd", contract.HubNameAnnotation: "guestbook-cluster1", contract.HostingAnnotation: "argocd/guestbook", "hash": "0123456789abcdef0123456789abcdef"},
	}}
	applied := metav1.Condition{Type: workv1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedManifestWorkComplete", Message: "Apply manifest work complete", ObservedGeneration: 1, LastTransitionTime: metav1.Now()}
	work.Status.Conditions = []metav1.Condition{applied}
	m := workv1.ManifestCondition{Conditions: []metav1.Condition{applied, applied, applied}}
	for _, s := range []string{"Healthy", "Synced", "53e28ff20cc530b9ada2173fbbd64d48338583ba", "Succeeded", "2026-11-20T10:00:00Z", "2026-11-20T10:00:01Z", "successfully synced (all tasks run)"} {
		m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: "value", Value: workv1.FieldValue{Type: workv1.String, String: &s}})
	}
	work.Status.ResourceStatus.Manifests = []workv1.ManifestCondition{m}
	return work
}

func BenchmarkPack(b *testing.B) {
	work := benchmarked()
	b.ReportAllocs()
	for b.Loop() {
		Pack(work)
	}
}

func BenchmarkUnpack(b *testing.B) {
	p := Pack(benchmarked())
	b.ReportAllocs()
	for b.Loop() {
		p.Unpack()
	}
}
