// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package translate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"open-cluster-management.io/multicluster-integrations/resourcesync/internal/search"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/intermediate"
)

// missing is how Argo CD, not search, spells a resource.
type missing struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func missingResources(text string) ([]missing, error) {
	if text == "" {
		return nil, nil
	}
	var list []missing
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	all := len(list)
	list = slices.DeleteFunc(list, func(m missing) bool { return !m.possible() })
	if n := all - len(list); n > 0 {
		return list, fmt.Errorf("%d of %d entries cannot be names of resources", n, all)
	}
	return list, nil
}

// possible reports whether there can be such a resource at all. The text is written
// on the managed cluster by any client that may write the Application's status there.
func (m *missing) possible() bool {
	const longest = 253
	for _, part := range []string{m.Group, m.Version, m.Namespace, m.Name} {
		if len(part) > longest || strings.ContainsFunc(part, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }) {
			return false
		}
	}
	return len(m.Kind) <= longest && !strings.ContainsFunc(m.Kind, func(r rune) bool {
		return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// resources returns the union of existing and missing resources.
func resources(existing []*search.Item, gone []missing) []intermediate.Resource {
	var out []intermediate.Resource
	for _, it := range existing {
		if contract.IsReportedKind(it.Kind) && it.OwnerUID == "" && it.Name != "" {
			out = append(out, intermediate.Resource{
				APIVersion: apiVersion(it.APIGroup, it.APIVersion), Kind: it.Kind, Namespace: it.Namespace, Name: it.Name,
			})
		}
	}
	for _, m := range gone {
		if contract.IsReportedKind(m.Kind) && m.Name != "" {
			out = append(out, intermediate.Resource{
				APIVersion: apiVersion(m.Group, m.Version), Kind: m.Kind, Namespace: m.Namespace, Name: m.Name,
			})
		}
	}
	slices.SortFunc(out, CompareResources)
	return slices.Compact(out)
}

func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// CompareResources orders resources.
func CompareResources(a, b intermediate.Resource) int {
	return cmp.Or(
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}
