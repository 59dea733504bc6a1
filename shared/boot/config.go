// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config loads the configuration for the hub: an explicit file, else the configuration of the pod,
// else kubectl's default. It sets no client-side rate limit, because the API server's priority and
// fairness limits requests better. It turns compression off. The API server would compress each
// list and watch event, and its processor time is scarcer than bandwidth within a cluster.
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
