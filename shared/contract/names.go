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

// IsTrue reports whether a label or annotation value is a true boolean as
// strconv.ParseBool understands it. ok is false when the value is set but is no
// boolean at all, so that a caller can say so instead of guessing.
func IsTrue(value string) (yes, ok bool) {
	if value == "" {
		return false, true
	}
	b, err := strconv.ParseBool(value)
	return b, err == nil
}

// IsPulled reports whether the labels of an Application ask for pull delivery: its
// [PullLabel] is a true boolean. Works carry the label, too.
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

// SafeWorkName is [SafeName] for a ManifestWork, whose name must leave room for the 65
// characters that the work agent puts before it: it calls its AppliedManifestWork
// "<SHA-256 of the hub>-<name>", and applies nothing when it cannot make that.
func SafeWorkName(name string) string { return shorten(name, maxObjectName-65) }

// RegisteredServer returns the server by which Argo CD of the hub knows a managed
// cluster. It is a name only: nothing ever dials it.
func RegisteredServer(cluster string) string { return "https://" + cluster + "-control-plane:6443" }

const maxObjectName = 253

// SafeName returns name when it fits into an object name, else its first part followed
// by eight hex digits of its SHA-256.
func SafeName(name string) string { return shorten(name, maxObjectName) }

// LabelValue returns a legal label value for s: s itself when it fits into 63
// characters, else s cut to 63 characters with trailing separators removed, as
// the report contract asks.
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

// SplitKey splits "<namespace>/<name>"; ok is false for anything else.
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
