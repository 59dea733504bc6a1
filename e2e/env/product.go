// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// Build builds the product's binaries into bin/product by `make build`, unless make runs
// us: it has built them already. Two builds at a time wait for each other.
func Build(ctx context.Context) (err error) {
	defer must.Return(&err)
	if os.Getenv("MAKELEVEL") != "" {
		return nil
	}
	target := filepath.Join(testkit.Root(), "bin", "product")
	must.OK(os.MkdirAll(target, 0o755))
	lock := must.Get(os.Create(filepath.Join(target, ".lock")))
	defer lock.Close() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", target, err)
	}
	if out, err := exec.CommandContext(ctx, "make", "-C", testkit.Root(), "build").CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// Roles returns the path of a binary's roles in the checkout at root.
func Roles(root, name string) string {
	switch name {
	case Rollout:
		return Rollouts(root, "rollout.yaml")
	case RenderedMode:
		return filepath.Join(root, "deploy", "components", "rendered", "rendered.yaml")
	}
	return filepath.Join(root, "deploy", "base", "rbac", name+".yaml")
}

// GitOpsClusters returns the path of a file of deploy/components/gitopsclusters in the
// checkout at root.
func GitOpsClusters(root, file string) string {
	return filepath.Join(root, "deploy", "components", "gitopsclusters", file)
}

// Rollouts returns the path of a file of deploy/components/rollouts in the checkout at root.
func Rollouts(root, file string) string {
	return filepath.Join(root, "deploy", "components", "rollouts", file)
}

func bindingFor(role *unstructured.Unstructured, account *corev1.ServiceAccount) (client.Object, error) {
	reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}
	meta := metav1.ObjectMeta{Namespace: role.GetNamespace(), Name: role.GetName() + "-" + account.Name}
	switch role.GetKind() {
	case "ClusterRole":
		return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: reference, Subjects: subjects}, nil
	case "Role":
		return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: reference, Subjects: subjects}, nil
	}
	return nil, fmt.Errorf("%s %s: want roles only", role.GetKind(), role.GetName())
}

// product is the product's binaries on a hub.
type product struct {
	*processes
	hub    *Cluster
	search *search.Server // nil: there is none
}

