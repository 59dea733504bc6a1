// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// files is how the last reads of the intermediate reports went. It belongs to the
// goroutine that reads them.
type files struct {
	unreadable map[types.NamespacedName]string // the error
	refused    map[types.NamespacedName]int
	allRefused int
}

func newFiles() *files {
	return &files{unreadable: map[types.NamespacedName]string{}, refused: map[types.NamespacedName]int{}}
}

// note takes in how a read went and reports whether that is to be said: a report
// that cannot be read is tried every few seconds.
func (f *files) note(key types.NamespacedName, refused int, err error) (news bool) {
	f.allRefused += refused - f.refused[key]
	news = refused != f.refused[key] && refused > 0
	if f.refused[key] = refused; refused == 0 {
		delete(f.refused, key)
	}
	if err == nil {
		delete(f.unreadable, key)
	} else if f.unreadable[key] != err.Error() {
		f.unreadable[key], news = err.Error(), true
	}
	unreadableGauge.Set(float64(len(f.unreadable)))
	refusedGauge.Set(float64(f.allRefused))
	return news
}

// readReport takes in a report that is there and good. One that is missing or
// cannot be read changes nothing: it does not say that nothing is there. An error
// means that it is to be tried again.
func (f *Feed) readReport(namespace, name string) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	report, err := f.store.Read(namespace, name)
	switch {
	case errors.Is(err, intermediate.ErrNone):
		f.files.note(key, 0, nil)
		f.fileGone(key)
	case err != nil:
		if f.files.note(key, f.files.refused[key], err) {
			f.log.Error(err, "cannot read an intermediate report; its previous content stays in use until a retry succeeds")
		}
		return err
	default:
		if f.files.note(key, report.Refused, nil) {
			f.log.Info("entries of an intermediate report are left out: a name in each of them is missing, too long or has control characters",
				"applicationSet", key.String(), "entries", report.Refused)
		}
		f.index.SetSearch(report)
	}
	return nil
}
