// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/gitops"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

// Plan is "gitopscluster plan": it prints the writes that gitopscluster would make for
// GitOpsClusters in a file, and writes nothing. It returns the exit code: 2 for a wrong command
// line, 1 if a GitOpsCluster cannot be read or would not be accepted.
func Plan(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := New()
	fs := flag.NewFlagSet("gitopscluster plan", flag.ContinueOnError)
	fs.SetOutput(stderr)
	file := fs.String("f", "", "file with GitOpsClusters, which need not be on the hub; - is standard input")
	kubeconfig := fs.String("kubeconfig", "", "kubeconfig of the hub; empty: as kubectl finds it")
	c.BindFlags(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := c.Validate(); err != nil || *file == "" || fs.NArg() > 0 {
		_, _ = fmt.Fprintln(stderr, "usage: gitopscluster plan -f FILE [flags]", err)
		return 2
	}
	if err := c.plan(ctx, *file, *kubeconfig, stdin, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "gitopscluster plan: %v\n", err)
		return 1
	}
	return 0
}

func (c *Command) plan(ctx context.Context, file, kubeconfig string, stdin io.Reader, stdout io.Writer) error {
	objects, err := readGitOpsClusters(file, stdin)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	config, err := boot.Config(kubeconfig, Program())
	if err != nil {
		return err
	}
	hub, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	var failed error
	for _, o := range objects {
		if err := known(ctx, hub, o); err != nil {
			return err
		}
		status, err := gitops.Preview(ctx, hub, o, c.options())
		if err != nil {
			return fmt.Errorf("plan GitOpsCluster %s/%s: %w", o.Namespace, o.Name, err)
		}
		failed = errors.Join(failed, printPlan(stdout, o, &status))
	}
	return failed
}

// readGitOpsClusters reads a file strictly: an unknown field is a typo.
func readGitOpsClusters(file string, stdin io.Reader) ([]*v1beta1.GitOpsCluster, error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }()
		from = opened
	}
	var list []*v1beta1.GitOpsCluster
	for reader := utilyaml.NewDocumentDecoder(io.NopCloser(from)); ; {
		text := make([]byte, 1<<20)
		n, err := reader.Read(text)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		o := &v1beta1.GitOpsCluster{}
		if err := yaml.UnmarshalStrict(text[:n], o); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if group := o.GroupVersionKind().Group; o.Kind == "" && group == "" {
			continue // a comment between two lines
		} else if o.Kind != v1beta1.Kind || group != v1beta1.GroupVersion.Group {
			return nil, fmt.Errorf("read %s: %s is not a GitOpsCluster; give only GitOpsClusters", file, o.Kind)
		}
		if o.Namespace == "" || o.Name == "" {
			return nil, fmt.Errorf("read %s: a GitOpsCluster has no metadata.namespace or no metadata.name; set both", file)
		}
		list = append(list, o)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("read %s: there is no GitOpsCluster in it", file)
	}
	return list, nil
}

// known copies the fields of an existing GitOpsCluster that only the hub has.
func known(ctx context.Context, hub client.Reader, o *v1beta1.GitOpsCluster) error {
	is := &v1beta1.GitOpsCluster{}
	err := hub.Get(ctx, client.ObjectKeyFromObject(o), is)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("get GitOpsCluster %s/%s: %w", o.Namespace, o.Name, err)
	}
	o.CreationTimestamp, o.DeletionTimestamp, o.Finalizers = metav1.Now(), nil, nil
	if err == nil {
		o.CreationTimestamp, o.DeletionTimestamp, o.Finalizers = is.CreationTimestamp, is.DeletionTimestamp, is.Finalizers
	}
	return nil
}

func printPlan(out io.Writer, o *v1beta1.GitOpsCluster, status *v1beta1.GitOpsClusterStatus) error {
	_, _ = fmt.Fprintf(out, "GitOpsCluster %s/%s: %d clusters selected, %d writes\n", o.Namespace, o.Name, status.Clusters.Selected, status.Planned)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range status.Plan {
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s/%s\t%s\n", p.Verb, p.Kind, p.Namespace, p.Name, p.Why)
	}
	if left := status.Planned - len(status.Plan); left > 0 {
		_, _ = fmt.Fprintf(table, "  and %d more\n", left)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, c := range status.Conditions {
		if c.Type == v1beta1.ConditionReady || c.Type == v1beta1.ConditionClustersRegistered || c.Status == metav1.ConditionTrue && c.Reason == "AsExpected" {
			continue
		}
		_, _ = fmt.Fprintf(out, "  %s %s, %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	if c := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionSpecAccepted); c.Status != metav1.ConditionTrue {
		return fmt.Errorf("GitOpsCluster %s/%s would not be accepted", o.Namespace, o.Name)
	}
	return nil
}
