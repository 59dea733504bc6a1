// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// conflictPeriod is how often the other Deployment is read. Both work until it is observed.
	conflictPeriod = 30 * time.Second
	// switchName is the ConfigMap, next to the Deployment, in which RHACM turns its controllers off
	// by switchKey. Their pods continue to run.
	switchName, switchKey = "multicluster-integrations-config", "pullModel.basic.disabled"
	// partOfLabel is on every object of this project.
	partOfLabel, partOf = "app.kubernetes.io/part-of", "multicluster-integrations"
)

var errConflictingDeployment = errors.New("does the same work")

// parseConflictingDeployment parses the Deployment in a value of --conflicting-deployment.
func parseConflictingDeployment(value string) (client.ObjectKey, error) {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, fmt.Errorf("--conflicting-deployment %q: want the namespace and name of a Deployment, namespace/name", value)
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}

// conflictingDeployment stops a binary while a Deployment of another project does the same work. Each of them
// would revert the writes of the other.
type conflictingDeployment struct {
	client  client.Reader
	key     client.ObjectKey
	program string
	log     logr.Logger
	period  time.Duration
}

var _ manager.LeaderElectionRunnable = &conflictingDeployment{}

// newConflictingDeployment returns nil if no Deployment has to be checked.
func newConflictingDeployment(env *Env) (*conflictingDeployment, error) {
	if env.Options.ConflictingDeployment == "" {
		return nil, nil //nolint:nilnil // without the flag there is nothing to check, which is not an error
	}
	key, err := parseConflictingDeployment(env.Options.ConflictingDeployment)
	if err != nil {
		return nil, err
	}
	c, err := client.New(rest.CopyConfig(env.Config), client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("look for Deployment %s: %w", key, err)
	}
	return &conflictingDeployment{client: c, key: key, program: env.Program.Name, log: env.Log.WithName("beside"), period: conflictPeriod}, nil
}

// NeedLeaderElection returns false, because a standby must not take over either.
func (b *conflictingDeployment) NeedLeaderElection() bool { return false }

// Start returns an error once the other Deployment is running again.
func (b *conflictingDeployment) Start(ctx context.Context) error {
	tick := time.NewTicker(b.period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		switch err := b.check(ctx); {
		case errors.Is(err, errConflictingDeployment):
			return err
		case err != nil && ctx.Err() == nil:
			b.log.Error(err, "cannot check whether the Deployment of --conflicting-deployment runs")
		}
	}
}

// check returns an error if the other Deployment is running or cannot be read.
func (b *conflictingDeployment) check(ctx context.Context) error {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apps/v1")
	o.SetKind("Deployment")
	err := b.client.Get(ctx, b.key, o)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("look for Deployment %s: grant get on it, as deploy/overlays/rhacm does, or remove --conflicting-deployment: %w", b.key, err)
	case err != nil:
		return fmt.Errorf("look for Deployment %s: %w", b.key, err)
	}
	if o.GetLabels()[partOfLabel] == partOf || !runs(o) {
		return nil
	}
	if off, err := b.isSwitchedOff(ctx); off || err != nil {
		return err
	}
	return fmt.Errorf("%s stops while Deployment %s runs, which %w: set %s: \"true\" in ConfigMap %s/%s, or remove --conflicting-deployment if it is something else",
		b.program, b.key, errConflictingDeployment, switchKey, b.key.Namespace, switchName)
}

// isSwitchedOff reports whether the other Deployment's controllers are turned off although its pods
// are running.
func (b *conflictingDeployment) isSwitchedOff(ctx context.Context) (bool, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("v1")
	o.SetKind("ConfigMap")
	key := client.ObjectKey{Namespace: b.key.Namespace, Name: switchName}
	err := b.client.Get(ctx, key, o)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return false, fmt.Errorf("look for ConfigMap %s: grant get on it, as deploy/overlays/rhacm does, or remove --conflicting-deployment: %w", key, err)
	case err != nil:
		return false, fmt.Errorf("look for ConfigMap %s: %w", key, err)
	}
	value, _, _ := unstructured.NestedString(o.Object, "data", switchKey)
	off, _ := strconv.ParseBool(strings.TrimSpace(value)) // any other value leaves them on
	return off, nil
}

// runs reports whether a Deployment has pods or will get some.
func runs(o *unstructured.Unstructured) bool {
	wanted, set, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	existing, _, _ := unstructured.NestedInt64(o.Object, "status", "replicas")
	return !set || wanted > 0 || existing > 0
}
