// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

func written(s agent.State) bool   { return s.Reason == agent.ReasonWorkNotApplied }
func connected(s agent.State) bool { return s.Connected && s.WaitingFor == "" }

// connect acts as a cluster until its agent is connected with a certificate.
func (r *rig) connect(pem []byte) {
	r.t.Helper()
	r.await("the work", written)
	r.apply(agent.WorkName, pem, false)
	testkit.Eventually(r.t, "the agent to be restarted with its certificate", func() error {
		if name := r.work().Annotations[agent.ClientCertificateAnnotation]; len(name) != 64 {
			return fmt.Errorf("the certificate is called %q", name)
		}
		return nil
	})
	r.apply(agent.WorkName, pem, true)
	r.await("the connection", connected)
}

func TestEnsure_createsAddOnAndWork(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	a := r.addOn()
	want := addonv1alpha1.ManagedClusterAddOnStatus{Namespace: "argocd", HealthCheck: agent.HealthCheck(), Registrations: agent.Registrations(*r.wanted)}
	got := a.Status.DeepCopy()
	got.Conditions = nil
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("the add-on's status (-want +got):\n%s", diff)
	}
	if !agent.IsOurs(a) || a.Annotations[agent.OwnerAnnotation] != "argocd/fleet" || agent.InstallNamespace(a) != "argocd" {
		t.Errorf("the add-on is %+v", a.ObjectMeta)
	}
	r.connect(certificate(t, r.name, "g1"))
	state := r.await("the connection", connected)
	if !state.WorkApplied || !state.Deployed || !state.ClientCertificate {
		t.Errorf("the state is %+v", state)
	}
	testkit.Eventually(t, "the add-on to be available", func() error {
		if c := meta.FindStatusCondition(r.addOn().Status.Conditions, "Available"); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	})
}

// A dry run returns the writes of a real run, and writes nothing.
func TestPlan(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	plan := func(change func(*agent.Desired)) (verbs []string) {
		w := *r.wanted
		change(&w)
		before := r.writes.Load()
		_, writes, err := r.fleet.Plan(context.Background(), w)
		if err != nil || r.writes.Load() != before {
			t.Fatalf("%d writes, %v", r.writes.Load()-before, err)
		}
		for _, p := range writes {
			verbs = append(verbs, p.Verb+" "+p.Kind+" "+p.Namespace+"/"+p.Name)
		}
		return verbs
	}
	const work, addOn = "ManifestWork %s/mci-argocd-agent", "ManagedClusterAddOn %s/mci-argocd-agent"
	for name, c := range map[string]struct {
		change func(*agent.Desired)
		want   []string
	}{
		"nothing":    {func(*agent.Desired) {}, nil},
		"image":      {func(w *agent.Desired) { w.Image = "other" }, []string{fmt.Sprintf("patch "+work, r.name)}},
		"generation": {func(w *agent.Desired) { w.Generation = 9 }, []string{fmt.Sprintf("patch "+addOn, r.name)}},
		"new":        {func(w *agent.Desired) { w.Cluster = "elsewhere" }, []string{"create ManagedClusterAddOn elsewhere/mci-argocd-agent", "create ManifestWork elsewhere/mci-argocd-agent"}},
	} {
		if got := plan(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: the plan is %q, want %q", name, got, c.want)
		}
	}
}

// The registration agent's condition in the add-on's status stays. A restarted controller writes nothing to
// a hub that is up to date.
func TestRestart_writesNothing(t *testing.T) {
	r := newRig(t)
	r.connect(certificate(t, r.name, "g1"))
	testkit.EditStatus(t, hub.client, r.addOn(), func(a *addonv1alpha1.ManagedClusterAddOn) {
		meta.SetStatusCondition(&a.Status.Conditions, condition("ClusterCertificateRotated", metav1.ConditionTrue, "Rotated"))
	})
	testkit.Eventually(t, "the add-on to be available", func() error {
		if !meta.IsStatusConditionTrue(r.addOn().Status.Conditions, "Available") {
			return errors.New("it is not")
		}
		return nil
	})
	r.stop()
	before, work := r.addOn(), r.work()
	r.mu.Lock()
	r.state = agent.State{}
	r.mu.Unlock()
	r.start()
	r.await("the connection after a restart", connected)
	r.nudge()
	if n := r.writes.Load(); n != 0 || r.addOn().ResourceVersion != before.ResourceVersion || r.work().ResourceVersion != work.ResourceVersion {
		t.Errorf("a settled hub was written to %d times", n)
	}
	if meta.FindStatusCondition(r.addOn().Status.Conditions, "ClusterCertificateRotated") == nil {
		t.Error("the registration agent's condition is gone")
	}
}

