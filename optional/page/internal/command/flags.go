// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/hub"
)

// Flags are the flags of the page.
type Flags struct {
	address, certDir, hosts, argocdURL, leaseNamespace string
	secure                                             bool
}

// BindFlags adds the flags to fs.
func (f *Flags) BindFlags(fs *flag.FlagSet) {
	fs.StringVar(&f.address, "page-bind-address", ":8446", "address of the page of the fleet")
	fs.StringVar(&f.certDir, "page-cert-dir", "", "folder with tls.crt and tls.key for the page, re-read on change; empty: a self-signed certificate made at start")
	fs.BoolVar(&f.secure, "page-secure", true, "serve the page over TLS; false is accepted on a loopback address only")
	fs.StringVar(&f.hosts, "page-host", "", "comma-separated host names under which browsers reach the page; localhost always is one")
	fs.StringVar(&f.argocdURL, "argocd-url", "", "https address of the hub's Argo CD, which the page links to; empty: no links")
	fs.StringVar(&f.leaseNamespace, "lease-namespace", "", "namespace of the Leases of propagation and aggregation; empty: the pod's own")
}

// Validate returns an error that names every flag with an invalid value.
func (f *Flags) Validate() error {
	var errs []error
	host, _, err := net.SplitHostPort(f.address)
	if err != nil {
		errs = append(errs, fmt.Errorf("--page-bind-address %q: want host:port or :port", f.address))
	} else if ip := net.ParseIP(host); !f.secure && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		errs = append(errs, fmt.Errorf("--page-secure=false with --page-bind-address %q: tokens would cross the network in the clear; want a loopback address", f.address))
	}
	if f.argocdURL != "" && hub.Linkable(f.argocdURL) == "" {
		errs = append(errs, fmt.Errorf("--argocd-url %q: want an https address such as https://argocd.example.com", f.argocdURL))
	}
	return errors.Join(errs...)
}

func (f *Flags) certFiles() (cert, key string) {
	return filepath.Join(f.certDir, "tls.crt"), filepath.Join(f.certDir, "tls.key")
}

// names returns the host names under which the page is served.
func (f *Flags) names() []string {
	host, _, _ := net.SplitHostPort(f.address) // Validate has checked it
	var names []string
	for name := range strings.SplitSeq(host+","+f.hosts, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			names = append(names, name)
		}
	}
	return names
}
