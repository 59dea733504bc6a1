// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/argocd/delivery"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/intent"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// withArgoCD has a GitOpsCluster bring Argo CD, one cluster at a time.
func withArgoCD(o *v1beta1.GitOpsCluster) {
	o.Spec.ArgoCD = &v1beta1.ArgoCDSpec{Install: argocd.InstallManifests}
}

// argoCDFleet is a fleet whose GitOpsClusters are in Argo CD's namespace.
func argoCDFleet(t *testing.T, clusters int) (*fleet, []string) {
	t.Helper()
	f := newFleet(t)
	f.options.ArgoCD = true
	f.team = f.argocd
	names := f.clusters(clusters)
	slices.Sort(names)
	for _, name := range names {
		f.available(name)
	}
	f.placement("all", names...)
	return f, names
}

// workOn waits until the work of a cluster passes.
func (f *fleet) workOn(cluster, what string, check func(*workv1.ManifestWork) bool) *workv1.ManifestWork {
	f.t.Helper()
	w := &workv1.ManifestWork{}
	testkit.Eventually(f.t, "the work of "+cluster+": "+what, func() error {
		if err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: argocd.WorkName}, w); err != nil {
			return err
		}
		if !check(w) {
			return fmt.Errorf("annotations %v, deletion %v", w.Annotations, w.DeletionTimestamp)
		}
		return nil
	})
	return w
}

func looks(w *workv1.ManifestWork) bool    { return w.Annotations[argocd.DigestAnnotation] == "" }
func delivers(w *workv1.ManifestWork) bool { return !looks(w) }

// agentReports plays the work agent, which also holds the work as the real one does.
func (f *fleet) agentReports(w *workv1.ManifestWork, applied metav1.ConditionStatus, of func(workv1.ResourceIdentifier) workv1.ManifestCondition) {
	f.t.Helper()
	testkit.Edit(f.t, hub.client, w, func(w *workv1.ManifestWork) { w.Finalizers = []string{workv1.ManifestWorkFinalizer} })
	testkit.EditStatus(f.t, hub.client, w, func(w *workv1.ManifestWork) {
		now := metav1.Now()
		w.Status.Conditions = []metav1.Condition{{Type: workv1.WorkApplied, Status: applied, Reason: "x", Message: "as the agent says", ObservedGeneration: w.Generation, LastTransitionTime: now}}
		w.Status.ResourceStatus.Manifests = nil
		for _, c := range w.Spec.ManifestConfigs {
			id := c.ResourceIdentifier
			m := of(id)
			m.ResourceMeta = workv1.ManifestResourceMeta{Group: id.Group, Resource: id.Resource, Namespace: id.Namespace, Name: id.Name}
			for i := range m.Conditions {
				m.Conditions[i].LastTransitionTime = now
			}
			if m.Conditions == nil {
				m.Conditions = []metav1.Condition{}
			}
			w.Status.ResourceStatus.Manifests = append(w.Status.ResourceStatus.Manifests, m)
		}
	})
}

// finds has a look find an Argo CD, or none.
func (f *fleet) finds(cluster string, there bool) {
	f.t.Helper()
	w := f.workOn(cluster, "it looks", looks)
	f.agentReports(w, metav1.ConditionTrue, func(workv1.ResourceIdentifier) workv1.ManifestCondition {
		is, reason := metav1.ConditionFalse, "ResourceNotAvailable"
		if there {
			is, reason = metav1.ConditionTrue, "ResourceAvailable"
		}
		return workv1.ManifestCondition{Conditions: []metav1.Condition{{Type: workv1.ManifestAvailable, Status: is, Reason: reason}}}
	})
}

// runs has what is delivered run.
func (f *fleet) runs(w *workv1.ManifestWork) {
	f.t.Helper()
	one, digest := int64(1), w.Annotations[argocd.DigestAnnotation]
	f.agentReports(w, metav1.ConditionTrue, func(workv1.ResourceIdentifier) workv1.ManifestCondition {
		m := workv1.ManifestCondition{}
		m.StatusFeedbacks.Values = []workv1.FeedbackValue{{Name: "digest", Value: workv1.FieldValue{Type: workv1.String, String: &digest}}}
		for _, name := range []string{"readyReplicas", "updatedReplicas", "replicas", "observedGeneration", "generation"} {
			m.StatusFeedbacks.Values = append(m.StatusFeedbacks.Values, workv1.FeedbackValue{Name: name, Value: workv1.FieldValue{Type: workv1.Integer, Integer: &one}})
		}
		return m
	})
}

