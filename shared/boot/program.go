// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Program has the differences between the binaries.
type Program struct {
	// Name is the binary's name, as in logs and metrics.
	Name string
	// Version is the semantic version of the binary's module.
	Version string
	// MetricsPort and HealthPort are the default ports. The binaries of one pod share its address,
	// so they differ.
	MetricsPort, HealthPort int
	// LeaseName is the Lease of the leader. If it is empty, the binary has no leader election.
	LeaseName string
	// GCPercent is the value of GOGC, unless the environment sets GOGC. A program with a value
	// keeps the objects of a whole fleet, and returns memory to the system when it is idle. 0 uses
	// Go's default.
	GCPercent int
}

// Revision is the source revision, set with -ldflags "-X".
var Revision = "unknown"

// Command is the specific part of a binary.
type Command interface {
	// BindFlags adds the binary's own flags.
	BindFlags(fs *flag.FlagSet)
	// Validate returns an error that names every flag with an invalid value.
	Validate() error
	// Run works until ctx ends and then returns nil.
	Run(ctx context.Context, env *Env) error
}

// Env is the environment of a running command.
type Env struct {
	Program Program
	Options Options
	Config  *rest.Config
	Log     logr.Logger
	Level   zap.AtomicLevel
}

// namespaceFile contains the namespace of a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Namespace returns the namespace of the Lease, else the namespace of the pod. It returns "" if
// neither is known.
func (e *Env) Namespace() string {
	if e.Options.LeaderElectionNamespace != "" {
		return e.Options.LeaderElectionNamespace
	}
	name, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "" // not in a pod
	}
	return strings.TrimSpace(string(name))
}

// Main runs c until SIGINT or SIGTERM and exits: 0 after a clean stop, 1 after a failure, 2 for an
// invalid command line.
func Main(p Program, c Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Execute(ctx, p, c, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Execute does the work of [Main] and returns the exit code.
func Execute(ctx context.Context, p Program, c Command, args []string, stdout, stderr io.Writer) int {
	var o Options
	fs := Flags(p, c, &o)
	fs.SetOutput(stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case o.PrintVersion:
		_, _ = fmt.Fprintf(stdout, "%s %s (revision %s, %s)\n", p.Name, p.Version, Revision, runtime.Version())
		return 0
	case fs.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "%s: unexpected argument %q: every setting is a flag\n", p.Name, fs.Arg(0))
		return 2
	}
	if err := errors.Join(o.Validate(), c.Validate()); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return 2
	}
	log, level, err := NewLogger(stdout, o.LogLevel)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return 2
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	log.Info("starting", "component", p.Name, "version", p.Version, "revision", Revision, "go", runtime.Version())

	config, err := Config(o.Kubeconfig, p)
	if err != nil {
		log.Error(err, "cannot start")
		return 1
	}
	if p.GCPercent > 0 {
		if os.Getenv("GOGC") == "" { // an operator's value takes precedence
			debug.SetGCPercent(p.GCPercent)
		}
		trimming, stop := context.WithCancel(ctx)
		defer stop()
		go trim(trimming)
	}
	buildInfo(p)
	if err := c.Run(ctx, &Env{Program: p, Options: o, Config: config, Log: log, Level: level}); err != nil {
		log.Error(err, "stopped")
		return 1
	}
	log.Info("stopped")
	return 0
}

// Flags returns the flag set of a binary, bound to o and c.
func Flags(p Program, c Command, o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	o.BindFlags(fs, p)
	c.BindFlags(fs)
	return fs
}
