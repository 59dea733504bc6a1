// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/multicluster-integrations/e2e/search"
	"open-cluster-management.io/multicluster-integrations/e2e/search/access"
	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// fleet is the content of search at the start of every test.
var fleet = memory.Fleet{Clusters: 4, Sets: 2, Resources: 3}

// interval is the poller's interval, the shortest permitted one.
const interval = time.Second

// world is one search service, one resourcesync and a witness of its reports.
type world struct {
	t      *testing.T
	server *search.Server
	// folder is the folder of the token and CA file that resourcesync reads.
	folder  string
	reports string
	token   boundToken
	process *process
	witness *witness
}

// start starts a world and waits until the reports are complete.
func start(t *testing.T, arguments ...string) *world {
	t.Helper()
	w := prepare(t, fleet)
	w.run(arguments...)
	w.complete()
	return w
}

// complete waits until the reports have all data that search has at the start.
func (w *world) complete() {
	w.t.Helper()
	w.eventually("the reports are complete", func(s state) bool { return whole(s) == nil && fresh(s) == nil })
}

// prepare starts a world without resourcesync. Worlds mostly wait and share only the hub, so their tests run
// in parallel.
func prepare(t *testing.T, source search.Source) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, folder: t.TempDir(), reports: filepath.Join(t.TempDir(), "reports")}
	var err error
	w.server, err = search.Start(t.Context(), search.Options{
		Hub: hub, Source: source, Dir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.server.Close(); err != nil {
			t.Error(err)
		}
	})
	w.write("ca.crt", w.server.CA())
	w.witness = observe(t, w.reports)
	return w
}

// hubClusters is the lock of the test that decides which managed clusters the hub has.
var hubClusters sync.Mutex

// holdClusters prevents other tests that call it from changing the hub's managed clusters until this test
// ends. A report names its clusters, so one more cluster on the hub changes the reports of every world.
func (w *world) holdClusters() {
	hubClusters.Lock()
	w.t.Cleanup(hubClusters.Unlock)
}

// in returns the world for a subtest.
func (w *world) in(t *testing.T) *world {
	same := *w
	same.t = t
	return &same
}

// eventually waits until the reports pass done.
func (w *world) eventually(what string, done func(state) bool) {
	w.t.Helper()
	w.witness.eventually(w.t, what, done)
}

// write replaces a file that resourcesync reads.
func (w *world) write(name string, data []byte) {
	w.t.Helper()
	aside := filepath.Join(w.folder, name+".new")
	if err := os.WriteFile(aside, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(aside, filepath.Join(w.folder, name)); err != nil {
		w.t.Fatal(err)
	}
}

// boundToken is a token that can be revoked by deleting its Secret.
type boundToken struct{ token, secret string }

// mint creates a token of the world's account.
func (w *world) mint() boundToken {
	w.t.Helper()
	client := kubernetes.NewForConfigOrDie(hub).CoreV1()
	secret, err := client.Secrets(memory.Namespace).Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "token-"},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	request, err := client.ServiceAccounts(memory.Namespace).CreateToken(w.t.Context(), account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Secret", APIVersion: "v1", Name: secret.Name, UID: secret.UID,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return boundToken{token: request.Status.Token, secret: secret.Name}
}

// withdraw revokes a token, and waits until the hub rejects it, because an API server caches valid
// tokens for some seconds.
func (w *world) withdraw(token boundToken) {
	w.t.Helper()
	secrets := kubernetes.NewForConfigOrDie(hub).CoreV1().Secrets(memory.Namespace)
	if err := secrets.Delete(w.t.Context(), token.secret, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	reviewer, err := access.Hub(hub)
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the token is not good any more", func(state) bool {
		_, err := reviewer.Review(w.t.Context(), token.token, nil)
		return errors.Is(err, access.ErrInvalidToken)
	})
}

// process is a running binary.
type process struct {
	command *exec.Cmd
	output  buffer
	ended   chan struct{}
}

// buffer is a bytes.Buffer that is safe for concurrent use.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// run starts resourcesync and stops it when the test ends.
func (w *world) run(arguments ...string) {
	w.t.Helper()
	if w.token.token == "" {
		w.token = w.mint()
		w.write("token", []byte(w.token.token))
	}
	kubeconfig := filepath.Join(w.folder, "hub.kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: hub.Host, CertificateAuthorityData: hub.CAData}
	// The hub has a separate token, which no test revokes.
	config.AuthInfos["me"] = &clientcmdapi.AuthInfo{Token: w.mint().token}
	config.Contexts["hub"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "me"}
	config.CurrentContext = "hub"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		w.t.Fatal(err)
	}
	p := &process{ended: make(chan struct{})}
	p.command = testkit.Command(w.t.Context(), binary, append([]string{
		"--kubeconfig=" + kubeconfig, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--search-url=" + w.server.URL(),
		"--search-ca-file=" + filepath.Join(w.folder, "ca.crt"),
		"--search-token-file=" + filepath.Join(w.folder, "token"),
		"--search-interval=" + interval.String(), "--intermediate-dir=" + w.reports,
	}, arguments...)...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	if err := p.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		// The output of the process shows how it ended.
		_ = p.command.Wait()
	}()
	w.process = p
	w.t.Cleanup(func() {
		p.stop(w.t)
		if w.t.Failed() {
			w.t.Logf("resourcesync said:\n%s", p.output.String())
		}
	})
}

// stop stops the process and waits until it has exited.
func (p *process) stop(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(testkit.Patience):
		_ = p.command.Process.Kill()
		<-p.ended
		t.Error("resourcesync did not end when it was asked to")
	}
}

// faults sets the server's faults, and returns the time after that.
func (w *world) faults(f search.Faults) time.Time {
	w.t.Helper()
	if err := w.server.SetFaults(f); err != nil {
		w.t.Fatal(err)
	}
	return time.Now()
}
