// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"k8s.io/apimachinery/pkg/types"
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

// note records the result of a read. news is true if the result has to be logged. The log does not
// repeat it, because a report that cannot be read is tried again every few seconds.
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
