// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	extension = ".json"
	// scratch begins the name of a file that is still being written.
	scratch = ".new-"
	// nameLimit is the limit of common file systems for a file name, in bytes.
	nameLimit = 255
	// hashLength is the part of a SHA-256 that keeps shortened names apart, in hex digits.
	hashLength = 32
)

// Key names an ApplicationSet.
type Key struct {
	Namespace, Name string
}

// String returns "<namespace>/<name>".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// fileName returns the name of k's file: "<namespace>_<name>.json", since neither part may contain
// "_". A name that would be too long for a file system keeps its beginning and ends in
// "_<hash>.json". Then the file's content names the ApplicationSet.
func fileName(k Key) string {
	whole := k.Namespace + "_" + k.Name
	if len(whole)+len(extension) <= nameLimit {
		return whole + extension
	}
	sum := sha256.Sum256([]byte(k.String()))
	keep := nameLimit - len(extension) - hashLength - 1
	return whole[:keep] + "_" + hex.EncodeToString(sum[:])[:hashLength] + extension
}

// parseName returns the ApplicationSet to which a file name belongs. whole is false if the name is
// shortened. Then only the file's content names the ApplicationSet. ok is false for a foreign file.
func parseName(file string) (k Key, whole, ok bool) {
	base, is := strings.CutSuffix(file, extension)
	if !is || strings.HasPrefix(file, ".") {
		return Key{}, false, false
	}
	parts := strings.Split(base, "_")
	for _, p := range parts {
		if p == "" {
			return Key{}, false, false
		}
	}
	switch {
	case len(parts) == 2:
		return Key{Namespace: parts[0], Name: parts[1]}, true, true
	case len(parts) == 3 && len(file) == nameLimit && len(parts[2]) == hashLength:
		return Key{}, false, true
	}
	return Key{}, false, false
}

// validKey refuses a key that cannot be the name of an ApplicationSet, before it becomes a path.
func validKey(k Key) bool {
	return k.Namespace != "" && k.Name != "" && len(k.Namespace) <= 63 && len(k.Name) <= 253 &&
		!strings.ContainsAny(k.Namespace+k.Name, "_/\\\x00") && k.Namespace[0] != '.' && k.Name[0] != '.'
}
