// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	workv1 "open-cluster-management.io/api/work/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/budget"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/refreshes"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/boot"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// How long to wait before another look, by what is waited for. Changes of what we
// watch are seen at once; these are for the rest.
const (
	afterConflict = boot.ConflictDelay // another controller wrote first; the cache will have it
	afterUnseen   = 5 * time.Second    // a work that the cache does not have
	afterPending  = time.Minute        // an agent to apply how a work ends; its event comes first
	afterMirror   = 10 * time.Second   // the hub's status to say what a refresh has found
	afterRefusal  = 30 * time.Second   // an admission webhook or a missing namespace may come round
)

// Reconciler delivers one Application at a time: it gathers what is known, has policy decide,
// and has its parts carry that out.
type Reconciler struct {
	*gatherer
	*identities
	*unlabelledWorks
	*writer
	*operations
	*reporter
	*ender
}

// newReconciler puts the parts together.
func newReconciler(g *gatherer, recorder events.EventRecorder, sent *refreshes.Memory) *Reconciler {
	timing := &tracker{}
	r := &Reconciler{
		gatherer: g, identities: &identities{g}, unlabelledWorks: &unlabelledWorks{gatherer: g}, writer: &writer{gatherer: g, tracker: timing},
		operations: &operations{gatherer: g, refreshes: sent}, reporter: &reporter{gatherer: g, events: recorder, tracker: timing},
	}
	r.ender = &ender{gatherer: g, writer: r.writer, reporter: r.reporter}
	return r
}

// newWatcher returns what leads changes to r.
func newWatcher(r *Reconciler) *watcher {
	return &watcher{
		gatherer: r.gatherer, identities: r.identities, reporter: r.reporter, unlabelled: &r.unlabelled,
		lastApplied: &r.lastApplied, tracker: r.reporter.tracker, swept: make(chan event.GenericEvent),
	}
}

// +kubebuilder:rbac:groups=argoproj.io,resources=applications,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=argoproj.io,resources=appprojects,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=managedclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.open-cluster-management.io,resources=placementdecisions,verbs=list;watch
// +kubebuilder:rbac:groups=work.open-cluster-management.io,resources=manifestworks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=multicluster-integrations,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=multicluster-integrations,resources=events,verbs=create;patch

// Setup adds delivery to mgr, of whose cache index is. It notes the refreshes that it sends in sent.
func Setup(ctx context.Context, mgr ctrl.Manager, index *manifestcache.Index, sent *refreshes.Memory, options Options) error {
	if err := errors.Join(addIndexes(ctx, mgr.GetFieldIndexer(), options.ArgoCDNamespace), addAgentIndexes(ctx, mgr.GetFieldIndexer(), options)); err != nil {
		return err
	}
	g := &gatherer{client: mgr.GetClient(), live: mgr.GetAPIReader(), index: index, options: options, now: time.Now}
	recorder := mgr.GetEventRecorder("propagation")
	g.withdrawals = withdrawals{budget.New(g.client, g.live, index, recorder, budget.Options{Settings: options.Withdrawals, Namespace: options.HubNamespace})}
	r := newReconciler(g, recorder, sent)
	changes := newWatcher(r)
	if err := changes.watch(ctx, mgr, r); err != nil {
		return err
	}
	if err := errors.Join(mgr.Add(manager.RunnableFunc(changes.sweep)), mgr.Add(g.withdrawals.Budget)); err != nil {
		return fmt.Errorf("add sweep and budget: %w", err)
	}
	return nil
}

