// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// sourceUIDAnnotation is on each copy of an object that argocd-agent has made on a cluster.
const sourceUIDAnnotation = "argocd.argoproj.io/source-uid"

// DefaultProject is the AppProject that each Argo CD has.
const DefaultProject = "default"

const (
	// maxNamed is the number of objects that a report names.
	maxNamed = 5
	// unsyncedAfter is the time that a cluster's Argo CD may need to compare a new Application.
	unsyncedAfter = 10 * time.Minute
)

// Clusters are the clusters with and without an agent.
type Clusters struct {
	// Agents have an agent or will have one. Managed are those with a managed agent.
	Agents, Managed map[string]bool
	// Foreign are registered by a Secret of another writer, so that it is unknown who serves them.
	Foreign map[string]bool
}

// Named are objects by number and, the first of them, by name.
type Named struct {
	Count int
	First []string
}

func (n *Named) add(name string) {
	if n.Count++; len(n.First) < maxNamed {
		n.First = append(n.First, name)
	}
}

// Report lists the problems that agents cause.
type Report struct {
	// Orphaned are Applications that name a cluster without agent, so that their status and their
	// finalizer stay. They are also AppProjects of an agent that was removed.
	Orphaned Named
	// Overwritten are AppProjects of pulled Applications alone that agents overwrite on the
	// clusters. Shared are overwritten AppProjects that Applications of agents use as well.
	Overwritten, Shared Named
	// Unsynced are Applications outside Argo CD's namespace that the cluster's Argo CD has never compared.
	Unsynced Named
}

// Empty reports whether nothing is wrong.
func (r Report) Empty() bool {
	return r.Orphaned.Count+r.Overwritten.Count+r.Shared.Count+r.Unsynced.Count == 0
}

// destination is one of an Application or an AppProject.
type destination struct {
	Name   string `json:"name"`
	Server string `json:"server"`
}

// cluster returns the cluster of a destination, by its name or by the URL of the resource proxy.
func (d destination) cluster() string {
	if d.Name != "" || d.Server == "" {
		return d.Name
	}
	u, err := url.Parse(d.Server)
	if err != nil {
		return ""
	}
	return u.Query().Get("agentName")
}

// project is an AppProject that is sent to agents.
type project struct {
	name           string
	destinations   []destination
	pulled, agents bool
}

// matches reports whether the principal sends a project to an agent, as argocd-agent
// v0.9.0 decides with destination mapping.
func (p *project) matches(agent string) (found bool) {
	for _, d := range p.destinations {
		if denied, is := strings.CutPrefix(d.Name, "!"); is && match(denied, agent) {
			return false
		}
		found = found || d.Name == "" && d.Server == "*" || match(d.cluster(), agent)
	}
	return found
}

func match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// evaluation collects the content of a report.
type evaluation struct {
	clusters Clusters
	projects map[string]*project
	report   Report
	// namespace is the namespace of Argo CD.
	namespace string
	now       time.Time
}

// addProject adds an AppProject of Argo CD's namespace.
func (e *evaluation) addProject(o *argocd.AppProject) {
	var spec struct {
		Destinations     []destination `json:"destinations"`
		SourceNamespaces []string      `json:"sourceNamespaces"`
	}
	if json.Unmarshal(o.Spec, &spec) != nil {
		return // Argo CD refuses it, too
	}
	if o.Annotations[sourceUIDAnnotation] != "" { // an autonomous agent's
		if s := spec.SourceNamespaces; len(s) == 1 && strings.HasPrefix(o.Name, s[0]+"-") && !e.clusters.Agents[s[0]] {
			e.report.Orphaned.add("AppProject " + o.Namespace + "/" + o.Name)
		}
		return
	}
	p := &project{name: o.Name, destinations: spec.Destinations}
	if o.Labels[argocd.IgnoreSyncLabel] == "true" {
		return
	}
	for agent := range e.clusters.Managed {
		if p.matches(agent) {
			e.projects[o.Name] = p
			return
		}
	}
}

// addApplication adds an Application that is not pulled.
func (e *evaluation) addApplication(o *argocd.Application) {
	var spec struct {
		Project     string      `json:"project"`
		Destination destination `json:"destination"`
	}
	if json.Unmarshal(o.Spec, &spec) != nil {
		return
	}
	cluster := spec.Destination.cluster()
	switch {
	case cluster == "" || cluster == "in-cluster" || e.clusters.Foreign[cluster]:
	case !e.clusters.Agents[cluster]:
		e.report.Orphaned.add("Application " + o.Namespace + "/" + o.Name + " (cluster " + cluster + ")")
	default:
		if p := e.projects[spec.Project]; p != nil {
			p.agents = true
		}
		if e.clusters.Managed[cluster] && e.unsynced(o) {
			e.report.Unsynced.add(o.Namespace + "/" + o.Name + " (cluster " + cluster + ")")
		}
	}
}

// unsynced reports whether an Application outside Argo CD's namespace is on its cluster for certain, and
// was not compared.
func (e *evaluation) unsynced(o *argocd.Application) bool {
	if o.Namespace == e.namespace || e.now.Before(o.CreationTimestamp.Add(unsyncedAfter)) {
		return false
	}
	var status struct {
		Sync json.RawMessage `json:"sync"`
	}
	return len(o.Status) == 0 || json.Unmarshal(o.Status, &status) == nil && len(status.Sync) == 0
}

// addPulled adds a pulled Application. It returns false once no further one changes the report.
func (e *evaluation) addPulled(o *argocd.Application) (more bool) {
	var spec struct {
		Project string `json:"project"`
	}
	cluster := o.Annotations[contract.ClusterAnnotation]
	if json.Unmarshal(o.Spec, &spec) == nil && e.clusters.Managed[cluster] {
		if p := e.projects[spec.Project]; p != nil && p.matches(cluster) {
			p.pulled = true
		}
	}
	return e.open()
}

// open reports whether it is unknown for a project whether pulled Applications use it.
func (e *evaluation) open() bool {
	for _, p := range e.projects {
		if !p.pulled {
			return true
		}
	}
	return false
}

// finish returns the report.
func (e *evaluation) finish() Report {
	names := make([]string, 0, len(e.projects))
	for name := range e.projects {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch p := e.projects[name]; {
		case p.pulled && p.agents:
			e.report.Shared.add(name)
		case p.pulled:
			e.report.Overwritten.add(name)
		}
	}
	return e.report
}
