// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/agents"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/gitops"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/guard"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/sign"
)

// Values of --gitopsclusters and --register.
const (
	GitOpsOff      = "off"
	GitOpsRegister = "register"
	GitOpsAgent    = "agent"

	RegisterAll            = "all"
	RegisterGitOpsClusters = "gitopsclusters"
)

// namespaces are the values of --argocd-namespace. The first one that is set replaces
// the default.
type namespaces struct {
	names []string
	set   bool
}

// String implements [flag.Value].
func (n *namespaces) String() string { return strings.Join(n.names, ",") }

// Set implements [flag.Value].
func (n *namespaces) Set(value string) error {
	if !n.set {
		n.names, n.set = nil, true
	}
	for name := range strings.SplitSeq(value, ",") {
		if !slices.Contains(n.names, name) {
			n.names = append(n.names, name)
		}
	}
	return nil
}

// GitOps are the settings of GitOpsClusters.
type GitOps struct {
	Mode       string
	Register   string
	Adopt      bool
	MaxLeaving guard.Limit
	// AgentLifetime and CALifetime are those of certificates.
	AgentLifetime, CALifetime time.Duration
}

func (g *GitOps) bindFlags(fs *flag.FlagSet) {
	g.MaxLeaving = guard.Limit{Percent: 20, Least: 1}
	fs.StringVar(&g.Mode, "gitopsclusters", GitOpsOff, "what propagation does with GitOpsClusters: off (nothing), register (clusters of their Placements are registered with Argo CD) or agent (the same, and argocd-agent is brought to the clusters of those that ask for it)")
	fs.StringVar(&g.Register, "register", RegisterAll, "which clusters are registered with Argo CD: all (every accepted one, in the first --argocd-namespace) or gitopsclusters (those that GitOpsClusters select, nothing else)")
	fs.BoolVar(&g.Adopt, "gitopsclusters-adopt", false, "reconcile GitOpsClusters even while their CustomResourceDefinition is another project's; safe only where that project's controller does not run")
	fs.Var(&g.MaxLeaving.Percent, "max-leaving", "how many `percent` of a GitOpsCluster's clusters, one at least, may leave it at a time; when more would, none leaves until its annotation apps.open-cluster-management.io/confirm-leaving allows that number")
	fs.DurationVar(&g.AgentLifetime, "agent-certificate-lifetime", sign.DefaultLifetime, "how long the client certificate of an agent is valid; at least 1h, since managed clusters look every five minutes whether to renew theirs")
	fs.DurationVar(&g.CALifetime, "ca-lifetime", 5*365*24*time.Hour, "how long a CA of a principal is valid that propagation makes")
}

func (g *GitOps) validate(argocd []string) error {
	var errs []error
	for _, name := range argocd {
		if len(validation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, fmt.Errorf("--argocd-namespace %q: want the name of a namespace", name))
		}
	}
	if g.Mode != GitOpsOff && g.Mode != GitOpsRegister && g.Mode != GitOpsAgent {
		errs = append(errs, fmt.Errorf("--gitopsclusters %q: want %s, %s or %s", g.Mode, GitOpsOff, GitOpsRegister, GitOpsAgent))
	}
	if g.AgentLifetime < time.Hour {
		errs = append(errs, fmt.Errorf("--agent-certificate-lifetime %s: want 1h or more", g.AgentLifetime))
	}
	if g.CALifetime < g.AgentLifetime {
		errs = append(errs, fmt.Errorf("--ca-lifetime %s: want no less than --agent-certificate-lifetime", g.CALifetime))
	}
	if g.Register != RegisterAll && g.Register != RegisterGitOpsClusters {
		errs = append(errs, fmt.Errorf("--register %q: want %s or %s", g.Register, RegisterAll, RegisterGitOpsClusters))
	}
	if g.Mode == GitOpsOff && g.Register == RegisterGitOpsClusters {
		errs = append(errs, fmt.Errorf("--register %s: nothing would be registered with --gitopsclusters=%s; set --gitopsclusters=%s", RegisterGitOpsClusters, GitOpsOff, GitOpsRegister))
	}
	if g.Mode == GitOpsOff && len(argocd) > 1 {
		errs = append(errs, fmt.Errorf("--argocd-namespace %s: more than one is for GitOpsClusters; set --gitopsclusters=%s", strings.Join(argocd, ","), GitOpsRegister))
	}
	return errors.Join(errs...)
}

// gitopsOptions returns what package gitops is to know.
func (c *Command) gitopsOptions() gitops.Options {
	o := gitops.Options{
		Namespaces: c.ArgoCDNamespaces(), Every: c.GitOps.Register == RegisterAll, InstanceLabel: c.InstanceLabel,
		Grace: c.Deliver.BindingGrace, MaxLeaving: c.GitOps.MaxLeaving, Adopt: c.GitOps.Adopt,
	}
	if c.GitOps.Mode == GitOpsAgent {
		o.Agents = &agents.Options{CALife: c.GitOps.CALifetime, Lifetime: c.GitOps.AgentLifetime}
	}
	return o
}
