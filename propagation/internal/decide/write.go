// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// How long to wait before another look, by what is waited for. Changes of what is watched
// are seen at once; these are for the rest.
const (
	afterAgent   = 10 * time.Minute // an agent to apply how a work ends; its event comes first
	afterCluster = time.Minute      // what on a cluster keeps a work from its end
	afterMirror  = 10 * time.Second // the hub's status to say what a refresh has found
	afterRefusal = 30 * time.Second // what another Application has
	afterUnseen  = 5 * time.Second  // a work that the cache does not have
)

// want is the ManifestWork that a wish asks for.
type want struct {
	facts *Facts
	app   *argocd.Application
	// current is the work that is to become it, nil for a new one.
	current *Work
	mark    payload.Mark
	// step is the next about the Application's request.
	step request.Plan
	// after is when the request is to be looked at again, 0 for not by the clock.
	after time.Duration
	// doneID is a refresh that is done while the hub's status has not said so.
	doneID string
}

// plan plans the next step of the Application's request.
func (n *want) plan() {
	if payload.Observes(n.app) {
		return // an operation waits until it is delivered
	}
	known, work := n.facts.Request, n.cached()
	n.step = request.PlanFor(n.app, work, known)
	if n.step.Step != request.StepFinish || known.Claim != "" || n.mirrored() {
		return
	}
	// Argo CD's clients take the status for the answer when the refresh is off.
	if n.step.Request.ID != known.Refreshing {
		return
	}
	done := earlier(n.facts.RefreshDone, n.facts.Now)
	if left := afterMirror - n.facts.Now.Sub(done); left > 0 {
		n.doneID, n.after = n.step.Request.ID, left
		n.step = request.Plan{Request: n.step.Request}
	}
}

func (n *want) cached() *manifestcache.Work {
	if n.current == nil {
		return nil
	}
	return n.current.Work
}

// mirrored reports whether the Application's status has the sync status and revision that its
// work reports.
func (n *want) mirrored() bool {
	observed := n.current.Observe(n.current.Cluster.State)
	var is struct {
		Sync struct{ Status, Revision string } `json:"sync"`
	}
	if !observed.Reported || json.Unmarshal(n.app.Status, &is) != nil {
		return !observed.Reported
	}
	return is.Sync.Status == observed.Sync && (is.Sync.Revision == observed.Revision || observed.Revision == "")
}

// inputs are what goes into the work.
func (n *want) inputs(q request.Request) payload.Inputs {
	in := payload.Inputs{
		Application: n.app, CreateNamespace: n.facts.Settings.CreateNamespace, Request: q, Orphan: n.mark.Orphans(), BySet: n.mark == payload.BySet,
		HasAgent: n.facts.HasAgent, InstanceLabel: n.facts.Settings.InstanceLabel,
	}
	if project := n.project(); project != nil {
		in.Project, in.ProjectNamespace = project, payload.ProjectNamespace(n.app, n.facts.Settings.ArgoCDNamespace)
	}
	return in
}

// project returns the AppProject that travels, nil for none.
func (n *want) project() *argocd.AppProject {
	if !n.facts.Settings.DeliverProject || payload.ProjectName(n.app) == argocd.DefaultProject {
		return nil
	}
	return n.facts.Project
}

// Build returns the wanted work with what Inputs have, marked with the Application's UID when
// the name that it keeps does not prove whose it is.
func (w *Write) Build() (*workv1.ManifestWork, error) {
	want, err := payload.ManifestWork(w.Inputs)
	if err != nil {
		return nil, err
	}
	if app := w.Inputs.Application; w.Current != nil && !payload.ProvenByName(app, w.Current.Name) {
		want.Annotations[contract.HubUIDAnnotation] = string(app.UID)
	}
	return want, nil
}

// build builds the wanted work, or refuses what cannot be delivered.
func (n *want) build() (*workv1.ManifestWork, *policy.Decision) {
	built, err := (&Write{Current: n.current, Inputs: n.inputs(n.step.Request)}).Build()
	if err != nil {
		return nil, policy.Refuse(policy.ReasonInvalidSpec, "not delivered: %v; correct it", err)
	}
	return built, tooLarge(payload.Size(built), n.facts.Settings)
}

// omitted returns the size of a spec that the cache does not keep, else 0.
func (n *want) omitted() int { return manifestcache.OmittedSpec(n.app.Spec) }

// tooLarge refuses an Application whose manifests have size bytes, or its spec alone.
func tooLarge(size int, s Settings) *policy.Decision {
	if size <= s.SizeLimit {
		return nil
	}
	return policy.Refuse(policy.ReasonTooLarge,
		"not delivered: the ManifestWork would hold %d bytes of manifests and the limit is %d; make the Application smaller (move inline values into git)", size, s.SizeLimit)
}

// changes reports whether a delivery would write the current work; when another request waits
// only what else is in the work is compared. One that cannot be built would.
func (n *want) changes(another bool) bool {
	q := n.step.Request
	if another {
		q = request.Request{}
	}
	built, err := (&Write{Current: n.current, Inputs: n.inputs(q)}).Build()
	if err != nil {
		return true
	}
	if mark := n.current.Annotations[contract.PausedAnnotation]; mark != "" {
		built.Annotations[contract.PausedAnnotation] = mark
		if _, err := payload.WithoutAutomation(&built.Spec); err != nil {
			return true
		}
	}
	hashes, err := payload.Compare(n.current.Work, built, q)
	if err != nil {
		return true
	}
	same := n.current.Stored.Hash == hashes.Spec
	if another {
		return !same && hashes.Base != payload.CachedBase(n.current.Work)
	}
	patch, err := payload.Patch(n.current.Work, built, !same, hashes.Base)
	return patch != nil || err != nil
}

