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

// These are the delays until the next decision. Each is named after the event that the decision
// waits for. Changes of watched objects lead to a decision at once, without a delay.
const (
	afterAgent   = 10 * time.Minute // until an agent has applied an ending. Usually its event comes earlier
	afterCluster = time.Minute      // until something on a cluster no longer keeps a work
	afterMirror  = 10 * time.Second // until the hub's status shows the result of a refresh
	afterRefusal = 30 * time.Second // until another Application has changed
	afterUnseen  = 5 * time.Second  // until the cache has a work
)

// desiredWork is the desired ManifestWork of an Application.
type desiredWork struct {
	facts *Facts
	app   *argocd.Application
	// current is the work that is updated, or nil for a new one.
	current *Work
	mark    payload.Mark
	// step is the next step of the Application's request.
	step request.Plan
	// after is the delay until the request is checked again, or 0.
	after time.Duration
	// doneID is a refresh that is done, but not in the hub's status yet.
	doneID string
}

// plan plans the next step of the Application's request.
func (n *desiredWork) plan() {
	if payload.Observes(n.app) {
		return // an operation waits until the Application is delivered
	}
	known, work := n.facts.Request, n.cached()
	n.step = request.PlanFor(n.app, work, known)
	if n.step.Step != request.StepFinish || known.Claim != "" || n.mirrored() {
		return
	}
	// Clients of Argo CD read the result from the status once the refresh is removed.
	if n.step.Request.ID != known.Refreshing {
		return
	}
	done := earlier(n.facts.RefreshDone, n.facts.Now)
	if left := afterMirror - n.facts.Now.Sub(done); left > 0 {
		n.doneID, n.after = n.step.Request.ID, left
		n.step = request.Plan{Request: n.step.Request}
	}
}

func (n *desiredWork) cached() *manifestcache.Work {
	if n.current == nil {
		return nil
	}
	return n.current.Work
}

// mirrored reports whether the Application's status has the sync status and revision that its
// work reports.
func (n *desiredWork) mirrored() bool {
	observed := n.current.Observe(n.current.Cluster.State)
	var is struct {
		Sync struct{ Status, Revision string } `json:"sync"`
	}
	if !observed.Reported || json.Unmarshal(n.app.Status, &is) != nil {
		return !observed.Reported
	}
	return is.Sync.Status == observed.Sync && (is.Sync.Revision == observed.Revision || observed.Revision == "")
}

// inputs returns the content of the work.
func (n *desiredWork) inputs(q request.Request) payload.Inputs {
	in := payload.Inputs{
		Application: n.app, CreateNamespace: n.facts.Settings.CreateNamespace, Request: q, Orphan: n.mark.Orphans(), BySet: n.mark == payload.BySet,
		HasAgent: n.facts.HasAgent, InstanceLabel: n.facts.Settings.InstanceLabel,
	}
	if project := n.project(); project != nil {
		in.Project, in.ProjectNamespace = project, payload.ProjectNamespace(n.app, n.facts.Settings.ArgoCDNamespace)
	}
	return in
}

// project returns the AppProject to deliver, or nil.
func (n *desiredWork) project() *argocd.AppProject {
	if !n.facts.Settings.DeliverProject || payload.ProjectName(n.app) == argocd.DefaultProject {
		return nil
	}
	return n.facts.Project
}

// Build returns the desired work with the content of Inputs. If the work keeps a name that does not
// prove its owner, Build adds the Application's UID.
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

// build returns the desired work, or why the Application cannot be delivered.
func (n *desiredWork) build() (*workv1.ManifestWork, *policy.Decision) {
	built, err := (&Write{Current: n.current, Inputs: n.inputs(n.step.Request)}).Build()
	if err != nil {
		return nil, policy.Refuse(policy.ReasonInvalidSpec, "not delivered: %v; correct it", err)
	}
	return built, tooLarge(payload.Size(&built.Spec), n.facts.Settings)
}

