// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1alpha1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/certificates"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// hub is the API server of all tests. Each test has separate namespaces and clusters. The tests do not run
// in parallel. gitopscluster has the permissions of the shipped roles, and no others.
var hub struct {
	config *rest.Config
	client client.Client
	scheme *runtime.Scheme
	// secrets has the rules of the Role that exists once per Argo CD.
	secrets []rbacv1.PolicyRule
	// keys has the rules of the Role in gitopscluster's own namespace.
	keys []rbacv1.PolicyRule
	// optional has all rules of the components.
	optional []rbacv1.PolicyRule
}

const (
	account   = "system:serviceaccount:multicluster-integrations:multicluster-integrations-gitopscluster"
	component = "deploy/components/gitopsclusters/"
	// agentComponent has the additional permissions for agents.
	agentComponent = "deploy/components/gitopsclusters-agent/"
	crdFile        = component + "apps.open-cluster-management.io_gitopsclusters.yaml"
)

func TestMain(m *testing.M) {
	code, err := withHub(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withHub(tests func() int) (code int, err error) {
	// This must be first: controller-runtime sets its own logger for good 30 seconds after the start.
	ctrl.SetLogger(logr.New(&logs))
	c, stop, err := testkit.Start(func(e *envtest.Environment) {
		e.CRDDirectoryPaths = append(e.CRDDirectoryPaths, filepath.Join(testkit.Root(), crdFile))
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	hub.config, hub.scheme = c, runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(hub.scheme), rbacv1.AddToScheme(hub.scheme), authorizationv1.AddToScheme(hub.scheme), clusterv1.Install(hub.scheme), clusterv1beta1.Install(hub.scheme),
		v1beta1.AddToScheme(hub.scheme), v1alpha1.AddToScheme(hub.scheme), appsv1.AddToScheme(hub.scheme), certificatesv1.AddToScheme(hub.scheme), addonv1alpha1.Install(hub.scheme), workv1.Install(hub.scheme), argocd.AddToScheme(hub.scheme)); err != nil {
		return 1, err
	}
	if hub.client, err = client.New(c, client.Options{Scheme: hub.scheme}); err != nil {
		return 1, err
	}
	if err := errors.Join(grant(), hub.client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: certificates.DefaultKeyNamespace}})); err != nil {
		return 1, err
	}
	code = tests()
	if code == 0 && whole() {
		err = unused()
	}
	return code, err
}

// whole reports whether all tests ran.
func whole() bool {
	return !slices.ContainsFunc(os.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "-test.run=") || strings.HasPrefix(arg, "-test.skip=") || strings.HasPrefix(arg, "-test.list=")
	})
}

// agentRole is the name of the Roles for agents.
const agentRole = "multicluster-integrations-gitopscluster-agent"

// grant creates the shipped roles for gitopscluster's account.
func grant() error {
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}}
	for _, file := range []string{component + "role.yaml", agentComponent + "role.yaml"} {
		text, err := os.ReadFile(filepath.Join(testkit.Root(), file))
		if err != nil {
			return err
		}
		for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
			role := &rbacv1.ClusterRole{}
			if err := decoder.Decode(role); err != nil {
				break
			}
			switch {
			case role.Kind == "Role" && role.Name == agentRole && role.Namespace == certificates.DefaultKeyNamespace:
				hub.keys = append(hub.keys, role.Rules...)
				hub.optional = append(hub.optional, role.Rules...)
			case role.Kind == "Role" && role.Namespace == "argocd":
				hub.secrets = append(hub.secrets, role.Rules...)
				hub.optional = append(hub.optional, role.Rules...)
			case role.Kind == "ClusterRole":
				hub.optional = append(hub.optional, role.Rules...)
				binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}}
				if err := errors.Join(hub.client.Create(context.Background(), role), hub.client.Create(context.Background(), binding)); err != nil {
					return err
				}
			}
		}
	}
	if len(hub.secrets) == 0 || len(hub.keys) == 0 || len(hub.optional) == 0 {
		return errors.New("no roles found: the tests would prove nothing")
	}
	return nil
}

// logs keeps the log lines of all tests.
var logs sink

type sink struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (s *sink) Init(logr.RuntimeInfo)  {}
func (s *sink) Enabled(level int) bool { return level <= 1 } // debug, the most verbose level that gitopscluster uses
func (s *sink) Info(_ int, msg string, pairs ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(&s.lines, msg, pairs)
}
func (s *sink) Error(err error, msg string, pairs ...any) {
	s.Info(0, msg+": "+fmt.Sprint(err), pairs...)
}
func (s *sink) WithValues(...any) logr.LogSink { return s }
func (s *sink) WithName(string) logr.LogSink   { return s }
func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}
