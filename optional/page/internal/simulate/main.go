// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command simulate serves the page with an artificial fleet, on a loopback address without TLS. It
// is for reviews, for the pictures, and for the tests in a browser. The browser tests write changes
// of the fleet to its standard input, one on each line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/optional/page/internal/access"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/model"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/pagetest"
	"open-cluster-management.io/multicluster-integrations/optional/page/internal/server"
	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// change is a line of the standard input: a row of an ApplicationSet.
type change struct {
	Namespace, Set string
	Row            pagetest.Row
	Condition      string
	Revoke         string
	Remove         bool
	// Outage starts or ends an outage of the API server.
	Outage *bool
}

func run() error {
	address := flag.String("address", "127.0.0.1:0", "loopback address to serve on")
	sets := flag.Int("sets", 500, "ApplicationSets")
	clusters := flag.Int("clusters", 20, "clusters, each with an Application of every ApplicationSet")
	flag.Parse()
	fleet := model.NewFleet()
	if *sets > 0 {
		fleet = pagetest.Large(*sets, *clusters, time.Now())
	}
	tokens := pagetest.NewTokens(map[string][]string{"viewer": nil, "tenant": {"team-pricing"}})
	s, err := server.New(server.Options{
		Fleet: fleet, Identity: tokens, Synced: func() bool { return true }, Resources: pagetest.Resources,
		Leases: func() []model.Lease {
			return []model.Lease{{Controller: "propagation", Renewed: time.Now()}, {Controller: "aggregation", Renewed: time.Now()}}
		},
		Log: logr.Discard(), Now: time.Now, ArgoCDURL: "https://argocd.example.com",
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address) //nolint:noctx // it lives as long as the process
	if err != nil {
		return err
	}
	fmt.Printf("http://%s token viewer\n", listener.Addr())
	go follow(fleet, tokens)
	return (&http.Server{Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second}).Serve(listener)
}

// follow applies the changes, and ends with the process at the end of the input.
func follow(fleet *model.Fleet, tokens *pagetest.Tokens) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c change
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, "simulate:", err)
			os.Exit(1)
		}
		set := types.NamespacedName{Namespace: c.Namespace, Name: c.Set}
		switch {
		case c.Revoke != "":
			tokens.Revoke(c.Revoke)
		case c.Outage != nil:
			tokens.Fail(map[bool]error{true: access.ErrUnavailable}[*c.Outage])
		case c.Remove:
			pagetest.Remove(fleet, set, time.Now())
		default:
			if c.Condition != "" {
				c.Row.Conditions = []v1alpha1.Condition{{Type: "SyncError", Message: c.Condition}}
			}
			fleet.Put(pagetest.App(set, c.Row))
		}
	}
	os.Exit(0)
}
