// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// The policy permits Argo CD to write ManifestWorks of rendered mode with the executor, and no others.
func TestRendered_letsArgoCDWriteOnlyItsManifestWorks(t *testing.T) {
	needNamespace(t, "argocd")
	needNamespace(t, "policy-cluster")
	apply(t, rendered("hub", "rights.yaml"))
	apply(t, rendered("hub", "policy.yaml"))
	const argocd = "system:serviceaccount:argocd:argocd-application-controller"
	const executor = "{subject: {type: ServiceAccount, serviceAccount: {namespace: rendered-applications, name: deployer}}}"
	work := func(name, label, executor string) string {
		return writeText(t, fmt.Sprintf("{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, metadata: {name: %s, namespace: policy-cluster, labels: {%s}}, spec: {workload: {manifests: []}%s}}", name, label, executor))
	}
	label, with := contract.RenderedLabel+`: "true"`, ", executor: "+executor
	// These accounts may write every ManifestWork here, so that only the policy decides.
	kubectl(t, "create", "clusterrolebinding", "policy-argocd", "--clusterrole=cluster-admin", "--group=system:serviceaccounts:argocd", "--group=system:serviceaccounts:openshift-gitops")
	as := func(user string, args ...string) (string, error) {
		group := "system:serviceaccounts:" + strings.Split(user, ":")[2]
		_, stderr, err := try(t, tool("kubectl"), append([]string{"--kubeconfig", kubeconfig, "--as", user, "--as-group", group}, args...)...)
		return stderr, err
	}
	kubectl(t, "apply", "-f", work("addon", "", ""))
	kubectl(t, "apply", "-f", work("owned", label, with))
	kubectl(t, "-n", "policy-cluster", "annotate", "manifestwork", "owned", contract.RenderedApplicationAnnotation+"=theirs")
	tracked := func(application string) string {
		return "argocd.argoproj.io/tracking-id=" + application + ":work.open-cluster-management.io/ManifestWork:policy-cluster/owned"
	}
	kubectl(t, "-n", "policy-cluster", "annotate", "manifestwork", "owned", tracked("theirs"))
	kubectl(t, "apply", "-f", work("labelled", label+", app.kubernetes.io/instance: theirs", with))

	// The API server needs a moment to enforce a new policy.
	probe := work("probe", "", "")
	testkit.Eventually(t, "the policy to be in force", func() error {
		if _, err := as(argocd, "apply", "--dry-run=server", "-f", probe); err != nil {
			return nil //nolint:nilerr // it is the policy that refuses
		}
		return errors.New("a work without the label is admitted")
	})
	cases := []struct {
		reason string
		args   []string
		want   string // part of the rejection, or "" if the request is admitted
	}{
		{"rendered", []string{"apply", "-f", work("rendered", label, with)}, ""},
		{"and again", []string{"apply", "-f", work("rendered", label+", x: z", with)}, ""},
		{"a work as it was committed", []string{"apply", "-f", work("raw", "", with)}, "Argo CD may write ManifestWorks of rendered mode only"},
		{"a work that poses as a pulled Application's", []string{"apply", "-f", work("disguise", label+", "+contract.PullLabel+`: "true"`, with)}, "labels and annotations of pulled Applications"},
		{"and by annotation", []string{"-n", "policy-cluster", "annotate", "manifestwork", "rendered", contract.HubNameAnnotation + "=victim"}, "labels and annotations of pulled Applications"},
		{"another Application's work, taken over", []string{"-n", "policy-cluster", "annotate", "--overwrite", "manifestwork", "owned", contract.RenderedApplicationAnnotation + "=mine"}, "belongs to another Application"},
		{"and with their annotation, as it was committed", []string{"-n", "policy-cluster", "annotate", "--overwrite", "manifestwork", "owned", contract.RenderedApplicationAnnotation + "=theirs", tracked("mine")}, "as Argo CD tracks it"},
		{"and where Argo CD tracks by label", []string{"-n", "policy-cluster", "label", "--overwrite", "manifestwork", "labelled", "app.kubernetes.io/instance=mine"}, "as Argo CD tracks it"},
		{"their own Application", []string{"-n", "policy-cluster", "annotate", "--overwrite", "manifestwork", "owned", tracked("theirs"), "x=z"}, ""},
		{"tracking by annotation, from now on", []string{"-n", "policy-cluster", "annotate", "manifestwork", "labelled", tracked("theirs")}, ""},
		{"and without the label", []string{"-n", "policy-cluster", "label", "manifestwork", "labelled", "app.kubernetes.io/instance-"}, ""},
		{"other annotations", []string{"-n", "policy-cluster", "annotate", "manifestwork", "rendered", "x=z"}, ""},
		{"an add-on's work, taken over", []string{"apply", "-f", work("addon", label, with)}, "belongs to another controller"},
		{"an add-on's work, pruned", []string{"-n", "policy-cluster", "delete", "manifestwork", "addon"}, "belongs to another controller"},
		{"the work agent's own rights", []string{"apply", "-f", work("bare", label, "")}, "want the executor rendered-applications/deployer"},
		{"another executor", []string{"apply", "-f", work("other", label, strings.Replace(with, "deployer", "admin", 1))}, "want the executor rendered-applications/deployer"},
		{"the label, taken off again", []string{"-n", "policy-cluster", "label", "manifestwork", "rendered", contract.RenderedLabel + "-"}, "Argo CD may write ManifestWorks of rendered mode only"},
		{"pruned", []string{"-n", "policy-cluster", "delete", "manifestwork", "rendered"}, ""},
	}
	for _, c := range cases {
		stderr, err := as(argocd, c.args...)
		if (err == nil) != (c.want == "") || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %v: %s", c.reason, err, stderr)
		}
	}
	for _, other := range []string{"system:serviceaccount:argocd:argocd-server", "system:serviceaccount:openshift-gitops:openshift-gitops-argocd-application-controller"} {
		stderr, err := as(other, "apply", "-f", work("bare", label, ""))
		if err == nil || !strings.Contains(stderr, "want the executor") {
			t.Errorf("%s takes the executor away: %v: %s", other, err, stderr)
		}
	}
	kubectl(t, "-n", "policy-cluster", "label", "manifestwork", "addon", "x=z") // the policy is not for other clients
	kubectl(t, "delete", "clusterrolebinding", "policy-argocd")
	kubectl(t, "delete", "-f", rendered("hub", "policy.yaml"), "-f", rendered("hub", "rights.yaml"))
	kubectl(t, "delete", "namespace", "policy-cluster", "--wait", "--timeout=2m")
}

func writeText(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
