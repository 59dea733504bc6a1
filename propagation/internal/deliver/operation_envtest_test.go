// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

const syncOperation = `{"initiatedBy":{"username":"admin"},"sync":{"revision":"main"}}`

func ask(t *testing.T, app *argocd.Application) {
	t.Helper()
	edit(t, app, func(a *argocd.Application) { a.Operation = []byte(syncOperation) })
}

// deliveredTo returns the managed cluster of a delivered Application.
func deliveredTo(t *testing.T, app *argocd.Application, cluster string) *managed {
	t.Helper()
	m := &managed{t: t, work: client.ObjectKeyFromObject(delivered(t, app, cluster))}
	m.apply()
	m.report()
	return m
}

// sent waits until the work carries the operation, and lets the agent apply it.
func sent(t *testing.T, app *argocd.Application, m *managed) {
	t.Helper()
	testkit.Eventually(t, "the operation in the work", func() error { return carries(t, app, `"operation":`) })
	m.apply()
}

// settledAgain waits until neither the hub nor the work carries a request.
func settledAgain(t *testing.T, app *argocd.Application, m *managed) {
	t.Helper()
	testkit.Eventually(t, "the request to be gone from the hub", func() error {
		stored := &argocd.Application{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
			return err
		}
		if len(stored.Operation) > 0 || stored.Annotations[argocd.RefreshAnnotation] != "" || storedConditions(t, app)[request.ClaimCondition] != "" {
			return fmt.Errorf("operation %s, annotations %v, conditions %v", stored.Operation, stored.Annotations, storedConditions(t, app))
		}
		return nil
	})
	testkit.Eventually(t, "the request to be gone from the work", func() error {
		work := m.get()
		if work == nil {
			return errors.New("there is no work")
		}
		raw := string(work.Spec.Workload.Manifests[len(work.Spec.Workload.Manifests)-1].Raw)
		if strings.Contains(raw, `"operation":`) || strings.Contains(raw, argocd.RefreshAnnotation) || work.Annotations[contract.RequestAnnotation] != "" {
			return fmt.Errorf("it carries %s", raw)
		}
		return nil
	})
	if m.ran > 0 {
		showsOperation(t, app, m)
	}
	m.apply()
	m.report()
}

// showsOperation checks the initiator and the start of the last operation in the hub's status.
func showsOperation(t *testing.T, app *argocd.Application, m *managed) {
	t.Helper()
	stored := &argocd.Application{}
	if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
		t.Fatal(err)
	}
	var status struct {
		OperationState struct {
			StartedAt string
			Operation struct {
				InitiatedBy struct{ Username string }
			}
		}
	}
	if err := json.Unmarshal(stored.Status, &status); err != nil {
		t.Fatalf("decode %s: %v", stored.Status, err)
	}
	if state := status.OperationState; state.Operation.InitiatedBy.Username != "admin" || state.StartedAt != m.startedAt {
		t.Errorf("the hub shows the operation %s, want that of admin at %s", stored.Status, m.startedAt)
	}
}

func TestOperation_runsOnce(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	for i := 1; i <= 2; i++ { // the same operation again is a second request
		ask(t, app)
		sent(t, app, m)
		m.apply() // the agent's timer
		m.report()
		m.begin()
		m.report()
		m.end()
		m.apply()
		m.report()
		settledAgain(t, app, m)
		m.begin()
		if m.ran != i {
			t.Fatalf("after %d requests the managed cluster ran %d operations", i, m.ran)
		}
	}
}

// A pending or running operation stays in the work. If propagation removed it there, the agent would remove
// it from the Application.
func TestOperation_staysUntilItHasRun(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	ask(t, app)
	sent(t, app, m)
	m.report() // applied, but Argo CD has not started the operation
	edit(t, app, func(a *argocd.Application) {
		a.Spec = []byte(strings.Replace(string(a.Spec), `"path":"guestbook"`, `"path":"edited"`, 1))
	})
	awaitCondition(t, app, policy.WarningCondition, "changes wait until cluster")
	if err := carries(t, app, `"path":"edited"`); err == nil {
		t.Error("the edit was delivered together with the operation, which may have run")
	}
	m.begin()
	m.report()
	m.end()
	m.report()
	testkit.Eventually(t, "the edit", func() error { return carries(t, app, `"path":"edited"`) })
	settledAgain(t, app, m)
	m.begin()
	awaitCondition(t, app, policy.WarningCondition, "")
	if m.ran != 1 {
		t.Errorf("the managed cluster ran %d operations", m.ran)
	}
}