// Reconcile brings one Application's ManifestWork to what the Application, its
// cluster and its namespace's placements ask for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.withdrawals.begin(req.NamespacedName)
	result, err := r.reconcile(ctx, req)
	r.withdrawals.end(req.NamespacedName, err)
	if err != nil {
		errorsTotal.WithLabelValues(errorKind(err)).Inc()
	}
	if apierrors.IsConflict(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("another client wrote the object first; trying again", "cause", err.Error())
		return ctrl.Result{RequeueAfter: afterConflict}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app, err := r.application(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	works, err := r.works(req.NamespacedName)
	if err == nil {
		works, err = r.withUnlabelled(ctx, req.NamespacedName, app, works)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	switch {
	case app == nil:
		return r.reconcileMissing(ctx, req.NamespacedName, works)
	case app.DeletionTimestamp != nil:
		return r.reconcileDelete(ctx, app, works)
	}
	w, err := r.readInputs(ctx, r.cached(), app)
	if err != nil {
		return ctrl.Result{}, err
	}
	v := policy.Decide(w)
	r.gracePeriods.decided(app, w, v)
	if !v.Deliver {
		return r.withdrawRefused(ctx, app, works, v)
	}
	pause, err := r.pauseOf(ctx, app)
	if err != nil {
		return ctrl.Result{}, err
	}
	if pause.Word != "" {
		return r.pausedDelivery(ctx, w, works, pause, v.Warnings)
	}
	return r.deliver(ctx, w, works, v.Warnings)
}

// progress is how far a delivery has got.
type progress int

const (
	progressWaiting progress = iota // for something that ends by itself
	progressRefused                 // until the Application or the hub is changed
	progressDone                    // the wanted work is on the hub
)

// delivery is what came of an attempt.
type delivery struct {
	state progress
	// decision is to be said, unless silent.
	decision policy.Decision
	silent   bool
	// after is when to try again, 0 for not by the clock.
	after time.Duration
}

// deliver makes the hub's ManifestWork the wanted one and withdraws what an earlier
// wish left elsewhere, whatever becomes of the first.
func (r *Reconciler) deliver(ctx context.Context, w policy.Inputs, works []manifestcache.Cached, warnings []policy.Message) (ctrl.Result, error) {
	c, err := r.copiesOf(ctx, w.Application, works)
	if err != nil {
		return ctrl.Result{}, err
	}
	d, failed := r.apply(ctx, w, c, warnings)
	if failed == nil && d.state != progressDone && !d.silent {
		failed = r.updateProjects(ctx, c.standing())
	}
	wait, err := r.withdrawOld(ctx, w.Application, c, d.state)
	switch {
	case failed != nil:
		return ctrl.Result{}, failed
	case err != nil:
		return ctrl.Result{}, err
	case d.silent:
		return ctrl.Result{RequeueAfter: sooner(wait, d.after)}, nil
	}
	return ctrl.Result{RequeueAfter: sooner(wait, d.after)}, r.updateConditions(ctx, w.Application, d.decision)
}

// apply makes the current work the wanted one, or a new one when there is none.
func (r *Reconciler) apply(ctx context.Context, w policy.Inputs, c copies, warnings []policy.Message) (delivery, error) {
	other, err := r.holderOf(ctx, w.Application, c)
	if err != nil {
		return delivery{}, err
	}
	if other != nil {
		return r.yield(ctx, w.Application, c, other)
	}
	if c.current == nil && c.terminating != nil {
		return waitFor(c.terminating), nil
	}
	d, err := r.write(ctx, w, c.current, warnings)
	var own *existingWorkError
	if !errors.As(err, &own) {
		return d, err
	}
	if own.work.DeletionTimestamp != nil {
		return waitFor(own.work), nil
	}
	return r.write(ctx, w, own.work, warnings)
}

// waitFor is the delivery that waits for a terminating work.
func waitFor(work *manifestcache.Cached) delivery {
	return delivery{after: afterUncached(*work), decision: policy.Refuse(policy.ReasonWaitingForOld,
		"not delivered yet: cluster %q has not finished removing the earlier copy (ManifestWork %s)", work.Namespace, work.Name)}
}

// write makes current, or a new work, the wanted one.
func (r *Reconciler) write(ctx context.Context, w policy.Inputs, current *manifestcache.Cached, warnings []policy.Message) (delivery, error) {
	if size := manifestcache.OmittedSpec(w.Application.Spec); size > 0 {
		return r.tooLarge(size), nil
	}
	if payload.Observes(w.Application) {
		return r.observe(ctx, w, current, warnings)
	}
	next, written, err := r.request(ctx, w, current)
	if err != nil || written {
		return delivery{silent: true}, err
	}
	want, err := payload.ManifestWork(r.payloadInputs(w, current, next.Request))
	if err != nil {
		return delivery{}, fmt.Errorf("build ManifestWork for Application %s: %w", client.ObjectKeyFromObject(w.Application), err)
	}
	bindToUID(w.Application, current, want)
	if size := payload.Size(want); size > r.options.SizeLimit {
		return r.tooLarge(size), nil
	}
	put, err := r.applyWork(ctx, w.Application, current, want, next.Plan)
	if err != nil {
		return notApplied("not delivered", current, err)
	}
	taken, err := r.nameTaken(ctx, w.Application, want.Namespace, put.name)
	warnings = append(alreadyThere(w.Application, current), warnings...)
	return delivery{state: progressDone, after: next.after, decision: policy.Decision{Deliver: true, Warnings: append(append(warnings, put.warnings...), taken...)}}, err
}

// tooLarge refuses an Application whose manifests have size bytes, or its spec alone.
func (r *Reconciler) tooLarge(size int) delivery {
	return delivery{state: progressRefused, decision: policy.Refuse(policy.ReasonTooLarge,
		"not delivered: the ManifestWork would hold %d bytes of manifests and the limit is %d; make the Application smaller (move inline values into git)", size, r.options.SizeLimit)}
}

// payloadInputs collects what goes into the work, which is current unless that is nil.
func (f *gatherer) payloadInputs(w policy.Inputs, current *manifestcache.Cached, q request.Request) payload.Inputs {
	p := payload.Inputs{Application: w.Application, CreateNamespace: f.options.Namespace, Request: q, Orphan: w.OnWithdraw.Word == payload.WithdrawOrphan, HasAgent: w.HasAgent, InstanceLabel: f.options.InstanceLabel}
	if w.OnWithdraw.AsBefore && current != nil {
		p.Orphan = current.Annotations[contract.OnWithdrawAnnotation] != ""
	}
	if w.Project != nil {
		p.Project = w.Project
		p.ProjectNamespace = payload.ProjectNamespace(w.Application, f.options.ArgoCDNamespace)
	}
	return p
}

// recordEvent records a message on the Application.
func (rep *reporter) recordEvent(app *argocd.Application, f policy.Message, kind string) {
	rep.events.Eventf(app, nil, kind, f.Reason, "Deliver", "%s", f.Text)
}

func (rep *reporter) recordWarning(app *argocd.Application, f policy.Message) {
	rep.recordEvent(app, f, corev1.EventTypeWarning)
}

// full returns a cached work as a ManifestWork, nil for none.
func full(work *manifestcache.Cached) *workv1.ManifestWork {
	if work == nil {
		return nil
	}
	return &work.ManifestWork
}