// startProduct gives each binary its identity and its rights and starts it, once
// per replica.
func (pr *product) startProduct(ctx context.Context) error {
	stages := make([]stage, 0, len(pr.options.Product))
	for _, name := range pr.options.Product {
		stages = append(stages, func(ctx context.Context) error {
			identity, err := pr.productIdentity(ctx, pr.hub, name)
			if err != nil {
				return fmt.Errorf("give %s its identity: %w", name, err)
			}
			for replica := range pr.options.Replicas {
				if err := pr.startReplica(ctx, name, pr.options.Sources, identity, replica); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := parallel(ctx, stages...); err != nil {
		return err
	}
	if len(pr.options.Product) > 0 {
		pr.progress("hub: %s ready", strings.Join(pr.options.Product, ", "))
	}
	return nil
}

// productIdentity makes a binary's ServiceAccount on a hub, binds it to its roles of
// deploy and to nothing else, and returns its kubeconfig.
func (pr *product) productIdentity(ctx context.Context, hub *Cluster, name string) (kubeconfig string, err error) {
	files := []string{Roles(pr.options.Sources, name)}
	if name == GitOpsCluster {
		files = []string{GitOpsClusters(pr.options.Sources, "role.yaml")}
		if pr.options.Agents {
			files = append(files, filepath.Join(pr.options.Sources, "deploy", "components", "gitopsclusters-agent", "role.yaml"))
		}
	}
	roles, err := ReadObjects(files...)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("its roles are not generated, run `make generate` first: %w", err)
	}
	if err != nil {
		return "", err
	}
	for _, more := range []struct {
		wanted     bool
		file, role string
	}{
		{(name == Propagation || name == Aggregation) && pr.options.Rollouts, "rollouts/readers.yaml", ""},
		{name == Aggregation && pr.options.Rendered, "rendered/aggregation.yaml", ""},
		{name == Aggregation && pr.options.Page, pageFile, pageReader},
	} {
		if more.wanted {
			role, err := clusterRole(more.file, more.role)
			if err != nil {
				return "", err
			}
			roles = append(roles, role)
		}
	}
	return pr.account(ctx, hub, name, roles)
}

// account makes a ServiceAccount on a hub with roles, which it makes as well, and returns
// its kubeconfig.
func (pr *product) account(ctx context.Context, hub *Cluster, name string, roles []*unstructured.Unstructured) (kubeconfig string, err error) {
	defer must.Return(&err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ProductNamespace, Name: name}}
	must.OK(hub.Client.Create(ctx, account))
	for _, role := range roles {
		must.OK(grant(ctx, hub, role, account))
	}
	return pr.identity(ctx, hub, ProductNamespace, name, shortLife)
}

// startReplica starts one replica of a binary of the checkout at sources. Replicas of
// the same number share a pod's folder.
func (pr *product) startReplica(ctx context.Context, name, sources, kubeconfig string, replica int, more ...string) (err error) {
	defer must.Return(&err)
	ports := must.Get(pr.takePorts(2))
	binary := filepath.Join(sources, "bin", "product", name)
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%s is not built: %w", name, err)
	}
	intermediate := pr.IntermediateDir(replica)
	must.OK(os.MkdirAll(intermediate, 0o700))
	args := []string{
		binary, "--kubeconfig=" + kubeconfig,
		"--metrics-bind-address=" + local(ports[0]), "--health-probe-bind-address=" + local(ports[1]),
	}
	own := must.Get(pr.arguments(name, intermediate))
	args = append(append(append(args, own...), pr.options.Arguments[name]...), more...)
	p := must.Get(pr.run(ctx, command{name: fmt.Sprintf("%s-%d", name, replica), args: args}))
	p.health = "http://" + local(ports[1]) + "/readyz"
	return p.AwaitReady(ctx)
}

// arguments returns what the binary called name is started with by the fleet's options.
func (pr *product) arguments(name, intermediate string) ([]string, error) {
	var args []string
	if pr.options.Rollouts && (name == Propagation || name == Aggregation) {
		args = append(args, "--rollouts")
	}
	if name != ResourceSync {
		args = append(args, "--leader-elect", "--leader-election-namespace="+ProductNamespace)
	}
	switch name {
	case Propagation:
		if pr.options.GitOpsClusters {
			args = append(args, "--register=false")
		}
	case ResourceSync:
		args = append(append(args, "--intermediate-dir="+intermediate), pr.searchArguments(tokenFile(pr.hub, name))...)
	case Aggregation:
		args = append(args, "--intermediate-dir="+intermediate)
		if pr.options.Rendered {
			args = append(args, "--rendered")
		}
		if pr.options.Page {
			page, err := pr.pageArguments()
			if err != nil {
				return nil, err
			}
			args = append(args, page...)
		}
	case GitOpsCluster:
		args = append(args, "--register=gitopsclusters", fmt.Sprintf("--agents=%t", pr.options.Agents))
	}
	return args, nil
}

// IntermediateDir returns the folder that resourcesync and aggregation of one
// replica share.
func (pr *product) IntermediateDir(replica int) string {
	return pr.path("intermediate", fmt.Sprint(replica))
}

// searchArguments tell resourcesync where search is, if there is one.
func (pr *product) searchArguments(token string) []string {
	if pr.search == nil {
		return nil
	}
	return []string{"--search-url=" + pr.search.URL(), "--search-ca-file=" + pr.search.CAFile(), "--search-token-file=" + token, "--search-interval=2s"}
}

// clusterRole returns a ClusterRole of a file of deploy/components: the one of that name, or the only one.
func clusterRole(file, name string) (*unstructured.Unstructured, error) {
	file = filepath.Join(testkit.Root(), "deploy", "components", file)
	objects, err := ReadObjects(file)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if o.GetKind() == "ClusterRole" && (name == "" || o.GetName() == name) {
			return o, nil
		}
	}
	return nil, fmt.Errorf("%s has no ClusterRole %s", file, name)
}

// The page's file of deploy/components, and its ClusterRoles: what aggregation reads, and who may look.
const (
	pageFile   = "page/page.yaml"
	pageReader = "multicluster-integrations-page"
	pageViewer = "multicluster-integrations-page-viewer"
)

// pageArguments turn the page on, on loopback and so without TLS: a browser has no
// certificate to complain of.
func (pr *product) pageArguments() ([]string, error) {
	port, err := pr.FreePort()
	if err != nil {
		return nil, err
	}
	return []string{"--page-bind-address=" + local(port), "--page-secure=false"}, nil
}
