// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"crypto/sha1" //nolint:gosec // the contract asks for SHA-1 as a name, not as a protection
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// IsTrue reports whether a label or annotation value is a true boolean for strconv.ParseBool. ok is
// false if the value is set and is not a boolean, so that the caller can report it.
func IsTrue(value string) (yes, ok bool) {
	if value == "" {
		return false, true
	}
	b, err := strconv.ParseBool(value)
	return b, err == nil
}

// IsPulled reports whether the labels request pull delivery: [PullLabel] is a true boolean. Works
// have the label as well.
func IsPulled(labels map[string]string) bool {
	pulled, _ := IsTrue(labels[PullLabel])
	return pulled
}

// WorkName returns the name of the ManifestWork that carries an Application:
// "<application>-<first five characters of its UID>". A UID shorter than that is
// used whole. The result is shortened by [SafeWorkName].
func WorkName(application, uid string) string {
	return SafeWorkName(application + "-" + uid[:min(5, len(uid))])
}

// SafeWorkName is [SafeName] for a ManifestWork, with room for 65 more characters. The work agent
// names its AppliedManifestWork "<SHA-256 of the hub>-<name>", and applies nothing if that name is
// too long.
func SafeWorkName(name string) string { return shorten(name, maxObjectName-65) }

// RegisteredServer returns the server of a managed cluster in the hub's Argo CD. It is only a name:
// nothing connects to it.
func RegisteredServer(cluster string) string { return "https://" + cluster + "-control-plane:6443" }

const maxObjectName = 253

// SafeName returns name if it is short enough for an object, else its first part with eight hex
// digits of its SHA-256.
func SafeName(name string) string { return shorten(name, maxObjectName) }

// LabelValue returns a valid label value for s: s itself if it has at most 63 characters, else its
// first 63 characters without trailing separators. The contract of the report requires that.
func LabelValue(s string) string {
	if len(s) <= 63 {
		return s
	}
	return strings.TrimRight(s[:63], "-_.")
}

// ApplicationSetHash returns the hex SHA-1 of "<namespace>/<name>", the value of
// [ApplicationSetHashLabel].
func ApplicationSetHash(namespace, name string) string {
	sum := sha1.Sum([]byte(namespace + "/" + name)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// SplitKey splits "<namespace>/<name>". ok is false for anything else.
func SplitKey(key string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(key, "/")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.TrimRight(s[:limit-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
