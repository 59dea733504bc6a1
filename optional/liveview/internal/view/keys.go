// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strconv"
	"strings"
)

// These are prefixes of the keys of Argo CD's Redis. Source: util/cache/appstate of Argo CD.
const (
	treePrefix      = "app|resources-tree|"
	resourcesPrefix = "app|managed-resources|"
)

// ChannelPattern matches the channels by which argocd-server has an open page updated.
const ChannelPattern = resourcesPrefix + "*"

// TreeKey returns the key of a shard of the tree of an instance. 0 is the first shard.
func TreeKey(instance string, shard int) string {
	if shard > 0 {
		instance += "|" + strconv.Itoa(shard)
	}
	return treePrefix + instance + "|" + CacheVersion
}

// ResourcesKey returns the key of the managed resources of an instance. Without the suffix for
// compression, the key is also the name of the channel of its changes.
func ResourcesKey(instance string) string { return resourcesPrefix + instance + "|" + CacheVersion }

// TreePattern matches the keys of all trees, in every cache version and compression.
const TreePattern = treePrefix + "*"

// ParseTreeKey returns the instance of a key that [TreePattern] matches, and whether it is of a cache version
// that this package cannot read.
func ParseTreeKey(key string) (instance string, foreign bool) {
	instance, rest, ok := strings.Cut(strings.TrimPrefix(key, treePrefix), "|")
	version := strings.TrimSuffix(rest[strings.LastIndex(rest, "|")+1:], gzipSuffix)
	return instance, ok && version != CacheVersion
}

// gzipSuffix ends the keys of values that Argo CD compresses with gzip.
const gzipSuffix = ".gz"

// Suffix ends the keys of a compression of Argo CD.
func Suffix(compression string) string {
	if compression == "gzip" {
		return gzipSuffix
	}
	return ""
}

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