func TestOperation_endsOnTermination(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	ask(t, app)
	sent(t, app, m)
	m.begin()
	m.report()
	edit(t, app, func(a *argocd.Application) { // as argocd app terminate-op does
		a.Status = withOperationState(t, a.Status, `{"operation":{},"phase":"Terminating","startedAt":"2026-11-20T10:00:00Z"}`)
	})
	testkit.Eventually(t, "the termination in the work", func() error { return carries(t, app, `"phase":"Terminating"`) })
	m.apply()
	m.report()
	settledAgain(t, app, m)
	if m.ran != 1 || m.ended != 1 {
		t.Errorf("the managed cluster ran %d and ended %d operations", m.ran, m.ended)
	}
}

// If the user removes a request before it has run, propagation removes it from the work as well.
func TestOperation_isRemovedWithItsRequest(t *testing.T) {
	start(t)
	p := newPlace(t)
	app := p.deploy("guestbook")
	m := deliveredTo(t, app, p.cluster)
	ask(t, app)
	sent(t, app, m)
	edit(t, app, func(a *argocd.Application) { a.Operation = nil })
	settledAgain(t, app, m)
	if m.ran != 0 {
		t.Errorf("the managed cluster ran %d operations", m.ran)
	}
}

// startToCrash starts a propagation that stops at its n-th write for p. The write is not sent, or its answer
// is lost.
func startToCrash(t *testing.T, p *place, n int64, sent bool) (dead *propagation, crashed <-chan struct{}) {
	var writes atomic.Int64
	over := make(chan struct{})
	crash := sync.OnceFunc(func() { close(over) })
	return startWith(t, func(c client.Client) client.Client {
		return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if o.GetNamespace() != p.namespace && o.GetNamespace() != p.cluster {
					return c.Patch(ctx, o, patch, opts...)
				}
				switch count := writes.Add(1); {
				case count < n:
					return c.Patch(ctx, o, patch, opts...)
				case count == n && sent:
					_ = c.Patch(ctx, o, patch, opts...)
				}
				crash()
				return errors.New("crashed")
			},
		})
	}), over
}

// propagation crashes at its n-th write and is started again. The write is not sent, or its answer is lost.
// The operation runs exactly once.
func TestOperation_runsOnceAcrossCrashes(t *testing.T) {
	for _, lost := range []string{"request", "answer"} {
		for n := int64(1); n <= 5; n++ {
			t.Run(fmt.Sprintf("%s-%d", lost, n), func(t *testing.T) {
				first := start(t)
				p := newPlace(t)
				app := p.deploy("guestbook")
				m := deliveredTo(t, app, p.cluster)
				first.stop()

				dead, crashed := startToCrash(t, p, n, lost == "answer")
				ask(t, app)
				play := func() {
					m.apply()
					m.begin()
					m.end()
					m.report()
				}
				over := false
				testkit.Eventually(t, "the crash", func() error {
					play()
					select {
					case <-crashed:
						over = true
					default:
						stored := &argocd.Application{}
						if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
							return err
						}
						over = len(stored.Operation) == 0 && m.get().Annotations[contract.RequestAnnotation] == ""
					}
					if !over {
						return errors.New("propagation still works")
					}
					return nil
				})
				dead.stop()
				start(t)
				testkit.Eventually(t, "the end of the request", func() error {
					play()
					stored := &argocd.Application{}
					if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), stored); err != nil {
						return err
					}
					if len(stored.Operation) > 0 {
						return errors.New("it is still on the hub")
					}
					return nil
				})
				settledAgain(t, app, m)
				play()
				if m.ran != 1 {
					t.Errorf("the managed cluster ran %d operations", m.ran)
				}
			})
		}
	}
}
