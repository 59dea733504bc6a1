// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hub returns the errors that a test sets. It panics on an unexpected request.
type hub struct {
	client.Client

	get    error
	delete error

	deleted []*client.DeleteOptions
}

func (h *hub) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return h.get
}

func (h *hub) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	h.deleted = append(h.deleted, (&client.DeleteOptions{}).ApplyOptions(options))
	return h.delete
}

func TestPrune(t *testing.T) {
	key := types.NamespacedName{Namespace: "argocd", Name: "guestbook"}
	sets := schema.GroupResource{Group: "argoproj.io", Resource: "applicationsets"}
	notFound := apierrors.NewNotFound(sets, key.Name)
	report := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "u", ResourceVersion: "7"}}

	for name, test := range map[string]struct {
		why           string
		hub           hub
		report        *metav1.PartialObjectMetadata
		gone, deleted bool
		err           bool
	}{
		"still there":   {why: "nothing to do", report: report},
		"gone":          {why: "its report goes", hub: hub{get: notFound}, report: report, gone: true, deleted: true},
		"no report":     {why: "there is nothing to remove", hub: hub{get: notFound}, gone: true},
		"report gone":   {why: "another client was faster", hub: hub{get: notFound, delete: apierrors.NewNotFound(sets, key.Name)}, report: report, gone: true},
		"cannot delete": {why: "it is tried again", hub: hub{get: notFound, delete: apierrors.NewForbidden(sets, key.Name, nil)}, report: report, gone: true, err: true},
		"report is new": {why: "what was not seen is not deleted", hub: hub{get: notFound, delete: apierrors.NewConflict(sets, key.Name, nil)}, report: report, gone: true, err: true},
		"forbidden":     {why: "a refusal is not an answer", hub: hub{get: apierrors.NewForbidden(sets, key.Name, nil)}, report: report, err: true},
		"unreachable":   {why: "nor is silence", hub: hub{get: errors.New("connection refused")}, report: report, err: true},
		"not served": {
			why: "a server without ApplicationSets says 404 as well", report: report, err: true,
			hub: hub{get: apierrors.NewGenericServerResponse(404, "get", sets, key.Name, "404 page not found", 0, true)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{live: &test.hub, writer: &test.hub}
			gone, deleted, err := r.prune(t.Context(), key, test.report)
			if gone != test.gone || deleted != test.deleted || (err != nil) != test.err {
				t.Errorf("%s: gone %v, deleted %v, error %v", test.why, gone, deleted, err)
			}
			for _, o := range test.hub.deleted {
				if p := o.Preconditions; p == nil || *p.UID != "u" || *p.ResourceVersion != "7" {
					t.Error("a report is deleted that was not read")
				}
			}
		})
	}
}