// agentReleases plays the work agent that has removed what was delivered.
func (f *fleet) agentReleases(cluster string) {
	f.t.Helper()
	w := f.workOn(cluster, "it goes", func(w *workv1.ManifestWork) bool { return !w.DeletionTimestamp.IsZero() })
	testkit.Edit(f.t, hub.client, w, func(w *workv1.ManifestWork) { w.Finalizers = nil })
	f.noWork(cluster)
}

func (f *fleet) noWork(cluster string) {
	f.t.Helper()
	testkit.Eventually(f.t, "no work of "+cluster, func() error {
		err := hub.client.Get(context.Background(), client.ObjectKey{Namespace: cluster, Name: argocd.WorkName}, &workv1.ManifestWork{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}

// Clusters get Argo CD one after the other; an upgrade that does not run on the first of them
// stops there, and goes on with a better one; withdrawn, it is asked for again.
func TestArgoCD_isDeliveredUpgradedAndWithdrawnInSteps(t *testing.T) {
	f, clusters := argoCDFleet(t, 3)
	f.start()
	o := f.gitops("fleet", "all", withArgoCD)
	for _, c := range clusters {
		f.finds(c, false)
	}
	for i, c := range clusters {
		w := f.workOn(c, "it delivers", delivers)
		for _, later := range clusters[i+1:] {
			if got := f.workOn(later, "it is there", func(*workv1.ManifestWork) bool { return true }); delivers(got) {
				t.Errorf("%s gets Argo CD beside %s", later, c)
			}
		}
		f.says(o, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonDelivering)
		f.runs(w)
	}
	at := f.ready(o, 3)
	if s := at.Status.ArgoCD; s == nil || s.Ready != 3 || s.Version != argocd.Version() {
		t.Errorf("status.argoCD is %+v", s)
	}

	change := func(image string) {
		testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.Image = image })
	}
	first := f.workOn(clusters[0], "it delivers", delivers).Annotations[argocd.DigestAnnotation]
	change("example.com/argocd:broken")
	w := f.workOn(clusters[0], "it delivers the new one", func(w *workv1.ManifestWork) bool {
		return delivers(w) && w.Annotations[argocd.DigestAnnotation] != first
	})
	f.agentReports(w, metav1.ConditionFalse, func(workv1.ResourceIdentifier) workv1.ManifestCondition { return workv1.ManifestCondition{} })
	stopped := f.says(o, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonRolloutStopped)
	if c := stopped.Status.Message; !strings.Contains(c, clusters[0]) || !strings.Contains(c, "as the agent says") || !strings.Contains(c, "2 wait") {
		t.Errorf("it says %s", c)
	}
	for _, c := range clusters[1:] {
		if w := f.workOn(c, "it delivers", delivers); w.Annotations[argocd.DigestAnnotation] != first {
			t.Errorf("%s was upgraded after %s had failed", c, clusters[0])
		}
	}
	change("example.com/argocd:mended")
	broken := w.Annotations[argocd.DigestAnnotation]
	for _, c := range clusters {
		f.runs(f.workOn(c, "it delivers the third", func(w *workv1.ManifestWork) bool {
			d := w.Annotations[argocd.DigestAnnotation]
			return d != first && d != broken
		}))
	}
	f.ready(o, 3)

	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD = nil })
	f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonArgoCDLeaving)
	for _, c := range clusters {
		f.agentReleases(c)
	}
	if at := f.ready(o, 3); at.Status.ArgoCD != nil {
		t.Errorf("status.argoCD is %+v", at.Status.ArgoCD)
	}
	testkit.Edit(t, hub.client, o, withArgoCD)
	f.finds(clusters[0], false)
	f.workOn(clusters[0], "it delivers again", delivers)
}

// An Argo CD that a cluster has stays as it is, until the spec says otherwise. It stops none of
// the others.
func TestArgoCD_isNotTakenOver(t *testing.T) {
	f, clusters := argoCDFleet(t, 2)
	f.start()
	o := f.gitops("fleet", "all", withArgoCD)
	f.finds(clusters[0], true)
	f.finds(clusters[1], false)
	f.runs(f.workOn(clusters[1], "it delivers", delivers))
	at := f.says(o, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonAlreadyThere)
	if !strings.Contains(at.Status.Message, "spec.argoCD.takeOver") {
		t.Errorf("it says %s", at.Status.Message)
	}
	if w := f.workOn(clusters[0], "it is there", func(*workv1.ManifestWork) bool { return true }); delivers(w) {
		t.Error("it is delivered all the same")
	}
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.TakeOver = true })
	f.workOn(clusters[0], "it takes over", delivers)
}

