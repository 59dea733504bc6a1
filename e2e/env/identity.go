// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	// shortLife is the shortest lifetime that an API server gives a token.
	shortLife = 10 * time.Minute
	// fleetLife is the lifetime for components that read their token once.
	fleetLife = 24 * time.Hour
)

// identity writes a kubeconfig for a ServiceAccount of the cluster and returns its path. The token is in a
// file next to it. identity renews the token at half its lifetime while the fleet runs, as a kubelet does.
func (ps *Processes) identity(ctx context.Context, c *Cluster, namespace, account string, life time.Duration) (string, error) {
	path := tokenFile(c, account)
	if err := c.writeToken(ctx, namespace, account, path, life); err != nil {
		return "", err
	}
	ps.workers.Go(func() {
		next := time.NewTimer(life / 2)
		defer next.Stop()
		for {
			select {
			case <-ps.ctx.Done():
				return
			case <-next.C:
			}
			after := life / 2
			if err := c.writeToken(ps.ctx, namespace, account, path, life); err != nil {
				ps.options.Progress(err.Error())
				after = 5 * time.Second // half of the lifetime is left for retries
			}
			next.Reset(after)
		}
	})
	return c.writeKubeconfig(account, &clientcmdapi.AuthInfo{TokenFile: path})
}

// tokenFile returns the path of the token that [Processes.identity] keeps current.
func tokenFile(c *Cluster, account string) string { return filepath.Join(c.folder, account+".token") }

func (c *Cluster) writeToken(ctx context.Context, namespace, account, path string, life time.Duration) (err error) {
	defer must.Return(&err)
	token := must.Get(c.token(ctx, namespace, account, life))
	next := path + ".next"
	must.OK(os.WriteFile(next, []byte(token), 0o600))
	return os.Rename(next, path)
}

// token returns a token of a ServiceAccount.
func (c *Cluster) token(ctx context.Context, namespace, account string, life time.Duration) (string, error) {
	seconds := int64(life.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	if err := c.Client.SubResource("token").Create(ctx, owner, request); err != nil {
		return "", fmt.Errorf("ask %s for a token of %s/%s: %w", c.Name, namespace, account, err)
	}
	return request.Status.Token, nil
}
