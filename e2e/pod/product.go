// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/scenario"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// deployment is the product's Deployment. Its pods have a label with its name.
const deployment = "multicluster-integrations"

// product is the product on the node.
type product struct {
	fleet *env.Fleet
	node  *node
	view  *scenario.View
	tag   string // tag of the images to upgrade to

	color string // color of the guestbook
}

func (p *product) steps() (steps []scenario.Step) {
	add := func(title string, run func(context.Context)) {
		steps = append(steps, scenario.Step{Title: title, Run: func(ctx context.Context) error { return must.Try(func() { run(ctx) }) }})
	}
	add("Install: kubectl apply -f deploy/install.yaml; 3/3 are running and ready", p.install)
	add("Look: user, capabilities, root file system, volumes and tokens of each container", p.look)
	add("Deliver: the guestbook, through that pod", func(ctx context.Context) {
		must.OK(scenario.New(p.fleet, p.view, say).Deliver(ctx))
		p.color = "blue"
	})
	for _, name := range containers {
		add("Exchange "+name+" in its pod, by kubectl set image: the other two go on, and a commit gets to the report",
			func(ctx context.Context) { p.exchange(ctx, name) })
	}
	for _, name := range containers {
		add("Upgrade "+name+" in the Deployment, by kubectl set image: a pod is ready throughout, and a commit gets to the report",
			func(ctx context.Context) { p.upgrade(ctx, name) })
	}
	add("Look again, after all upgrades", p.look)
	return steps
}

// kubectl runs kubectl as an administrator of the hub and returns its output.
func (p *product) kubectl(ctx context.Context, args ...string) string {
	args = append(args, "--kubeconfig="+p.fleet.Hub.Kubeconfig)
	out, err := exec.CommandContext(ctx, must.Get(env.Part("kubectl")), args...).CombinedOutput()
	if err != nil {
		must.OK(fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out))
	}
	return strings.TrimSpace(string(out))
}

func (p *product) install(ctx context.Context) {
	began := time.Now()
	if out := p.kubectl(ctx, "apply", "-f", filepath.Join(testkit.Root(), "deploy", "install.yaml")); strings.Contains(out, "would violate PodSecurity") {
		must.OK(errors.New(out))
	}
	pod := p.ready(ctx)
	// The reports can be watched now that their CRD is installed.
	p.view = must.Get(scenario.Watch(p.fleet.Processes.Context(), p.fleet)) //nolint:contextcheck // it ends with the fleet
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.RestartCount != 0 {
			must.OK(fmt.Errorf("%s was started again %d times: %+v", s.Name, s.RestartCount, s.LastTerminationState))
		}
	}
	say(fmt.Sprintf("%s after kubectl apply:", time.Since(began).Round(100*time.Millisecond)))
	p.show(ctx)
}

func (p *product) show(ctx context.Context) {
	say(p.kubectl(ctx, "get", "pods", "--output=wide", "--namespace="+env.ProductNamespace))
}

// pods returns the product's pods that are not ending.
func (p *product) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := p.fleet.Hub.Client.List(ctx, &list, client.InNamespace(env.ProductNamespace), client.MatchingLabels{"app.kubernetes.io/name": deployment})
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), err
}

// ready waits until the Deployment has one pod with all containers ready, and returns the pod.
func (p *product) ready(ctx context.Context) *corev1.Pod {
	var pod *corev1.Pod
	must.OK(env.Wait(ctx, "a pod of which every container is ready", func(ctx context.Context) (bool, string) {
		pods, err := p.pods(ctx)
		if err != nil || len(pods) != 1 {
			return false, fmt.Sprintf("%d pods, %v", len(pods), err)
		}
		pod = &pods[0]
		return allReady(pod), states(pod)
	}))
	return pod
}

func allReady(pod *corev1.Pod) bool {
	ready := 0
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Ready && s.State.Running != nil {
			ready++
		}
	}
	return ready == len(containers)
}

// states describes a pod for the error of a wait.
func states(pod *corev1.Pod) string {
	text := []string{pod.Name, string(pod.Status.Phase)}
	for _, c := range pod.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			text = append(text, fmt.Sprintf("%s: %s", c.Type, c.Message))
		}
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		text = append(text, fmt.Sprintf("%s ready=%t %s", s.Name, s.Ready, s.State.String()))
	}
	return strings.Join(text, "; ")
}

// look compares the processes of the containers with the manifests.
func (p *product) look(ctx context.Context) {
	pod := p.ready(ctx)
	pids := p.node.pids(ctx)
	errs := make([]error, 0, len(containers))
	for _, name := range containers {
		s := status(pod, name)
		pid, ok := pids[strings.TrimPrefix(s.ContainerID, "containerd://")]
		if !ok {
			must.OK(fmt.Errorf("containerd has no task for %s, %s", name, s.ContainerID))
		}
		saw, err := lookAt(filepath.Join("/proc", fmt.Sprint(pid)), name)
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		errs = append(errs, err)
		say(fmt.Sprintf("%-12s %s", name, saw))
	}
	must.OK(errors.Join(errs...))
}

