// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// Flags are those of the page.
type Flags struct {
	address, certDir, hosts, argocdURL string
	secure                             bool
}

// Bind adds the flags to fs.
func (f *Flags) Bind(fs *flag.FlagSet) {
	fs.StringVar(&f.address, "page-bind-address", "", "address of the page of the fleet, such as :8446; empty: off")
	fs.StringVar(&f.certDir, "page-cert-dir", "", "folder with tls.crt and tls.key for the page, re-read on change; empty: a self-signed certificate made at start")
	fs.BoolVar(&f.secure, "page-secure", true, "serve the page over TLS; false is accepted on a loopback address only")
	fs.StringVar(&f.hosts, "page-host", "", "comma-separated host names under which browsers reach the page; localhost always is one")
	fs.StringVar(&f.argocdURL, "argocd-url", "", "https address of the hub's Argo CD, which the page links to; empty: no links")
}

// Validate names every flag with an impossible value.
func (f *Flags) Validate() error {
	if !f.On() {
		return nil
	}
	var errs []error
	host, _, err := net.SplitHostPort(f.address)
	if err != nil {
		errs = append(errs, fmt.Errorf("--page-bind-address %q: want host:port or :port", f.address))
	} else if ip := net.ParseIP(host); !f.secure && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		errs = append(errs, fmt.Errorf("--page-secure=false with --page-bind-address %q: tokens would cross the network in the clear; want a loopback address", f.address))
	}
	if f.argocdURL != "" {
		if !linkable(f.argocdURL) {
			errs = append(errs, fmt.Errorf("--argocd-url %q: want an https address such as https://argocd.example.com", f.argocdURL))
		}
	}
	return errors.Join(errs...)
}

// linkable reports whether the page may link to what lies below an address.
func linkable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// On reports whether there is to be a page.
func (f *Flags) On() bool { return f.address != "" && f.address != "0" }

func (f *Flags) certFiles() (cert, key string) {
	return filepath.Join(f.certDir, "tls.crt"), filepath.Join(f.certDir, "tls.key")
}

// names are those under which the page is served.
func (f *Flags) names() []string {
	host, _, _ := net.SplitHostPort(f.address) // as Validate did
	var names []string
	for name := range strings.SplitSeq(host+","+f.hosts, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			names = append(names, name)
		}
	}
	return names
}
