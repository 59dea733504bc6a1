// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"
)

func TestWork_includesManifests(t *testing.T) {
	const (
		argocd = `{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"argocd"},"spec":{"server":{"x":1}}}`
		twice  = `{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"argocd","namespace":"x"},"spec":{"argoCDAgent":{"agent":{"enabled":true,"client":{"principalServerAddress":"mine"}}}}}`
		named  = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"argocd","labels":{"a":"b"}}}`
	)
	spec := func(t *testing.T, work *workv1.ManifestWork) map[string]any {
		return (*decoded[map[string]any](t, work, "ArgoCD", "argocd"))["spec"].(map[string]any)
	}
	w := wanted(t)
	w.Manifests = [][]byte{[]byte(argocd), []byte(named)}
	work := mustWork(t, w, "")
	if got := spec(t, work); got["argoCDAgent"] != nil {
		t.Errorf("the ArgoCD became %v", got)
	}
	if all := ids(t, work); all[0] != "argocds argocd/argocd ServerSideApply" || all[1] != "namespaces /argocd ServerSideApply" || slices.Contains(all, "namespaces /argocd CreateOnly") {
		t.Errorf("the work carries %q", all)
	}
	if n := len(work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules); n != 3 {
		t.Errorf("%d objects stay when the work goes, want the ArgoCD, the Namespace and the Secret", n)
	}
	w.Manifests = [][]byte{[]byte(twice)}
	agent := spec(t, mustWork(t, w, ""))["argoCDAgent"].(map[string]any)["agent"].(map[string]any)
	if agent["enabled"] != false || agent["client"].(map[string]any)["principalServerAddress"] != "mine" {
		t.Errorf("an operator would bring a second agent of that name: %v", agent)
	}
}

func TestWork_rejectsBadManifests(t *testing.T) {
	deployment := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"mci-argocd-agent","namespace":"argocd"}}`
	for what, manifests := range map[string][]string{
		"no JSON":      {`{`},
		"no kind":      {`{"apiVersion":"v1","metadata":{"name":"x"}}`},
		"no name":      {`{"apiVersion":"v1","kind":"ConfigMap"}`},
		"a list":       {`[]`},
		"null":         {`null`},
		"twice":        {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"}}`},
		"ours":         {deployment},
		"our rights":   {`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"mci-argocd-agent"}}`},
		"our CA":       {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"argocd-agent-ca","namespace":"argocd"}}`},
		"large":        {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"},"data":{"a":"` + strings.Repeat("x", MaxManifestBytes) + `"}}`},
		"odd argocd":   {`{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"x"},"spec":[]}`},
		"odd argocd 2": {`{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"x"},"spec":{"argoCDAgent":{"agent":{"enabled":"yes"}}}}`},
		"many":         slices.Repeat([]string{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"}}`}, maxManifests+1),
	} {
		t.Run(what, func(t *testing.T) {
			w := wanted(t)
			for _, m := range manifests {
				w.Manifests = append(w.Manifests, []byte(m))
			}
			if _, err := Work(w, ""); !errors.Is(err, ErrBadManifests) || len(err.Error()) > 500 {
				t.Errorf("error is %v", err)
			}
		})
	}
}
