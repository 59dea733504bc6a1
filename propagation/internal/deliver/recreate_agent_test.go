// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// runAgent runs OCM's work agent for a cluster until the test ends: hub and managed
// cluster are one API server.
func runAgent(t *testing.T, cluster string) {
	t.Helper()
	bin := filepath.Join(testkit.Root(), "bin")
	if _, err := envtest.InstallCRDs(hub.config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(bin, "crds", "ocm-managed")}, MaxTime: time.Minute}); err != nil {
		t.Fatalf("install the work agent's CRDs: %v", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: hub.config.Host, CertificateAuthorityData: hub.config.CAData}
	config.AuthInfos["agent"] = &clientcmdapi.AuthInfo{ClientCertificateData: hub.config.CertData, ClientKeyData: hub.config.KeyData, Token: hub.config.BearerToken}
	config.Contexts["agent"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "agent"}
	config.CurrentContext = "agent"
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatalf("write kubeconfig: %v", err)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	agent := testkit.Command(context.Background(), filepath.Join(bin, "ocm"), "work", "agent", "--kubeconfig="+kubeconfig, "--namespace=default",
		"--spoke-cluster-name="+cluster, "--agent-id="+cluster, "--workload-source-driver=kube", "--workload-source-config="+kubeconfig,
		"--status-sync-interval=5s", "--disable-leader-election", "--listen="+freeAddress(t))
	agent.Dir, agent.Stdout, agent.Stderr = folder, log, log
	if err := agent.Start(); err != nil {
		t.Fatalf("start the work agent: %v", err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
		_ = log.Close()
		if raw, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the end of the agent's log:\n%s", raw[max(0, len(raw)-4000):])
		}
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// deletions counts what the API server sends of Applications of a namespace that
// were deleted, or are to be.
type deletions struct {
	mu    sync.Mutex
	names []string
}

func watchDeletions(t *testing.T, namespace string) *deletions {
	t.Helper()
	c, err := client.NewWithWatch(hub.config, client.Options{Scheme: hub.scheme})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(context.Background(), &argocd.ApplicationList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	d := &deletions{}
	go func() {
		for event := range w.ResultChan() {
			app, ok := event.Object.(*argocd.Application)
			if ok && (event.Type == watch.Deleted || app.DeletionTimestamp != nil) {
				d.mu.Lock()
				d.names = append(d.names, app.Name)
				d.mu.Unlock()
			}
		}
	}()
	return d
}

func (d *deletions) seen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names
}

// With the real work agent: hub Applications are made again and again, propagation
// running and down, and what the managed cluster has stays the very same object.
func TestRecreatedUnderTheAgent(t *testing.T) {
	const count, rounds = 4, 6
	p := newPlace(t)
	there := p.namespace + "-managed"
	p.create(namespace(there))
	runAgent(t, p.cluster)
	grace := func(o *Options) { o.RecreateGrace = time.Minute }
	free := anywhere(t, there)
	running := start(t, grace, free)
	apps := make([]*argocd.Application, count)
	uids := map[string]types.UID{}
	copyOf := func(name string) (*argocd.Application, error) {
		a := &argocd.Application{}
		return a, hub.client.Get(context.Background(), client.ObjectKey{Namespace: there, Name: name}, a)
	}
	for i := range apps {
		apps[i] = p.deploy(fmt.Sprint("again-", i), into(there))
	}
	for _, app := range apps {
		testkit.Eventually(t, app.Name+" to be applied", func() error {
			a, err := copyOf(app.Name)
			if err != nil || len(a.OwnerReferences) == 0 {
				return errors.Join(errors.New("it is not applied"), err)
			}
			uids[app.Name] = a.UID
			return nil
		})
	}
	deleted := watchDeletions(t, there)
	for round := range rounds {
		down := round%2 == 1
		if down {
			running.stop()
		}
		for i := range apps {
			apps[i] = remade(t, p, apps[i], into(there))
		}
		if down {
			running = start(t, grace, free)
		}
		for _, app := range apps {
			testkit.Eventually(t, "the adoption of "+app.Name, func() error {
				own := works(t, app)
				if len(own) != 1 || own[0].Annotations[contract.HubUIDAnnotation] != string(app.UID) {
					return fmt.Errorf("there are %d works", len(own))
				}
				return nil
			})
		}
	}
	for _, app := range apps {
		edit(t, app, func(a *argocd.Application) {
			a.Spec = []byte(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"edited"`, 1))
		})
		testkit.Eventually(t, "the edit of "+app.Name+" on the managed cluster", func() error {
			a, err := copyOf(app.Name)
			if err != nil {
				return err
			}
			if a.UID != uids[app.Name] {
				t.Fatalf("%s is another object", app.Name)
			}
			if !strings.Contains(string(a.Spec), `"path":"edited"`) {
				return errors.New("not there")
			}
			return nil
		})
	}
	if names := deleted.seen(); len(names) > 0 {
		t.Errorf("on the managed cluster were deleted: %v", names)
	}
}
