// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"
	workv1 "open-cluster-management.io/api/work/v1"
)

// aWork returns a work of the usual size on a hub, some 8 KB.
func aWork() *workv1.ManifestWork {
	work := &workv1.ManifestWork{
		TypeMeta:   metav1.TypeMeta{APIVersion: "work.open-cluster-management.io/v1", Kind: "ManifestWork"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "cluster1", Name: "guestbook-cluster1-1a2b3", UID: "b1a6a6f6", ResourceVersion: "123456", Labels: map[string]string{}, Annotations: map[string]string{}},
	}
	for i := range 5 {
		work.Labels[fmt.Sprintf("example.com/label-%d", i)], work.Annotations[fmt.Sprintf("example.com/note-%d", i)] = "true", "a value of some length"
	}
	for i := range 3 {
		fields := `{"f:spec":{` + strings.TrimSuffix(strings.Repeat(`"f:field":{".":{},"f:inner":{}},`, 15), ",") + `}}`
		work.ManagedFields = append(work.ManagedFields, metav1.ManagedFieldsEntry{Manager: fmt.Sprint("manager-", i), Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)})
	}
	for i := range 3 {
		manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"values":%q}}`, i, strings.Repeat("replicas: 3\n", 40))
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}})
		condition := metav1.Condition{Type: "Applied", Status: "True", Reason: "AppliedManifestComplete", Message: "Apply manifest complete", LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))}
		work.Status.Conditions = append(work.Status.Conditions, condition)
		m := workv1.ManifestCondition{Conditions: []metav1.Condition{condition, condition}}
		for j := range 6 {
			value := strings.Repeat("x", 20)
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: fmt.Sprintf("value%d", j), Value: workv1.FieldValue{Type: workv1.String, String: &value}})
		}
		work.Status.ResourceStatus.Manifests = append(work.Status.ResourceStatus.Manifests, m)
	}
	return work
}

func stream(b *testing.B, n int) []byte {
	b.Helper()
	raw, err := json.Marshal(aWork())
	if err != nil {
		b.Fatal(err)
	}
	return bytes.Repeat(fmt.Appendf(nil, `{"type":"MODIFIED","object":%s}`+"\n", raw), n)
}

func drain(b *testing.B, d watch.Decoder, want int) {
	b.Helper()
	n := 0
	for ; ; n++ {
		if _, _, err := d.Decode(); err != nil {
			break
		}
	}
	if n != want {
		b.Fatalf("%d events, want %d", n, want)
	}
}

const benchEvents = 100

func BenchmarkDecode(b *testing.B) {
	events := stream(b, benchEvents)
	b.SetBytes(int64(len(events)))
	b.ReportAllocs()
	for b.Loop() {
		drain(b, newDecoder(io.NopCloser(bytes.NewReader(events)), func(w *slimWork) runtime.Object { return w.work() }), benchEvents)
	}
}

// BenchmarkDecode_clientGo is the reference for BenchmarkDecode.
func BenchmarkDecode_clientGo(b *testing.B) {
	events := stream(b, benchEvents)
	scheme := runtime.NewScheme()
	if err := workv1.Install(scheme); err != nil {
		b.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, core)
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		b.Fatal("no JSON")
	}
	b.SetBytes(int64(len(events)))
	b.ReportAllocs()
	for b.Loop() {
		frames := info.StreamSerializer.NewFrameReader(io.NopCloser(bytes.NewReader(events)))
		d := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), codecs.DecoderToVersion(info.Serializer, schema.GroupVersion{Group: workv1.GroupName, Version: "v1"}))
		drain(b, d, benchEvents)
	}
}
