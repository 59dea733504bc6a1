// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// checkTree returns an error if tree is no ApplicationTree. It removes fields that Argo CD would
// read as one of the two lists, but that are spelled otherwise.
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

// StatusOf returns the fields of an Application's status that a view needs.
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
		return errNoList
	}
	for i, item := range list {
		if _, ok := item.(object); !ok {
			return fmt.Errorf("number %d is no object", i)
		}
	}
	return nil
}

var (
	errNoObject = errors.New("it is no object")
	errNoList   = errors.New("it is no list")
)

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

// Merge joins the shards of a tree, as Argo CD does. It decodes no resource.
func Merge(shards ...[]byte) ([]byte, error) {
	tree, items := map[string]json.RawMessage{}, map[string][][]byte{}
	for i, raw := range shards {
		var shard map[string]json.RawMessage
		if err := json.Unmarshal(raw, &shard); err != nil {
			return nil, fmt.Errorf("read shard %d of the resource tree: %w", i, err)
		}
		if i == 0 {
			maps.Copy(tree, shard)
		}
		for _, name := range []string{"nodes", "orphanedNodes", "hosts"} {
			list := shard[name]
			if len(list) == 0 || string(list) == "null" {
				continue
			}
			if list[0] != '[' {
				return nil, fmt.Errorf("read %s of shard %d of the resource tree: %w", name, i, errNoList)
			}
			if inner := bytes.TrimSpace(list[1 : len(list)-1]); len(inner) > 0 {
				items[name] = append(items[name], inner)
			}
		}
	}
	for name, all := range items {
		tree[name] = slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
	}
	return marshal(tree)
}

// firstNodes decodes the first maxNodes resources of a tree, and nothing else of it.
func firstNodes(raw []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	first := []any{}
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, cmp.Or(err, errNoObject)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if name != "nodes" {
			var unread json.RawMessage
			if err := d.Decode(&unread); err != nil {
				return nil, err
			}
			continue
		}
		if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
			return nil, fmt.Errorf("nodes: %w", cmp.Or(err, errNoList))
		}
		for d.More() && len(first) < maxNodes {
			var node any
			if err := d.Decode(&node); err != nil {
				return nil, err
			}
			first = append(first, node)
		}
		break
	}
	return object{"nodes": first}, nil
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
