// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/decide"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// applier carries plans out. Every write is independent: a failed one does not stop the others, and
// the process may be killed between any two.
type applier struct {
	writer   *writer
	requests *operations
	reporter *reporter
}

// apply carries a plan out. Removals come before the write of the current work, because they rest
// on the current work as it is now.
func (a *applier) apply(ctx context.Context, p pass) error {
	app := p.facts.Application
	if app == nil {
		a.reporter.tracker.forget(p.facts.Key)
		a.requests.refreshes.forget(p.facts.Key)
	}
	ofApp := a.requests.next(ctx, &p)
	var ofWorks failures
	a.endAll(ctx, &p, &ofWorks)
	var unwritten error // its refusal is already in the report
	if p.plan.Write != nil {
		unwritten = a.write(ctx, &p)
	}
	a.refreshAll(ctx, &p, &ofWorks)
	// The works of an abandoned Application get their ending first, unless the API server rejects
	// it.
	waits := p.plan.Release == decide.Abandoned && ofWorks.again
	if p.plan.Release != decide.NoRelease && !waits {
		ofApp = errors.Join(ofApp, a.release(ctx, &p))
	}
	failed := errors.Join(ofApp, ofWorks.own)
	refusal := rejection(failed)
	failed = errors.Join(failed, unwritten)
	switch {
	case app == nil, failed != nil && rejection(failed) == nil, p.plan.Report == nil && rejection(ofApp) == nil:
		return errors.Join(failed, ofWorks.others) // a retry or the next event leads to a report
	case p.facts.StatusProblem != "" && failed == nil && ofWorks.others == nil: // errors are tried again
		return reconcile.TerminalError(fmt.Errorf("read status of Application %s: %s", p.facts.Key, p.facts.StatusProblem))
	}
	return errors.Join(failed, ofWorks.others, a.report(ctx, &p, refusal))
}

// failures are the errors of the writes of ManifestWorks.
type failures struct {
	// own are about the Application's own works, others about works that only name it. An agent can
	// have its works name any Application, so that others neither change nor delay its report.
	own, others error
	// again is true if a failed write of an own work may succeed later.
	again bool
}

func (f *failures) add(own bool, err error) {
	if !own {
		f.others = errors.Join(f.others, err)
		return
	}
	f.own, f.again = errors.Join(f.own, err), f.again || err != nil && !isRejected(err)
}

// endAll does the next step of each removal that may proceed.
func (a *applier) endAll(ctx context.Context, p *pass, failed *failures) {
	ends.set(p.plan, p.verdict)
	for _, t := range p.plan.Fates {
		work := p.work(t.UID)
		if !p.verdict.May(t) || work == nil {
			continue
		}
		failed.add(t.Own, a.end(ctx, p, work, t))
	}
}