// omitted returns the size of the spec or operation that the cache does not keep, or 0.
func omitted(app *argocd.Application) int {
	return max(manifestcache.Omitted(app.Spec), manifestcache.Omitted(app.Operation))
}

// tooLarge refuses an Application if size, the bytes of its manifests or of a part of it, exceeds
// the limit. A part of the limit stays free for the ending, and for an AppProject that grows. So no
// tenant can prevent either by the size of an Application.
func tooLarge(size int, s Settings) *policy.Decision {
	limit := s.SizeLimit - s.SizeLimit/freeShare
	if size <= limit {
		return nil
	}
	return policy.Refuse(policy.ReasonTooLarge,
		"not delivered: the ManifestWork would hold %d bytes of manifests and the limit is %d; make the Application smaller (move inline values into git)", size, limit)
}

// freeShare is the part of the limit that stays free, one of so many: 16,000 bytes of 512,000.
const freeShare = 32

// changes reports whether a delivery would write the current work. If another request waits, only
// the rest of the work is compared. A work that cannot be built counts as a change.
func (n *desiredWork) changes(another bool) bool {
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

// notes reports what the current work shows about an Application that is observed or not taken
// over.
func (n *desiredWork) notes() []policy.Message {
	switch n.app.Annotations[contract.ManagementPolicyAnnotation] {
	case payload.ManagementObserve:
		seen := n.observed()
		if len(n.app.Operation) > 0 {
			seen.Text += "; its operation waits until it is delivered"
		}
		return []policy.Message{seen}
	case payload.ManagementNoTakeover:
		return n.foreignFields()
	}
	return nil
}

// observed reports the state of an Application that is only observed.
func (n *desiredWork) observed() policy.Message {
	existing, cluster := payload.DeliveredName(n.app), n.app.Annotations[contract.ClusterAnnotation]
	m := policy.Message{Reason: policy.ReasonObserved, Text: fmt.Sprintf("not delivered, only observed (annotation %s): ", contract.ManagementPolicyAnnotation)}
	switch work := n.current; {
	case work == nil || work.AppNamespace == "":
		m.Text += fmt.Sprintf("cluster %q has not reported yet whether it has Application %s", cluster, existing)
	case work.Extra.Missing:
		return policy.Message{Reason: policy.ReasonNotThere, Text: fmt.Sprintf(
			"not delivered, and there is nothing to observe: cluster %q has no Application %s; create it there, or remove annotation %s to deliver it", cluster, existing, contract.ManagementPolicyAnnotation)}
	case len(work.Extra.Values) == 0 && !work.Observe(work.Cluster.State).Reported:
		m.Text += fmt.Sprintf("cluster %q has not reported the state of Application %s yet", cluster, existing)
	default:
		changes := strings.Join(payload.Differences(n.app, work.Work), ", ")
		if changes == "" {
			changes = "nothing of source, project and destination namespace"
		}
		m.Text += "delivering would change " + changes + "; remove the annotation to deliver"
	}
	return m
}

// foreignFields warns about fields that other managers have set on the cluster, if the Application
// must not take them over.
func (n *desiredWork) foreignFields() []policy.Message {
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
func (n *desiredWork) hydrated() bool {
	var status struct {
		SourceHydrator json.RawMessage `json:"sourceHydrator"`
	}
	return json.Unmarshal(n.app.Status, &status) == nil && len(status.SourceHydrator) > 0
}

// warnings report problems that do not prevent the delivery.
func (n *desiredWork) warnings() []policy.Message {
	var found []policy.Message
	add := func(reason, format string, args ...any) {
		found = append(found, policy.Message{Reason: reason, Text: fmt.Sprintf(format, args...)})
	}
	if !argocd.SkipsReconcile(n.app.Annotations) {
		add(policy.ReasonSkipReconcile, "delivered, but the hub's own Argo CD may deploy it too: set annotation %s to \"true\", in the template of its ApplicationSet if it has one", argocd.SkipReconcileAnnotation)
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