// Argo CD stays while Applications are delivered to its cluster, and a deleted GitOpsCluster
// with it, unless it is abandoned.
func TestArgoCD_staysWhileApplicationsNeedIt(t *testing.T) {
	f, clusters := argoCDFleet(t, 1)
	f.start()
	o := f.gitops("fleet", "all", withArgoCD)
	f.finds(clusters[0], false)
	f.runs(f.workOn(clusters[0], "it delivers", delivers))
	f.ready(o, 1)
	application := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: clusters[0], Name: "guestbook", Labels: map[string]string{contract.PullLabel: "true"}}}
	f.create(application)
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the status to say what is in the way", func() error {
		at := f.says(o, v1beta1.ConditionLeaving, metav1.ConditionTrue, intent.ReasonArgoCDLeaving)
		if !strings.Contains(at.Status.Conditions[len(at.Status.Conditions)-2].Message, "1 Applications are delivered there by pull") {
			return fmt.Errorf("%+v", at.Status.Conditions)
		}
		return nil
	})
	if w := f.workOn(clusters[0], "it is there", delivers); !w.DeletionTimestamp.IsZero() {
		t.Error("Argo CD went before the Application")
	}
	f.registered()
	if err := hub.client.Delete(context.Background(), application); err != nil {
		t.Fatal(err)
	}
	f.agentReleases(clusters[0])
	f.gone(o)
}

func TestArgoCD_abandonedWaitsForNothing(t *testing.T) {
	f, clusters := argoCDFleet(t, 1)
	f.start()
	o := f.gitops("fleet", "all", withArgoCD)
	f.finds(clusters[0], false)
	f.runs(f.workOn(clusters[0], "it delivers", delivers))
	f.ready(o, 1)
	f.create(&workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Namespace: clusters[0], Name: "guestbook", Labels: map[string]string{contract.PullLabel: "true"}}})
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) {
		o.Annotations = map[string]string{contract.DeletionPolicyAnnotation: "abandon"}
	})
	if err := hub.client.Delete(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	f.gone(o)
	f.workOn(clusters[0], "its agent is to remove it", func(w *workv1.ManifestWork) bool { return !w.DeletionTimestamp.IsZero() })
}

// A cluster that is away takes no place, and gets what is wanted when it is back; one that its
// Placement loses keeps Argo CD for the grace period. A restart changes nothing.
func TestArgoCD_ofClustersThatAreAway(t *testing.T) {
	f, clusters := argoCDFleet(t, 2)
	f.options.Grace = time.Hour
	_, stop := f.start()
	o := f.gitops("fleet", "all", withArgoCD)
	f.finds(clusters[0], false)
	f.finds(clusters[1], false)
	f.runs(f.workOn(clusters[0], "it delivers", delivers))
	f.runs(f.workOn(clusters[1], "it delivers", delivers))
	f.ready(o, 2)
	stop()
	record, _ := f.start()
	f.availability(clusters[0], metav1.ConditionUnknown)
	before := f.workOn(clusters[0], "it delivers", delivers)
	testkit.Edit(t, hub.client, o, func(o *v1beta1.GitOpsCluster) { o.Spec.ArgoCD.Image = "example.com/argocd:2" })
	f.runs(f.workOn(clusters[1], "it delivers the new one", func(w *workv1.ManifestWork) bool {
		return w.Annotations[argocd.DigestAnnotation] != before.Annotations[argocd.DigestAnnotation]
	}))
	f.says(o, v1beta1.ConditionArgoCDDeployed, metav1.ConditionFalse, delivery.ReasonUnavailable)
	for _, write := range record.written() {
		if strings.Contains(write, "manifestworks "+clusters[0]) {
			t.Errorf("after the restart, with the cluster away: %s", write)
		}
	}
	f.availability(clusters[0], metav1.ConditionTrue)
	f.runs(f.workOn(clusters[0], "it delivers the new one", func(w *workv1.ManifestWork) bool {
		return w.Annotations[argocd.DigestAnnotation] != before.Annotations[argocd.DigestAnnotation]
	}))
	f.ready(o, 2)
}

// Who may write GitOpsClusters elsewhere gets no Argo CD onto clusters: it may do everything there.
func TestArgoCD_onlyInTheNamespaceOfTheHubs(t *testing.T) {
	f := newFleet(t)
	f.options.ArgoCD = true
	cluster := f.clusters(1)[0]
	f.available(cluster)
	f.placement("all", cluster)
	f.start()
	at := f.ready(f.gitops("fleet", "all", withArgoCD), 1)
	if c := at.Status.Conditions[0]; c.Reason != intent.ReasonSomeFieldsUnused || !strings.Contains(c.Message, "spec.argoCD") {
		t.Errorf("%+v", c)
	}
	f.noWork(cluster)
}
