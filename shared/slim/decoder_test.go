// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package slim

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"
)

type slimWork struct {
	Metadata Meta                      `json:"metadata"`
	Spec     Skip                      `json:"spec"`
	Status   workv1.ManifestWorkStatus `json:"status"`
}

func (w *slimWork) work() *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: w.Metadata.ObjectMeta, Status: w.Status}
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		reason, stream string
		want           []string
		err            string
	}{
		"events": {
			reason: "events follow each other on lines",
			stream: `{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n" + `{"type":"MODIFIED","object":{"metadata":{"name":"b"}}}` + "\n" + `{"type":"DELETED","object":{"metadata":{"name":"c"}}}` + "\n",
			want:   []string{"ADDED a", "MODIFIED b", "DELETED c"}, err: "EOF",
		},
		"bookmark": {
			reason: "a bookmark has metadata only",
			stream: `{"type":"BOOKMARK","object":{"kind":"ManifestWork","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n",
			want:   []string{"BOOKMARK "}, err: "EOF",
		},
		"manyLines": {
			reason: "white space between the tokens of an event is JSON, too",
			stream: "\n{\n \"type\": \"ADDED\",\n \"object\":\n {\"metadata\":{\"name\":\"a\"}}\n}\n\n{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n",
			want:   []string{"ADDED a", "ADDED b"}, err: "EOF",
		},
		"large": {
			reason: "an event may be larger than the buffer",
			stream: `{"type":"ADDED","object":{"metadata":{"name":"a","annotations":{"x":"` + strings.Repeat("x", 3*block) + `"}}}}` + "\n",
			want:   []string{"ADDED a"}, err: "EOF",
		},
		"skipped": {
			reason: "what is skipped may have any shape",
			stream: `{"type":"ADDED","object":{"spec":["not",{"a":"spec"}],"metadata":{"managedFields":[{"manager":"m"}],"name":"a"}}}` + "\n",
			want:   []string{"ADDED a"}, err: "EOF",
		},
		"error": {
			reason: "the server tells why it ends a watch",
			stream: `{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}` + "\n",
			want:   []string{"ERROR Expired"}, err: "EOF",
		},
		"errorInOtherOrder": {
			reason: "members have no order",
			stream: `{"object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}, "type":"ERROR"}` + "\n",
			want:   []string{"ERROR Expired"}, err: "EOF",
		},
		"broken":      {reason: "a connection may break within an event", stream: `{"type":"ADDED","object":{"meta`, err: "unexpected EOF"},
		"brokenLine":  {reason: "also at the end of a line", stream: "{\"type\":\"ADDED\",\n", err: "EOF"},
		"noJSON":      {reason: "the decoder does not guess", stream: "<html>\n", err: "decode watch event"},
		"unknownType": {reason: "nor skips", stream: `{"type":"MOVED","object":{}}` + "\n", err: `unknown type "MOVED"`},
		"noObject":    {reason: "an event is about something", stream: `{"type":"ADDED"}` + "\n", err: "without an object"},
		"wrongShape":  {reason: "an object of another shape is not passed on half", stream: `{"type":"ADDED","object":{"metadata":"x"}}` + "\n", err: "decode watch event"},
		"unreadable": {
			reason: "a status that Go's types cannot hold counts as empty, and the watch goes on",
			stream: `{"type":"MODIFIED","object":{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Applied","lastTransitionTime":"2026-01-01T00:00:00z"}]}}}` + "\n" +
				`{"object":{"metadata":{"name":"b"},"status":{"resourceStatus":{"manifests":[{"resourceMeta":{"ordinal":3000000000}}]}}},"type":"ADDED"}` + "\n" + `{"type":"ADDED","object":{"metadata":{"name":"c"}}}` + "\n",
			want: []string{"MODIFIED a", "ADDED b", "ADDED c"}, err: "EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDecoder(io.NopCloser(strings.NewReader(c.stream)), func(w *slimWork) runtime.Object { return w.work() })
			defer d.Close()
			var got []string
			for {
				kind, object, err := d.Decode()
				if err != nil {
					if !strings.Contains(err.Error(), c.err) {
						t.Errorf("%s: error %v, want %s", c.reason, err, c.err)
					}
					break
				}
				got = append(got, string(kind)+" "+told(object))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func told(object runtime.Object) string {
	switch o := object.(type) {
	case *metav1.Status:
		return string(o.Reason)
	case *workv1.ManifestWork:
		return o.Name
	}
	return "?"
}

// The decoder rejects an event that never ends.
func TestDecode_refusesAnEndlessEvent(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"type":"ADDED","object":{"spec":[`), &repeated{text: []byte(strings.Repeat("1,", 1<<19) + "\n")})
	d := newDecoder(io.NopCloser(endless), func(w *slimWork) runtime.Object { return w.work() })
	if kind, _, err := d.Decode(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %s, %v; want the error of an event that is too large", kind, err)
	}
}

type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

var _ watch.Decoder = &decoder[slimWork]{}
