// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"time"
)

// Options are the flags that every binary has.
type Options struct {
	Kubeconfig             string
	MetricsBindAddress     string
	MetricsSecure          bool
	MetricsCertDir         string
	HealthProbeBindAddress string
	PprofBindAddress       string
	LogLevel               string
	PrintVersion           bool

	// ConflictingDeployment names a Deployment that must not run in parallel with the binary.
	ConflictingDeployment string

	LeaderElect             bool
	LeaderElectionNamespace string
	LeaseDuration           time.Duration
	RenewDeadline           time.Duration
	RetryPeriod             time.Duration
}

// BindFlags adds the flags of p to fs. p sets the default ports, and whether the flags for a leader
// election exist.
func (o *Options) BindFlags(fs *flag.FlagSet, p Program) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the hub; empty: in-cluster configuration, then KUBECONFIG, then ~/.kube/config")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", fmt.Sprintf(":%d", p.MetricsPort), "address of the metrics endpoint; 0 turns it off")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve metrics over TLS to clients that the API server authenticates and authorizes; false: over plain HTTP to every client")
	fs.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "", "directory with tls.crt and tls.key for the metrics endpoint, re-read on change; empty: a self-signed certificate")
	fs.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", fmt.Sprintf(":%d", p.HealthPort), "address of /healthz and /readyz")
	fs.StringVar(&o.PprofBindAddress, "pprof-bind-address", "", "address of Go's profiling endpoint; empty: off")
	fs.StringVar(&o.LogLevel, "zap-log-level", "info", "log level: debug, info or error")
	fs.BoolVar(&o.PrintVersion, "version", false, "print the version and exit")
	if p.LeaseName == "" {
		return
	}
	fs.StringVar(&o.ConflictingDeployment, "conflicting-deployment", "", "namespace/name of a Deployment that does the same work, such as the one that comes with RHACM: while it runs, this binary stops with an error that names it; empty: no such check")
	fs.BoolVar(&o.LeaderElect, "leader-elect", false, "work only while holding the Lease "+p.LeaseName+"; needed with more than one replica")
	fs.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the Lease; empty: the pod's own")
	fs.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long a standby waits after the last renewal before it takes over")
	fs.DurationVar(&o.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew the Lease before it stops")
	fs.DurationVar(&o.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "how often the leader renews the Lease, and a standby tries to take it, up to 2.2 times as long by chance")
}

// Validate returns an error that names every flag with an invalid value.
func (o *Options) Validate() error {
	errs := []error{
		address("metrics-bind-address", o.MetricsBindAddress, "0"),
		address("health-probe-bind-address", o.HealthProbeBindAddress, "0"),
		address("pprof-bind-address", o.PprofBindAddress, ""),
	}
	if o.ConflictingDeployment != "" {
		_, err := parseConflictingDeployment(o.ConflictingDeployment)
		errs = append(errs, err)
	}
	if _, err := parseLevel(o.LogLevel); err != nil {
		errs = append(errs, err)
	}
	if o.LeaderElect && (o.RetryPeriod <= 0 || o.RenewDeadline <= o.RetryPeriod || o.LeaseDuration <= o.RenewDeadline) {
		errs = append(errs, fmt.Errorf(
			"--leader-elect-retry-period %s, --leader-elect-renew-deadline %s, --leader-elect-lease-duration %s: each must be longer than the one before, and all positive",
			o.RetryPeriod, o.RenewDeadline, o.LeaseDuration))
	}
	return errors.Join(errs...)
}

func address(name, value, off string) error {
	if value == off {
		return nil
	}
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("--%s %q: want host:port or :port", name, value)
	}
	return nil
}
