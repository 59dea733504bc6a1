// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"crypto/sha256"
	"slices"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/translate"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// lists keeps each list of resources once for each ApplicationSet, as its report does. The
// Applications of an ApplicationSet usually deploy the same on all clusters.
type lists struct {
	kept  map[[sha256.Size]byte]*list
	bytes int // of all in the reports
}

type list struct {
	resources []intermediate.Resource
	users     int
}

func newLists() lists { return lists{kept: map[[sha256.Size]byte]*list{}} }

// use returns the Applications with the lists that are kept.
func (l *lists) use(apps []translate.Application) []translate.Application {
	apps = slices.Clone(apps)
	for i := range apps {
		if len(apps[i].Resources) == 0 {
			continue
		}
		key := keyOf(&apps[i])
		have := l.kept[key]
		if have == nil {
			have = &list{resources: apps[i].Resources}
			l.kept[key] = have
			l.bytes += translate.ListSize(have.resources)
		}
		have.users++
		apps[i].Resources = have.resources
	}
	return apps
}

// release drops the lists that no Application uses any more.
func (l *lists) release(apps []translate.Application) {
	for i := range apps {
		if len(apps[i].Resources) == 0 {
			continue
		}
		key := keyOf(&apps[i])
		if have := l.kept[key]; have != nil {
			if have.users--; have.users == 0 {
				delete(l.kept, key)
				l.bytes -= translate.ListSize(have.resources)
			}
		}
	}
}

// keyOf returns the key of an Application's list in the report of its ApplicationSet.
func keyOf(a *translate.Application) [sha256.Size]byte {
	text := append([]byte(a.Set.String()), 0) // no name has a control character
	for i := range a.Resources {
		r := &a.Resources[i]
		for _, part := range [...]string{r.APIVersion, r.Kind, r.Namespace, r.Name} {
			text = append(append(text, part...), 0)
		}
	}
	return sha256.Sum256(text)
}
