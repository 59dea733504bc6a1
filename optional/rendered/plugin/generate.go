// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/manifest"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/parameters"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/source"
	"open-cluster-management.io/multicluster-integrations/optional/rendered/internal/wrap"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// platform has the settings of the operator who installs the plugin. Applications cannot change
// them.
type platform struct {
	argocdNamespace string
	secrets         string
	sizeLimit       string
	executor        string
	feedback        string
}

func (p *platform) bindFlags(f *flag.FlagSet) {
	f.StringVar(&p.argocdNamespace, "argocd-namespace", "argocd", "namespace of the hub's Argo CD, which is no cluster's namespace")
	f.StringVar(&p.secrets, "secrets", "refuse", "refuse: an Application with a Secret is refused; allow: its data is stored unencrypted in the hub's ManifestWorks")
	f.StringVar(&p.sizeLimit, "size-limit", "500Ki", "what the manifests of one ManifestWork may hold, as a Kubernetes quantity; not more than --manifestLimit of OCM's webhook")
	f.StringVar(&p.feedback, "feedback", "watch", "watch: agents watch the workloads that they have applied; poll: they look for them every few seconds, for a hub before Open Cluster Management 1.2, which rejects ManifestWorks that request a watch")
	f.StringVar(&p.executor, "executor", "", "NAMESPACE/NAME of the ServiceAccount on the managed cluster whose rights limit what is applied; empty: the work agent's own rights")
}

// options checks the flags and returns the options for the works.
func (p *platform) options() (o wrap.Options, secretsAllowed bool, err error) {
	limit, err := resource.ParseQuantity(p.sizeLimit)
	if err != nil || limit.Value() < 1024 || limit.Value() > 1<<20 {
		return o, false, errors.New("--size-limit: want a quantity from 1Ki to 1Mi, such as 500Ki")
	}
	o.SizeLimit = int(limit.Value())
	if p.secrets != "refuse" && p.secrets != "allow" {
		return o, false, errors.New("--secrets: want refuse or allow")
	}
	if p.feedback != "watch" && p.feedback != "poll" {
		return o, false, errors.New("--feedback: want watch or poll")
	}
	o.Poll = p.feedback == "poll"
	if p.executor != "" {
		namespace, name, ok := contract.SplitKey(p.executor)
		if !ok || len(validation.IsDNS1123Label(namespace))+len(validation.IsDNS1123Subdomain(name)) > 0 {
			return o, false, errors.New("--executor: want NAMESPACE/NAME of a ServiceAccount")
		}
		o.Executor = &workv1.ManifestWorkSubjectServiceAccount{Namespace: namespace, Name: name}
	}
	return o, p.secrets == "allow", nil
}

// generate prints the ManifestWorks, one JSON document a line, or nothing at all.
func generate(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	var p platform
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Argo CD shows one line
	p.bindFlags(flags)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stderr)
		flags.PrintDefaults()
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errors.New(usage)
	}
	o, secretsAllowed, err := p.options()
	if err != nil {
		return err
	}
	s, err := p.application(&o, getenv)
	if err != nil {
		return err
	}
	manifests, err := s.Read(ctx)
	if err != nil {
		return err
	}
	o.Types = manifest.NewTypes(manifests, s.Plurals, s.ClusterScoped)
	if err := manifest.Place(manifests, o.Types, s.Namespace); err != nil {
		return err
	}
	if err := manifest.Check(manifests, secretsAllowed); err != nil {
		return err
	}
	works, err := wrap.Works(manifests, o)
	if err != nil {
		return err
	}
	if len(works) == 0 && !s.AllowEmpty {
		return fmt.Errorf("nothing was rendered from %s: that would remove everything; set parameter allow-empty to \"true\" to mean it", s.Path)
	}
	return write(out, works)
}

// application reads Argo CD's variables about the Application. It returns its source, and sets in o
// its target and its options.
func (p *platform) application(o *wrap.Options, getenv func(string) string) (s source.Source, err error) {
	params, err := parameters.Parse(getenv("ARGOCD_APP_PARAMETERS"))
	if err != nil {
		return s, err
	}
	o.Application, o.Cluster = getenv("ARGOCD_APP_NAME"), getenv("ARGOCD_APP_NAMESPACE")
	if o.Application == "" {
		return s, errors.New("ARGOCD_APP_NAME: want the Application's name: run this by Argo CD's cmp-server")
	}
	if o.Cluster == p.argocdNamespace || len(validation.IsDNS1123Label(o.Cluster)) > 0 {
		return s, errors.New("spec.destination.namespace: want the name of the target ManagedCluster, which is its namespace on the hub")
	}
	o.Shards, o.ShardsBefore, o.WavesBefore = params.Shards, params.ShardsBefore, params.WavesBefore
	if params.CreateNamespace {
		o.CreateNamespace = params.Namespace
	}
	dir, err := os.Getwd()
	return source.Source{Dir: dir, Path: getenv("ARGOCD_APP_SOURCE_PATH"), Application: o.Application, Parameters: params}, err
}

// write prints documents without a separator between them, because the cmp-server takes output that
// begins with a brace for a stream of JSON. Such a stream has no separators.
func write(out io.Writer, works []wrap.Work) error {
	var buffer bytes.Buffer
	for i := range works {
		line, err := json.Marshal(&works[i])
		if err != nil {
			return fmt.Errorf("ManifestWork %s: %w", works[i].Name, err)
		}
		buffer.Write(append(line, '\n'))
	}
	_, err := buffer.WriteTo(out)
	return err
}
