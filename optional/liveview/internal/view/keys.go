// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strconv"
	"strings"
)

// Prefixes of the keys of Argo CD's Redis. Source: util/cache/appstate of Argo CD.
const (
	treePrefix      = "app|resources-tree|"
	resourcesPrefix = "app|managed-resources|"
)

// ChannelPattern matches the channels by which argocd-server has an open page updated.
const ChannelPattern = resourcesPrefix + "*"

// TreeKey returns the key of a shard of the tree of an instance; 0 is the first one.
func TreeKey(instance string, shard int) string {
	if shard > 0 {
		instance += "|" + strconv.Itoa(shard)
	}
	return treePrefix + instance + "|" + CacheVersion
}

// ResourcesKey returns the key of the managed resources of an instance. Without what is put
// behind it for compression it is the name of the channel of its changes, too.
func ResourcesKey(instance string) string { return resourcesPrefix + instance + "|" + CacheVersion }

// TreePattern matches the keys of the tree of an instance in every cache version.
func TreePattern(instance string) string { return treePrefix + escape.Replace(instance) + "|*" }

var escape = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`)

// ParseChannel returns the instance and the cache version of a channel that
// [ChannelPattern] matches.
func ParseChannel(channel string) (instance, version string, ok bool) {
	rest, ok := strings.CutPrefix(channel, resourcesPrefix)
	i := strings.LastIndex(rest, "|")
	if !ok || i < 1 {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}

// Instance returns the name that Argo CD of argocdNamespace has for an Application.
func Instance(argocdNamespace, namespace, name string) string {
	if namespace == argocdNamespace {
		return name
	}
	return namespace + "_" + name
}

// Application is the reverse of [Instance]: no name of an object has an underscore.
func Application(argocdNamespace, instance string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(instance, "_"); ok {
		return namespace, name
	}
	return argocdNamespace, instance
}
