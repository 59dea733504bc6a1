// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const (
	project    = "shop"
	succeeded  = "Succeeded"
	apiVersion = "kargo.akuity.io/v1alpha1"
)

// pipeline is a fleet with Kargo's controller, one Project and its two Stages.
type pipeline struct {
	fleet              *env.Fleet
	hub                client.Client
	audit              string // the path of the audit log with the writes of Kargo and propagation
	canary, production *stage
	began              time.Time

	version    int       // of the files in git
	promotions int       // created so far
	good       []freight // the freight on production
	bad        []freight
	ones       int // counted promotions with one operation
	again      int // repeated writes of these operations by Kargo
}

// stage is a Stage of Kargo with its one Application.
type stage struct {
	name, app string
	cluster   *env.Cluster
	// on watches the Application on the cluster. hub watches the Application that Kargo changes.
	on, hub *witness
}

// freight is one commit as Kargo's Freight.
type freight struct{ name, revision string }

// promotion is a promotion that was started by hand, as from Kargo's page.
type promotion struct {
	name  string
	stage *stage
	made  time.Time
	// operations is the number of operations on the cluster before, and synced the number of successful ones.
	operations, synced int
}

func newPipeline(fleet *env.Fleet, audit string) *pipeline {
	of := func(name string, c *env.Cluster) *stage { return &stage{name: name, app: "shop-" + c.Name, cluster: c} }
	return &pipeline{
		fleet: fleet, hub: fleet.Hub.Client, audit: audit, began: time.Now(),
		canary: of("canary", fleet.Managed[0]), production: of("production", fleet.Managed[1]),
	}
}

func file(name string) string { return filepath.Join(testkit.Root(), "e2e", "kargo", "testdata", name) }

// definitions returns the folder of the CustomResourceDefinitions in the source of a binary.
func definitions(binary string) string {
	return filepath.Join(filepath.Dir(binary), "charts", "kargo", "resources", "crds")
}

// prepare starts Kargo with its Project, and delivers the Applications, which are not synced yet.
func (p *pipeline) prepare(ctx context.Context, binary string) {
	must.OK(scenario.Prepare(ctx, p.fleet))
	hub := must.Get(watch(p.fleet.Processes.Context(), p.fleet.Hub)) //nolint:contextcheck // it watches until the fleet ends
	for _, s := range []*stage{p.canary, p.production} {
		s.hub, s.on = hub, must.Get(watch(p.fleet.Processes.Context(), s.cluster)) //nolint:contextcheck // as above
	}
	must.OK(p.fleet.Hub.ApplyFiles(ctx, definitions(binary), file("project.yaml")))
	p.push(ctx, "Begin", good)
	kubeconfig := must.Get(p.fleet.Hub.UserKubeconfig(kargoUser, "system:masters"))
	must.Get(p.fleet.Processes.RunContainer(ctx, "kargo", []string{
		"KUBECONFIG=" + kubeconfig, "ARGOCD_KUBECONFIG=" + kubeconfig, "ARGOCD_INTEGRATION_ENABLED=true", "IS_DEFAULT_CONTROLLER=true",
		"KARGO_NAMESPACE=kargo", "https_proxy=" + p.fleet.GitProxy,
	}, 0, binary, "controller"))
	must.OK(p.fleet.Hub.ApplyFiles(ctx, file("applicationset.yaml")))
	for _, s := range []*stage{p.canary, p.production} {
		await(ctx, "Application "+s.app+" to be compared", func(ctx context.Context) (bool, string) {
			app := p.application(ctx, s)
			return app.Status.Sync.Status == argocd.SyncOutOfSync, fmt.Sprintf("%+v", app.Status)
		})
	}
}

// push commits the files of the next version, and returns the revision.
func (p *pipeline) push(ctx context.Context, message string, content func(version int) map[string]string) string {
	p.version++
	return must.Get(p.fleet.Git.Commit(ctx, message, content(p.version)))
}

// commit pushes and waits until the Warehouse has created Freight for the commit.
func (p *pipeline) commit(ctx context.Context, message string, content func(version int) map[string]string) (f freight) {
	f.revision = p.push(ctx, message, content)
	await(ctx, "Freight for "+f.revision, func(ctx context.Context) (bool, string) {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": apiVersion, "kind": "FreightList"}}
		must.OK(p.hub.List(ctx, list, client.InNamespace(project)))
		for _, o := range list.Items {
			var content struct{ Commits []struct{ ID string } }
			decode(o.Object, &content)
			if len(content.Commits) == 1 && content.Commits[0].ID == f.revision {
				f.name = o.GetName()
			}
		}
		return f.name != "", fmt.Sprintf("%d others", len(list.Items))
	})
	return f
}

