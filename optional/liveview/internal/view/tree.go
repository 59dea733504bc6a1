// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// checkTree fails on what is no ApplicationTree. Fields that Argo CD would read as one of the
// two lists, but that are spelled otherwise, go.
func checkTree(tree object) error {
	if tree == nil {
		return errors.New("it is null")
	}
	delete(tree, "shardsCount")
	for _, list := range lists {
		if err := isListOfObjects(tree[list]); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		maps.DeleteFunc(tree, func(name string, _ any) bool { return name != list && strings.EqualFold(name, list) })
	}
	return nil
}

// statusFields are kept of the status of an Application. summary has links and is not
// needed.
var statusFields = []string{"resources", "resourceHealthSource"}

// StatusOf returns what a view needs of the status of an Application.
func StatusOf(all map[string]any) map[string]any {
	status := object{}
	for _, field := range statusFields {
		if value, ok := all[field]; ok {
			status[field] = value
		}
	}
	return status
}

// checkStatus fails on a status that argocd-server could not read.
func checkStatus(status object) error {
	if err := isListOfObjects(status["resources"]); err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	if source := status["resourceHealthSource"]; source != nil && source != "appTree" && source != "" {
		return fmt.Errorf("resourceHealthSource is %v", source)
	}
	return nil
}

// decode keeps numbers as they are written.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON")
	}
	return nil
}

func isListOfObjects(value any) error {
	if value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("it is no list")
	}
	for i, item := range list {
		if _, ok := item.(object); !ok {
			return fmt.Errorf("number %d is no object", i)
		}
	}
	return nil
}

// lists are the lists of a tree that hold resources.
var lists = []string{"nodes", "orphanedNodes"}

// nodes calls f with each resource of a tree.
func nodes(tree object, f func(node object)) {
	for _, name := range lists {
		list, _ := tree[name].([]any)
		for _, item := range list {
			if node, ok := item.(object); ok {
				f(node)
			}
		}
	}
}

// Merge joins the further shards of a tree to its first, as Argo CD does.
func Merge(first []byte, next ...[]byte) ([]byte, error) {
	var tree object
	if err := decode(first, &tree); err != nil {
		return nil, fmt.Errorf("read the resource tree: %w", err)
	}
	for i, raw := range next {
		var shard object
		if err := decode(raw, &shard); err != nil {
			return nil, fmt.Errorf("read shard %d of the resource tree: %w", i+1, err)
		}
		for _, list := range []string{"nodes", "orphanedNodes", "hosts"} {
			more, _ := shard[list].([]any)
			if before, _ := tree[list].([]any); len(more) > 0 {
				tree[list] = append(before, more...)
			}
		}
	}
	return json.Marshal(tree)
}

// Shards returns the number of shards of a tree. first is its first shard. It is 1 for a whole
// tree.
func Shards(first []byte) (int, error) {
	var tree struct{ ShardsCount int }
	if err := json.Unmarshal(first, &tree); err != nil {
		return 0, fmt.Errorf("read the resource tree: %w", err)
	}
	return max(tree.ShardsCount, 1), nil
}

// annotate shows a text at the resources at the top of the tree, or at the first resource if all
// have parents. Argo CD's page shows the value as a label, and the name as its tooltip.
func annotate(tree object, name, value string) {
	list, _ := tree["nodes"].([]any)
	top := slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		node, ok := item.(object)
		parents, _ := node["parentRefs"].([]any)
		return !ok || len(parents) > 0
	})
	if len(top) == 0 {
		top = list[:min(1, len(list))]
	}
	for _, item := range top {
		node, ok := item.(object)
		if !ok {
			continue
		}
		kept := []any{object{"name": name, "value": value}}
		before, _ := node["info"].([]any)
		for _, i := range before {
			if info, ok := i.(object); !ok || info["name"] != name {
				kept = append(kept, i)
			}
		}
		node["info"] = kept
	}
}

// sanitize makes a tree harmless on the hub. Without UIDs, argocd-server refuses live manifests,
// logs, terminals, deletions and actions for the resources in the tree. It would run them on the
// destination of the hub Application, which may be the hub. Links that are not web links are
// removed, because a page would run a javascript URL with the rights of its reader. Names match in
// any case, as in argocd-server. A parent has [noUID]: argocd's command line joins parents and
// children by UID, and would take each resource without one for its own parent.
func sanitize(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			sanitize(item)
		}
	case object:
		for name, field := range v {
			switch {
			case strings.EqualFold(name, "uid"), strings.EqualFold(name, "shardsCount"):
				delete(v, name)
			case strings.EqualFold(name, "externalURLs"):
				v[name] = webLinks(field)
			case strings.EqualFold(name, "parentRefs"):
				sanitize(field)
				parents, _ := field.([]any)
				for _, item := range parents {
					if parent, ok := item.(object); ok {
						parent["uid"] = noUID
					}
				}
			default:
				sanitize(field)
			}
		}
	}
}

// noUID is the UID of no resource.
const noUID = "-"

func webLinks(value any) []any {
	links, _ := value.([]any)
	kept := make([]any, 0, len(links))
	for _, link := range links {
		text, _ := link.(string)
		if u, err := url.Parse(text); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			kept = append(kept, text)
		}
	}
	return kept
}

func dropDetails(tree object) {
	delete(tree, "hosts")
	delete(tree, "orphanedNodes")
	nodes(tree, func(node object) {
		for _, name := range []string{"info", "networkingInfo", "images"} {
			delete(node, name)
		}
	})
}

func dropNodes(tree object) {
	if list, _ := tree["nodes"].([]any); len(list) > maxNodes {
		tree["nodes"] = list[:maxNodes]
	}
}
