// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// verdict is the state of a field of the managed cluster's status on the hub.
type verdict string

const (
	same      verdict = "="
	different verdict = "≠"
	lost      verdict = "–"
)

// compare returns the verdict for every field of the cluster's status. A field is a path without indexes. It
// is the same if every one of its values is the same.
func compare(hub, cluster json.RawMessage) (map[string]verdict, error) {
	onCluster, err := flat(cluster)
	if err != nil {
		return nil, fmt.Errorf("status on the cluster: %w", err)
	}
	onHub, err := flat(hub)
	if err != nil {
		return nil, fmt.Errorf("status on the hub: %w", err)
	}
	fields := map[string]verdict{}
	for path, value := range onCluster {
		field, v := index.ReplaceAllString(path, "[]"), same
		if current, found := onHub[path]; !found {
			v = lost
		} else if current != value {
			v = different
		}
		if before, known := fields[field]; known && before != v {
			v = different // only some of its values are equal
		}
		fields[field] = v
	}
	return fields, nil
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

// flat returns every scalar of a status by its path. The path of a condition contains its type.
func flat(raw json.RawMessage) (map[string]string, error) {
	var value any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
	}
	leaves := map[string]string{}
	walk(value, "", leaves)
	return leaves, nil
}

func walk(value any, path string, leaves map[string]string) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for name, member := range value {
			walk(member, strings.TrimPrefix(path+"."+name, "."), leaves)
		}
	case []any:
		for i, entry := range value {
			at := fmt.Sprint(i)
			if object, ok := entry.(map[string]any); ok && path == "conditions" {
				at = fmt.Sprint(object["type"])
			}
			walk(entry, path+"["+at+"]", leaves)
		}
	default:
		leaves[path] = fmt.Sprint(value)
	}
}

// table returns the Markdown table of the verdicts, with a row for each field and a column for each shape.
func table(names []string, verdicts map[string]map[string]verdict) string {
	fields := map[string]bool{}
	for _, of := range verdicts {
		for field := range of {
			fields[field] = true
		}
	}
	var b strings.Builder
	b.WriteString("| field of `status` | " + strings.Join(names, " | ") + " |\n|---|" + strings.Repeat("---|", len(names)) + "\n")
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString("| `" + field + "` |")
		for _, name := range names {
			b.WriteString(" " + string(verdicts[name][field]) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