// A renewed certificate changes the ManifestWork once, so the agent restarts once.
func TestRenewal_restartsTheAgentOnce(t *testing.T) {
	r := newRig(t)
	r.connect(certificate(t, r.name, "g1"))
	generation := r.work().Generation
	r.want(func(w *agent.Desired) { w.Generation = 2 })
	testkit.Eventually(t, "the registration of the next generation", func() error {
		if diff := cmp.Diff(agent.Registrations(*r.wanted), r.addOn().Status.Registrations); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	r.await("the certificate to be missed", func(s agent.State) bool { return s.Connected && s.WaitingFor == agent.WaitsForClientCertificate })
	if g := r.work().Generation; g != generation {
		t.Errorf("the agent was restarted before there was a certificate: generation %d, then %d", generation, g)
	}
	next := certificate(t, r.name, "g2")
	r.apply(agent.WorkName, next, true)
	r.await("the old pod to be replaced", func(s agent.State) bool { return s.ClientCertificate && !s.Connected })
	r.apply(agent.WorkName, next, true)
	r.await("the connection", connected)
	if g := r.work().Generation; g != generation+1 {
		t.Errorf("the work changed %d times", g-generation)
	}
}

func TestEnsure_followsTheDesiredState(t *testing.T) {
	r := newRig(t)
	r.connect(certificate(t, r.name, "g1"))
	r.want(func(w *agent.Desired) { w.Image = "quay.io/argoprojlabs/argocd-agent:v0.9.1" })
	r.await("the old image to be missed", func(s agent.State) bool { return s.Reason == agent.ReasonWorkNotApplied })
	testkit.EditStatus(t, hub.client, r.work(), func(w *workv1.ManifestWork) { w.Status.Conditions[0].ObservedGeneration = w.Generation })
	r.await("the version to differ", func(s agent.State) bool { return s.Reason == agent.ReasonVersionMismatch && !s.Connected })
	testkit.Edit(t, hub.client, r.cluster(), func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey] = `{"registries":[{"source":"quay.io","mirror":"mirror.example.com"}]}`
	})
	testkit.Eventually(t, "the mirrored image", func() error {
		if image := r.delivered().Spec.Template.Spec.Containers[0].Image; image != "mirror.example.com/argoprojlabs/argocd-agent:v0.9.1" {
			return errors.New(image)
		}
		return nil
	})
	testkit.Edit(t, hub.client, r.cluster(), func(c *clusterv1.ManagedCluster) {
		c.Annotations[clusterv1.ClusterImageRegistriesAnnotationKey] = `{`
	})
	r.await("the annotation to be refused", func(s agent.State) bool {
		return s.Reason == agent.ReasonImageUnknown && strings.Contains(s.Message, clusterv1.ClusterImageRegistriesAnnotationKey)
	})
	r.want(func(w *agent.Desired) { w.Manifests = [][]byte{[]byte("{")} })
	testkit.Edit(t, hub.client, r.cluster(), func(c *clusterv1.ManagedCluster) { c.Annotations = nil })
	r.await("the manifests to be refused", func(s agent.State) bool { return s.Reason == agent.ReasonBadManifests })
}