// commit pushes another colour and waits until the report shows it as synced and healthy.
func (p *product) commit(ctx context.Context) time.Duration {
	const path = "guestbook/guestbook.yaml"
	content := must.Get(p.fleet.Git.Read(path))
	next := map[string]string{"blue": "green", "green": "red", "red": "blue"}[p.color]
	painted := strings.ReplaceAll(content, "color: "+p.color, "color: "+next)
	if painted == content {
		must.OK(fmt.Errorf("%s has no color %s", path, p.color))
	}
	began := time.Now()
	revision := must.Get(p.fleet.Git.Commit(ctx, "Paint it "+next, map[string]string{path: painted}))
	p.color = next
	must.Get(p.view.Await(ctx, "the commit to be in the report", func() (bool, string) {
		row, ok := p.view.ReportRow(scenario.ApplicationSet, "cluster1-"+scenario.ApplicationSet)
		return ok && row.SyncedAndHealthy(revision), row.String()
	}))
	return time.Since(began)
}

// exchange upgrades one container in its pod, and checks that the others continue to run.
func (p *product) exchange(ctx context.Context, name string) {
	before, began := p.ready(ctx), time.Now()
	p.kubectl(ctx, "set", "image", "pod/"+before.Name, name+"="+registry+name+":"+p.tag, "--namespace="+env.ProductNamespace)
	var disturbed error
	err := env.Wait(ctx, name+" to be ready as another image", func(ctx context.Context) (bool, string) {
		now := &corev1.Pod{}
		if err := p.fleet.Hub.Client.Get(ctx, client.ObjectKeyFromObject(before), now); err != nil {
			return false, err.Error()
		}
		disturbed = errors.Join(disturbed, goesOn(before, now, name))
		previous, current := status(before, name), status(now, name)
		return disturbed != nil || allReady(now) && current.ImageID != previous.ImageID && current.ContainerID != previous.ContainerID && current.RestartCount == previous.RestartCount+1, states(now)
	})
	took := time.Since(began)
	must.OK(errors.Join(err, disturbed))
	delivered := p.commit(ctx)
	must.OK(goesOn(before, p.ready(ctx), name))
	say(fmt.Sprintf("%s was ready as another image %s after kubectl, and the others ran on; a commit then took %s to the report.",
		name, took.Round(100*time.Millisecond), delivered.Round(100*time.Millisecond)))
	p.show(ctx)
}

// goesOn returns an error if a container of a pod other than name was replaced, restarted or is not ready.
func goesOn(before, now *corev1.Pod, name string) error {
	var errs []error
	for _, each := range containers {
		previous, current := status(before, each), status(now, each)
		if each != name && (current.ContainerID != previous.ContainerID || current.RestartCount != previous.RestartCount || !current.Ready) {
			errs = append(errs, fmt.Errorf("%s does not go on: it was %s, ready=%t, and is %s, ready=%t", each, previous.ContainerID, previous.Ready, current.ContainerID, current.Ready))
		}
	}
	return errors.Join(errs...)
}

func status(pod *corev1.Pod, name string) corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			return *s
		}
	}
	return corev1.ContainerStatus{}
}

// upgrade upgrades one container in the Deployment, and checks that a pod is always available.
func (p *product) upgrade(ctx context.Context, name string) {
	before, began := p.ready(ctx), time.Now()
	p.kubectl(ctx, "set", "image", "deployment/"+deployment, name+"="+registry+name+":"+p.tag, "--namespace="+env.ProductNamespace)
	d := &appsv1.Deployment{}
	var unavailable error
	err := env.Wait(ctx, "the rollout", func(ctx context.Context) (bool, string) {
		if err := p.fleet.Hub.Client.Get(ctx, client.ObjectKey{Namespace: env.ProductNamespace, Name: deployment}, d); err != nil {
			return false, err.Error()
		}
		if d.Status.AvailableReplicas == 0 {
			unavailable = errors.New("no pod was available during the rollout")
		}
		saw := fmt.Sprintf("generation %d of %d, %d updated, %d in all", d.Status.ObservedGeneration, d.Generation, d.Status.UpdatedReplicas, d.Status.Replicas)
		return d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == 1 && d.Status.Replicas == 1 && d.Status.AvailableReplicas == 1, saw
	})
	must.OK(errors.Join(err, unavailable))
	took := time.Since(began)
	delivered := p.commit(ctx)
	after := p.ready(ctx)
	if after.UID == before.UID {
		must.OK(errors.New("the pod is the same as before"))
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if running := status(after, c.Name); running.Image != c.Image || running.RestartCount != 0 {
			must.OK(fmt.Errorf("%s runs %s, started again %d times, want %s", c.Name, running.Image, running.RestartCount, c.Image))
		}
	}
	say(fmt.Sprintf("The rollout took %s; a commit then took %s to the report.", took.Round(100*time.Millisecond), delivered.Round(100*time.Millisecond)))
	p.show(ctx)
}
