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

func TestManifestsGoAlong(t *testing.T) {
	const (
		argocd = `{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"argocd"},"spec":{"server":{"x":1}}}`
		told   = `{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"argocd","namespace":"x"},"spec":{"argoCDAgent":{"agent":{"client":{"principalServerAddress":"mine","principalServerPort":"1"}}}}}`
		named  = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"argocd","labels":{"a":"b"}}}`
	)
	client := func(t *testing.T, work *workv1.ManifestWork) map[string]any {
		o := decoded[map[string]any](t, work, "ArgoCD", "argocd")
		spec := (*o)["spec"].(map[string]any)
		return spec["argoCDAgent"].(map[string]any)["agent"].(map[string]any)["client"].(map[string]any)
	}
	w := wanted(t)
	w.Manifests = [][]byte{[]byte(argocd), []byte(named)}
	work := mustWork(t, w, "")
	if c := client(t, work); c["principalServerAddress"] != "principal.example.com" || c["principalServerPort"] != "443" {
		t.Errorf("the ArgoCD was told %v", c)
	}
	if all := ids(t, work); all[0] != "argocds argocd/argocd ServerSideApply" || all[1] != "namespaces /argocd ServerSideApply" || slices.Contains(all, "namespaces /argocd CreateOnly") {
		t.Errorf("the work carries %q", all)
	}
	if n := len(work.Spec.DeleteOption.SelectivelyOrphan.OrphaningRules); n != 3 {
		t.Errorf("%d objects stay when the work goes, want the ArgoCD, the Namespace and the Secret", n)
	}
	w.Manifests = [][]byte{[]byte(told)}
	if c := client(t, mustWork(t, w, "")); c["principalServerAddress"] != "mine" || c["principalServerPort"] != "1" {
		t.Errorf("an address of the user's became %v", c)
	}
}

func TestManifestsThatAreRefused(t *testing.T) {
	deployment := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"argocd-agent-agent","namespace":"argocd"}}`
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
		"large":        {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"y"},"data":{"a":"` + strings.Repeat("x", maxManifestBytes) + `"}}`},
		"odd argocd":   {`{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"x"},"spec":[]}`},
		"odd argocd 2": {`{"apiVersion":"argoproj.io/v1beta1","kind":"ArgoCD","metadata":{"name":"x"},"spec":{"argoCDAgent":{"agent":{"client":{"principalServerPort":5}}}}}`},
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
