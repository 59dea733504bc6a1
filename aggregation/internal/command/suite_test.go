// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

var (
	config *rest.Config
	hub    client.Client
)

func TestMain(m *testing.M) {
	testkit.Main(m, func(c *rest.Config) (err error) {
		config = c
		ctrl.SetLogger(logr.Discard()) // start gives each process its own logger
		scheme := runtime.NewScheme()
		if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), workv1.Install(scheme), clusterv1.Install(scheme)); err != nil {
			return err
		}
		hub, err = client.New(config, client.Options{Scheme: scheme})
		return err
	})
}

// process is a running aggregation.
type process struct {
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs the binary's command against the test hub. All requests of the process pass through the tap.
func start(t *testing.T, through *tap, args ...string) *process {
	t.Helper()
	c := New()
	c.patience = cmp.Or(through.patience, c.patience)
	var o boot.Options
	fs := flag.NewFlagSet("aggregation", flag.ContinueOnError)
	o.BindFlags(fs, Program())
	c.BindFlags(fs)
	args = append([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-election-namespace=default"}, args...)
	if err := errors.Join(fs.Parse(args), o.Validate(), c.Validate()); err != nil {
		t.Fatal(err)
	}
	log, level, err := boot.NewLogger(through.log(t), "info")
	if err != nil {
		t.Fatal(err)
	}
	env := &boot.Env{Program: Program(), Options: o, Config: rest.CopyConfig(config), Log: log, Level: level}
	env.Config.Wrap(through.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = c.Run(ctx, env)
	}()
	t.Cleanup(func() { p.end(t) })
	return p
}

// end stops the process and waits for it.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	<-p.done
	if p.err != nil {
		t.Errorf("the process ended with: %v", p.err)
	}
}

var (
	worlds   int
	workKind = schema.GroupVersionKind{Group: workv1.GroupName, Version: "v1", Kind: "ManifestWork"}
)