// object returns an object of the Project.
func object(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": project, "name": name},
	}}
}

// read reads an object of the Project into a structure of its fields.
func (p *pipeline) read(ctx context.Context, kind, name string, into any) *unstructured.Unstructured {
	o := object(kind, name)
	must.OK(p.hub.Get(ctx, client.ObjectKeyFromObject(o), o))
	decode(o.Object, into)
	return o
}

func decode(from, into any) { must.OK(json.Unmarshal(must.Get(json.Marshal(from)), into)) }

// promote creates a Promotion with the steps of its Stage. change may change their JSON.
func (p *pipeline) promote(ctx context.Context, s *stage, f freight, change func(steps string) string) promotion {
	var template struct {
		Spec struct {
			PromotionTemplate struct {
				Spec struct{ Steps json.RawMessage }
			}
		}
	}
	owner := p.read(ctx, "Stage", s.name, &template)
	var steps []any
	must.OK(json.Unmarshal([]byte(change(string(template.Spec.PromotionTemplate.Spec.Steps))), &steps))
	p.promotions++
	// Kargo sorts promotions by name and expects that to be the order of time.
	made := promotion{name: fmt.Sprintf("%s.%05d.%s", s.name, p.promotions, f.name[:7]), stage: s}
	made.operations, made.synced = s.on.all(s.app)
	o := object("Promotion", made.name)
	o.Object["spec"] = map[string]any{"stage": s.name, "freight": f.name, "steps": steps}
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	made.made = time.Now()
	must.OK(p.hub.Create(ctx, o))
	return made
}

// asIs returns the steps of a Stage unchanged.
func asIs(steps string) string { return steps }

// ended waits for the end of a Promotion, and returns its phase and message.
func (p *pipeline) ended(ctx context.Context, made promotion) (phase, message string) {
	await(ctx, "the end of Promotion "+made.name, func(ctx context.Context) (bool, string) {
		phase, message = p.phase(ctx, made)
		return phase != "" && phase != "Pending" && phase != "Running", phase + " " + message
	})
	return phase, message
}

func (p *pipeline) phase(ctx context.Context, made promotion) (phase, message string) {
	var o struct {
		Status struct{ Phase, Message string }
	}
	p.read(ctx, "Promotion", made.name, &o)
	return o.Status.Phase, o.Status.Message
}

// stageStatus is the part of a Stage's status that the steps check.
type stageStatus struct {
	Conditions    []metav1.Condition
	LastPromotion struct{ Name string }
	Health        struct {
		Status string
		Issues []string
	}
}

func (p *pipeline) status(ctx context.Context, s *stage) stageStatus {
	var o struct{ Status stageStatus }
	p.read(ctx, "Stage", s.name, &o)
	return o.Status
}

func (s stageStatus) healthy() bool { return meta.IsStatusConditionTrue(s.Conditions, "Healthy") }

// verifiedIn reports whether Kargo has verified Freight in a Stage.
func (p *pipeline) verifiedIn(ctx context.Context, s *stage, f freight) bool {
	var o struct {
		Status struct{ VerifiedIn map[string]any }
	}
	p.read(ctx, "Freight", f.name, &o)
	return o.Status.VerifiedIn[s.name] != nil
}

// application is the part of a hub Application that the steps check.
type application struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		Source struct{ TargetRevision string }
	}
	Status struct {
		Sync       struct{ Status, Revision string }
		Health     struct{ Status string }
		Conditions []struct{ Type string }
	}
	Operation json.RawMessage
}

func (p *pipeline) application(ctx context.Context, s *stage) (a application) {
	o := &argocd.Application{}
	must.OK(p.hub.Get(ctx, client.ObjectKey{Namespace: env.ArgoCDNamespace, Name: s.app}, o))
	decode(o, &a)
	return a
}

// await waits until probe returns true. It retries after a failure of probe.
func await(ctx context.Context, what string, probe func(context.Context) (done bool, saw string)) {
	must.OK(env.Wait(ctx, what, func(ctx context.Context) (done bool, saw string) {
		if err := must.Try(func() { done, saw = probe(ctx) }); err != nil {
			return false, err.Error()
		}
		return done, saw
	}))
}

// require stops the step with an error unless holds is true.
func require(holds bool, format string, arguments ...any) {
	if !holds {
		must.OK(fmt.Errorf(format, arguments...))
	}
}