// The controller reverts another client's changes to its fields, and keeps other clients' annotations.
func TestEnsure_revertsForeignChanges(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	clean := r.work()
	testkit.Edit(t, hub.client, r.work(), func(w *workv1.ManifestWork) {
		w.Annotations["example.com/note"] = "kept"
		delete(w.Labels, agent.OwnedLabel)
		w.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
			Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "x", Name: "y"},
		}}
		w.Spec.Workload.Manifests = w.Spec.Workload.Manifests[1:]
	})
	testkit.Edit(t, hub.client, r.addOn(), func(a *addonv1alpha1.ManagedClusterAddOn) { a.Labels = nil })
	testkit.EditStatus(t, hub.client, r.addOn(), func(a *addonv1alpha1.ManagedClusterAddOn) { a.Status.Registrations = nil })
	testkit.Eventually(t, "both to be mended", func() error {
		w, a := r.work(), r.addOn()
		if !sameSpec(w.Spec, clean.Spec) || w.Labels[agent.OwnedLabel] != "true" || w.Annotations["example.com/note"] != "kept" || a.Labels[agent.OwnedLabel] != "true" || len(a.Status.Registrations) != 1 {
			return fmt.Errorf("executor %v, labels %v %v, annotations %v", w.Spec.Executor, w.Labels, a.Labels, w.Annotations)
		}
		return nil
	})
}

func TestEnsure_keepsForeignObjects(t *testing.T) {
	for what, o := range map[string]client.Object{
		"ManagedClusterAddOn": &addonv1alpha1.ManagedClusterAddOn{},
		"ManifestWork":        &workv1.ManifestWork{},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.stop()
			r.leave(false)
			o.SetNamespace(r.name)
			o.SetName(agent.AddOnName)
			o.SetLabels(map[string]string{agent.OwnedLabel: "true"})
			r.create(o)
			foreign := o.GetResourceVersion()
			r.want(func(w *agent.Desired) { *w = someWanted(r) })
			r.start()
			r.await("the name to be taken", func(s agent.State) bool {
				return s.Reason == agent.ReasonAddOnNameTaken && strings.Contains(s.Message, what+" "+r.name+"/"+agent.AddOnName)
			})
			r.leave(false)
			if what == "ManifestWork" {
				r.waitsWith("Secret") // the controller deletes our own add-on, and proves that the key is deleted
				r.apply(agent.LeavingWorkName, nil, false)
			}
			r.goes()
			if _, found := stored(r, agent.AddOnName, o); !found || o.GetResourceVersion() != foreign {
				t.Errorf("the other client's %s was touched (there: %t)", what, found)
			}
		})
	}
}

// someWanted returns the settings that a rig begins with.
func someWanted(r *rig) agent.Desired {
	return agent.Desired{
		Cluster: r.name, AgentNamespace: "argocd", ArgoNamespace: "argocd", Mode: agent.ModeManaged, Address: "a.example.com", Port: 443,
		Image: "image:v0.9.0", CABundle: certificate(r.t, "ca", ""), Generation: 1,
	}
}

// management creates the ClusterManagementAddOn of our add-ons. All tests share one name, so it is deleted
// after the test.
func (r *rig) management(annotations map[string]string, configs ...addonv1alpha1.ConfigMeta) *addonv1alpha1.ClusterManagementAddOn {
	r.t.Helper()
	m := &addonv1alpha1.ClusterManagementAddOn{
		ObjectMeta: metav1.ObjectMeta{Name: agent.AddOnName, Annotations: annotations},
		Spec:       addonv1alpha1.ClusterManagementAddOnSpec{SupportedConfigs: configs, InstallStrategy: addonv1alpha1.InstallStrategy{Type: addonv1alpha1.AddonInstallStrategyManual}},
	}
	r.create(m)
	r.t.Cleanup(func() {
		if err := hub.client.Delete(context.Background(), m); client.IgnoreNotFound(err) != nil {
			r.t.Error(err)
		}
	})
	return m
}