// notes say what the current work reports of an Application that is observed, or not taken over.
func (n *want) notes() []policy.Message {
	switch n.app.Annotations[contract.ManagementPolicyAnnotation] {
	case payload.ManagementObserve:
		seen := n.observed()
		if len(n.app.Operation) > 0 {
			seen.Text += "; its operation waits until it is delivered"
		}
		return []policy.Message{seen}
	case payload.ManagementNoTakeover:
		return n.alreadyThere()
	}
	return nil
}

// observed says what is known of an Application that is only read.
func (n *want) observed() policy.Message {
	there, cluster := payload.DeliveredName(n.app), n.app.Annotations[contract.ClusterAnnotation]
	m := policy.Message{Reason: policy.ReasonObserved, Text: fmt.Sprintf("not delivered, only observed (annotation %s): ", contract.ManagementPolicyAnnotation)}
	switch work := n.current; {
	case work == nil || work.AppNamespace == "":
		m.Text += fmt.Sprintf("cluster %q has not reported yet whether it has Application %s", cluster, there)
	case work.Extra.Missing:
		return policy.Message{Reason: policy.ReasonNotThere, Text: fmt.Sprintf(
			"not delivered, and there is nothing to observe: cluster %q has no Application %s; create it there, or remove annotation %s to deliver it", cluster, there, contract.ManagementPolicyAnnotation)}
	case len(work.Extra.Values) == 0 && !work.Observe(work.Cluster.State).Reported:
		m.Text += fmt.Sprintf("cluster %q has not reported the state of Application %s yet", cluster, there)
	default:
		changes := strings.Join(payload.Differences(n.app, work.Work), ", ")
		if changes == "" {
			changes = "nothing of source, project and destination namespace"
		}
		m.Text += "delivering would change " + changes + "; remove the annotation to deliver"
	}
	return m
}

// alreadyThere warns that an Application which is not to take over what others have set has met
// such on its cluster.
func (n *want) alreadyThere() []policy.Message {
	if n.current == nil {
		return nil
	}
	why := n.current.Refusal()
	if !strings.Contains(why, "conflict") {
		return nil
	}
	return []policy.Message{{Reason: policy.ReasonAlreadyThere, Text: fmt.Sprintf(
		"not applied: Application %s on cluster %q has another owner, and annotation %s is %s: remove the annotation to take it over, or rename this Application; cluster: %s",
		payload.DeliveredName(n.app), n.current.Namespace, contract.ManagementPolicyAnnotation, payload.ManagementNoTakeover, why)}}
}

// hydrated reports whether the hub's Argo CD hydrates the source of the Application.
func (n *want) hydrated() bool {
	var status struct {
		SourceHydrator json.RawMessage `json:"sourceHydrator"`
	}
	return json.Unmarshal(n.app.Status, &status) == nil && len(status.SourceHydrator) > 0
}

// warnings say what is wrong with a delivery although it is one.
func (n *want) warnings() []policy.Message {
	var found []policy.Message
	add := func(reason, format string, args ...any) {
		found = append(found, policy.Message{Reason: reason, Text: fmt.Sprintf(format, args...)})
	}
	if !argocd.SkipsReconcile(n.app.Annotations) {
		add(policy.ReasonSkipReconcile, "delivered, but the hub's own Argo CD may deploy it too: set annotation %s to \"true\"", argocd.SkipReconcileAnnotation)
	}
	project := n.project()
	if project != nil && payload.WindowEscaped(project.Spec, n.app) {
		name, server := payload.Destination(n.app.Annotations)
		add(policy.ReasonWindow, "delivered, but a sync window of AppProject %q that is about cluster %q is not about destination %s, which an annotation names, and has no effect there: add the destination to the clusters of the window",
			project.Name, n.app.Annotations[contract.ClusterAnnotation], name+server)
	}
	if project != nil {
		if field := policy.SignaturesOf(project.Spec); field != "" && (n.current == nil || !n.current.Compared()) {
			add(policy.ReasonSignatures, "delivered, but AppProject %q demands signed commits (spec.%s), and cluster %q has not compared with one yet: its Argo CD needs the public keys in ConfigMap argocd-gpg-keys-cm, which do not travel",
				project.Name, field, n.app.Annotations[contract.ClusterAnnotation])
		}
	}
	if payload.Hydrates(n.app.Spec) && !n.hydrated() {
		add(policy.ReasonNotHydrated, "delivered with the branch of spec.sourceHydrator.syncSource as its source, but the hub's Argo CD does not hydrate an Application with annotation %s: hydrate the branch by another Application, or in your pipeline", argocd.SkipReconcileAnnotation)
	}
	if windows := n.facts.Default; n.facts.Settings.DeliverProject && windows != nil && payload.ProjectName(n.app) == argocd.DefaultProject && payload.Windowed(windows.Spec, n.app) {
		add(policy.ReasonWindow, "delivered, but AppProject %q is not, so its sync windows have no effect there: choose another project, or set the window on the managed cluster", windows.Name)
	}
	return found
}
