// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package register

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/multicluster-integrations/shared/wire"
)

func TestNamesStayLegal(t *testing.T) {
	for _, name := range []string{"c", strings.Repeat("c", 63), strings.Repeat("c.", 126) + "c"} {
		s := wanted(&clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, "argocd", "")
		if errs := validation.IsDNS1123Subdomain(s.Name); len(errs) > 0 {
			t.Errorf("Secret of a name of %d characters: %v", len(name), errs)
		}
		if errs := validation.IsValidLabelValue(s.Labels[wire.RegisteredNameLabel]); len(errs) > 0 {
			t.Errorf("label of a name of %d characters: %v", len(name), errs)
		}
	}
}

func TestTrimKeepsNoSecrets(t *testing.T) {
	in := &corev1.Secret{Data: map[string][]byte{"name": []byte("c"), "server": []byte("s"), "config": []byte("token")}}
	out, err := trim(in)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := out.(*corev1.Secret)
	if !ok {
		t.Fatalf("%T", out)
	}
	if config, there := s.Data["config"]; !there || len(config) > 0 || string(s.Data["name"]) != "c" {
		t.Errorf("data is %q", s.Data)
	}
	if _, err := trim("a tombstone"); err != nil {
		t.Error(err)
	}
}

func BenchmarkMendUnchanged(b *testing.B) {
	cluster := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "c1", Labels: map[string]string{"a": "1", "b": "2"}}}
	is := wanted(cluster, "argocd", "")
	b.ReportAllocs()
	for b.Loop() {
		if patch, err := mend(is, wanted(cluster, "argocd", ""), cluster.Labels); err != nil || patch != nil {
			b.Fatal(err, string(patch))
		}
	}
}