// OCM's addon-manager takes over an add-on if a ClusterManagementAddOn has the same name. The controller
// therefore reports the name as taken, unless the ClusterManagementAddOn has the self-manage annotation.
func TestEnsure_reportsAClusterManagementAddOnOfItsName(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	m := r.management(nil)
	r.await("the name to be taken", func(s agent.State) bool {
		return s.Reason == agent.ReasonAddOnNameTaken && strings.Contains(s.Message, "ClusterManagementAddOn "+agent.AddOnName)
	})
	testkit.Edit(t, hub.client, m, func(m *addonv1alpha1.ClusterManagementAddOn) {
		m.Annotations = map[string]string{addonv1alpha1.AddonLifecycleAnnotationKey: addonv1alpha1.AddonLifecycleSelfManageAnnotationValue}
	})
	r.await("the name to be free again", written)
}

// The agent's Deployment follows the add-on's own AddOnDeploymentConfig, or else the default one. The
// controller reports a configuration that is missing or has no effect, and keeps the delivered Deployment.
func TestEnsure_followsTheAddOnDeploymentConfig(t *testing.T) {
	r := newRig(t)
	r.await("the work", written)
	config := func(name string, spec addonv1alpha1.AddOnDeploymentConfigSpec) *addonv1alpha1.AddOnDeploymentConfig {
		o := &addonv1alpha1.AddOnDeploymentConfig{ObjectMeta: metav1.ObjectMeta{Namespace: r.name, Name: name}, Spec: spec}
		r.create(o)
		return o
	}
	placed := func(value string) func() error {
		return func() error {
			if pod := r.delivered().Spec.Template.Spec; pod.NodeSelector["pool"] != value {
				return fmt.Errorf("pod %+v", pod)
			}
			return nil
		}
	}
	spec := func(pool string) addonv1alpha1.AddOnDeploymentConfigSpec {
		return addonv1alpha1.AddOnDeploymentConfigSpec{NodePlacement: &addonv1alpha1.NodePlacement{NodeSelector: map[string]string{"pool": pool}}}
	}
	all := config("all", spec("a"))
	r.management(map[string]string{addonv1alpha1.AddonLifecycleAnnotationKey: addonv1alpha1.AddonLifecycleSelfManageAnnotationValue},
		addonv1alpha1.ConfigMeta{ConfigGroupResource: deploymentConfigs, DefaultConfig: &addonv1alpha1.ConfigReferent{Namespace: r.name, Name: "all"}})
	testkit.Eventually(t, "the default configuration", placed("a"))
	testkit.Edit(t, hub.client, all, func(c *addonv1alpha1.AddOnDeploymentConfig) {
		c.Spec = spec("b")
		c.Spec.Registries = []addonv1alpha1.ImageMirror{{Source: "quay.io", Mirror: "mirror.example.com"}}
	})
	testkit.Eventually(t, "its change", placed("b"))
	if image := r.delivered().Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, "mirror.example.com/") {
		t.Errorf("the image is %s", image)
	}
	a := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: r.name, Name: agent.AddOnName}}
	testkit.Edit(t, hub.client, a, func(a *addonv1alpha1.ManagedClusterAddOn) {
		a.Spec.Configs = []addonv1alpha1.AddOnConfig{{ConfigGroupResource: deploymentConfigs, ConfigReferent: addonv1alpha1.ConfigReferent{Namespace: r.name, Name: "own"}}}
	})
	r.await("the missing one to be named", func(s agent.State) bool {
		return s.Reason == agent.ReasonBadConfig && strings.Contains(s.Message, r.name+"/own")
	})
	own := config("own", addonv1alpha1.AddOnDeploymentConfigSpec{CustomizedVariables: []addonv1alpha1.CustomizedVariable{{Name: "ARGOCD_AGENT_MODE", Value: "x"}}})
	r.await("what has no effect to be named", func(s agent.State) bool {
		return s.Reason == agent.ReasonBadConfig && strings.Contains(s.Message, "ARGOCD_AGENT_MODE")
	})
	if err := placed("b")(); err != nil {
		t.Errorf("what ran did not stay: %v", err)
	}
	testkit.Edit(t, hub.client, own, func(c *addonv1alpha1.AddOnDeploymentConfig) { c.Spec = spec("c") })
	testkit.Eventually(t, "its own configuration", placed("c"))
}