func (a *applier) end(ctx context.Context, p *pass, work *decide.Work, t decide.Fate) error {
	switch t.Next {
	case decide.StepDelete:
		leaves := t.How.Orphan || len(t.How.Finalizers) == 0
		return a.writer.deleteWork(ctx, work.Work, string(t.Why), leaves)
	case decide.StepWrite:
		spec, _, err := payload.EndingOf(work.Live, t.How)
		if err != nil {
			return fmt.Errorf("end ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
		}
		if err := a.writer.writeEnding(ctx, work.Live, spec, t.How); err != nil {
			return err
		}
		if p.facts.Application == nil && payload.Cascades(&work.Live.Spec) && !payload.Cascades(spec) {
			a.reporter.recordNotPruned(ctx, work, p.facts.Key)
		}
	case decide.StepWait:
		a.reporter.recordWaiting(ctx, work, t.Wait)
	}
	return nil
}

// write writes the desired work: it updates the current work or creates one.
func (a *applier) write(ctx context.Context, p *pass) error {
	w, app := *p.plan.Write, p.facts.Application
	a.requests.sending(p)
	var err error
	if w.Request.Replaced && w.Request.Step == request.StepSend {
		if w.Inputs.Request, err = a.requests.withCarriedRequest(ctx, w.Current.Work, w.Request.Request); err != nil {
			return err
		}
		w.Request.Request = w.Inputs.Request
		if w.Desired, err = w.Build(); err != nil {
			return fmt.Errorf("build ManifestWork for Application %s: %w", p.facts.Key, err)
		}
	}
	put, err := a.writer.applyWork(ctx, app, cachedOf(w.Current), w.Desired, w.Request)
	var own *existingWorkError
	if errors.As(err, &own) && own.work.DeletionTimestamp == nil {
		w.Current = &decide.Work{Work: own.work}
		if w.Desired, err = w.Build(); err != nil {
			return fmt.Errorf("build ManifestWork for Application %s: %w", p.facts.Key, err)
		}
		put, err = a.writer.applyWork(ctx, app, own.work, w.Desired, w.Request)
	}
	what := "not delivered"
	if payload.Observes(app) {
		what = "not observed"
	}
	switch {
	case errors.As(err, &own):
		p.plan.Report = waitFor(own.work)
		return nil
	case isRejected(err):
		p.plan.Report = refused(what, err)
		return err
	case err != nil:
		return err
	}
	taken, err := a.writer.nameTaken(ctx, app, w.Desired.Namespace, put.name)
	if p.plan.Report != nil {
		p.plan.Report.Warnings = append(slices.Clip(p.plan.Report.Warnings), append(put.warnings, taken...)...)
	}
	return err
}

// waitFor reports that the delivery waits for a terminating work.
func waitFor(work *manifestcache.Work) *policy.Decision {
	return policy.Refuse(policy.ReasonWaitingForOld,
		"not delivered yet: cluster %q has not finished removing the earlier copy (ManifestWork %s)", work.Namespace, work.Name)
}

// refused is the report about a ManifestWork that the API server rejects.
func refused(what string, err error) *policy.Decision {
	return policy.Refuse(policy.ReasonRefused, "%s: the API server refused the ManifestWork: %v", what, err)
}

func cachedOf(w *decide.Work) *manifestcache.Work {
	if w == nil {
		return nil
	}
	return w.Work
}

// refreshAll updates the AppProject and the automation in works that stay.
func (a *applier) refreshAll(ctx context.Context, p *pass, failed *failures) {
	for i, t := range p.plan.Fates {
		work := &p.facts.Works[i]
		if p.verdict.May(t) && t.Next != decide.StepWait {
			continue // written or deleted just now
		}
		if t.Project {
			failed.add(t.Own, a.writer.updateProject(ctx, work.Work))
		}
		switch t.Automation { // only where there is an Application
		case decide.AutomationOut:
			failed.add(t.Own, a.writer.pauseSync(ctx, work.Work, a.requests.over(&p.facts, work)))
		case decide.AutomationBack:
			failed.add(t.Own, a.writer.resumeSync(ctx, work.Work, a.requests.over(&p.facts, work)))
		case decide.AutomationStays:
		}
	}
}

// release removes the finalizers of Argo CD from a deleted Application. An Event and the log record
// the workloads that it may have left on clusters.
func (a *applier) release(ctx context.Context, p *pass) error {
	app := p.facts.Application
	kept := slices.DeleteFunc(slices.Clone(app.Finalizers), payload.IsArgoFinalizer)
	switch p.plan.Release {
	case decide.Undone:
		ctrl.LoggerFrom(ctx).Info("released a deleted Application without withdrawing it")
	case decide.Abandoned:
		a.reporter.recordLeft(ctx, p)
	case decide.AfterProof, decide.NoRelease:
	}
	return a.writer.release(ctx, app, kept)
}

// report writes the conditions of the Application. refusal is an error of a write that the API
// server would return again, or nil.
func (a *applier) report(ctx context.Context, p *pass, refusal error) error {
	v := *cmp.Or(p.plan.Report, &policy.Decision{})
	if refusal != nil {
		v = with(v, policy.Message{Reason: policy.ReasonRefused, Text: fmt.Sprintf("not finished: the API server refused to %.500v", refusal)})
	}
	if v.Refusal.Reason == policy.ReasonDeleting && v.Refusal.Text == "" && p.verdict.Held == "" {
		return nil // the next event leads to it
	}
	return a.reporter.updateConditions(ctx, p.facts.Application, v, p.verdict.Held)
}
