// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/env"
	"open-cluster-management.io/multicluster-integrations/e2e/must"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

const guestbookPath = "guestbook/guestbook.yaml"

var errNoReport = errors.New("there is no report")

// reason is a part of the API server's answer to the commit of [Scenario.Break].
const reason = "immutable"

// Change pushes another colour and waits until it is synced and healthy everywhere.
func (s *Scenario) Change(ctx context.Context) error {
	content, err := s.fleet.Git.Read(guestbookPath)
	if err != nil {
		return err
	}
	return s.pushColor(ctx, content, "blue", "green", "from a commit to the report", s.watch.commitStages)
}

// pushColor pushes content with another colour and waits until the commit has passed all stages on every
// managed cluster.
func (s *Scenario) pushColor(ctx context.Context, content, from, to, title string, stages func(revision string) func(cluster string) []mark) (err error) {
	defer must.Return(&err)
	painted := must.Get(replaceAll(content, map[string]string{"color: " + from: "color: " + to}))
	began := time.Now()
	revision := must.Get(s.push(ctx, painted, "Paint it "+to))
	return s.measure(ctx, title, began, stages(revision))
}

// Break pushes a commit that changes an immutable field of a Deployment. It waits until every hub Application
// and the report show the API server's reason, and until the intermediate report has it, too.
func (s *Scenario) Break(ctx context.Context) (err error) {
	defer must.Return(&err)
	content := must.Get(s.fleet.Git.Read(guestbookPath))
	s.original = content
	broken := must.Get(replaceAll(content, map[string]string{
		"matchLabels: {app: guestbook-ui}": "matchLabels: {app: guestbook-next}",
		"labels: {app: guestbook-ui}":      "labels: {app: guestbook-next}",
	}))
	began := time.Now()
	revision := must.Get(s.push(ctx, broken, "Change the selector of a Deployment, which no API server accepts"))
	must.OK(s.measure(ctx, "from a commit that cannot sync to its error in the report", began, func(cluster string) []mark {
		name := application(cluster)
		return []mark{
			{"Argo CD on the managed cluster fails", s.watch.fails(cluster, name, revision)},
			{"the hub Application has the error", s.watch.fails(hub, name, revision)},
			{"the report has the error", func() (bool, string) {
				row, _ := s.watch.view.ReportRow(ApplicationSet, name)
				for _, c := range row.Conditions {
					if strings.Contains(c.Message, reason) {
						return true, ""
					}
				}
				return false, row.String()
			}},
		}
	}))
	for _, c := range s.fleet.Managed {
		row, _ := s.watch.view.ReportRow(ApplicationSet, application(c.Name))
		s.logf("%s, in the report: %s", c.Name, row.Message())
	}
	return s.awaitIntermediateReport(ctx)
}

// awaitIntermediateReport waits until the intermediate report has the error and the resources of every
// Application, which come from search.
func (s *Scenario) awaitIntermediateReport(ctx context.Context) error {
	store := intermediate.NewStore(s.fleet.Product.IntermediateDir(0))
	_, err := s.watch.view.Await(ctx, "the intermediate report to have resources and the error of every Application", func() (bool, string) {
		report, err := store.Read(env.ArgoCDNamespace, ApplicationSet)
		if err != nil {
			return false, err.Error()
		}
		count := 0
		for i := range report.Applications {
			a := &report.Applications[i]
			if len(a.Resources) > 0 && slices.ContainsFunc(a.Conditions, func(c intermediate.Condition) bool { return strings.Contains(c.Message, reason) }) {
				count++
			}
		}
		return count == len(s.fleet.Managed), fmt.Sprintf("%d Applications, %d of them with both", len(report.Applications), count)
	})
	return err
}

// fails returns a check that an Application shows the reason why the revision did not sync.
func (w watch) fails(where, name, revision string) func() (bool, string) {
	return func() (bool, string) {
		a, ok := w.view.Application(where, name)
		if !ok {
			return false, "no Application " + name + " on " + where
		}
		count := strings.Contains(a.PhaseMessage, reason)
		for _, c := range a.Conditions {
			count = count || strings.Contains(c.Message, reason)
		}
		return count && a.Revision == revision, a.String()
	}
}

// Fix pushes the earlier guestbook with a third colour. It waits until all errors are gone and the new
// revision is synced and healthy everywhere. Argo CD syncs the new revision after it has given up on the
// broken one.
func (s *Scenario) Fix(ctx context.Context) error {
	return s.pushColor(ctx, s.original, "green", "red", "from the commit that fixes it to the report", s.watch.commitStages)
}

func (s *Scenario) push(ctx context.Context, content, message string) (revision string, err error) {
	if revision, err = s.fleet.Git.Commit(ctx, message, map[string]string{guestbookPath: content}); err == nil {
		s.logf("pushed %s: %s", Short(revision), message)
	}
	return revision, err
}

// replaceAll replaces texts. Each of them must exist.
func replaceAll(content string, replacements map[string]string) (string, error) {
	for old, replacement := range replacements {
		if !strings.Contains(content, old) {
			return "", fmt.Errorf("the guestbook manifest does not contain %q", old)
		}
		content = strings.ReplaceAll(content, old, replacement)
	}
	return content, nil
}
