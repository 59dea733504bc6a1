// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config loads the configuration for the hub: an explicit file, else the
// pod's own, else what kubectl would use. There is no client-side rate limit: the
// API server's priority and fairness protects it, and it knows better when it can.
// Nothing is compressed: the API server would do that for each list and each event of a
// watch, and it has less processor time to spare than the network within a cluster.
func Config(path string, p Program) (*rest.Config, error) {
	c, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	c.QPS = -1
	c.DisableCompression = true
	c.UserAgent = "multicluster-integrations/" + p.Name + "/" + p.Version
	return c, nil
}

func load(path string) (*rest.Config, error) {
	if path == "" {
		c, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return c, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}
