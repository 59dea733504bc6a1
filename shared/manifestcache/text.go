// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unique"
)

// Texts of a usual form are kept as what they spell, without a pointer. Each of these
// functions returns false for a text that would not come back the same to the byte.

// hexBytes decodes lower-case hexadecimal digits that just fill into.
func hexBytes(s string, into []byte) bool {
	if len(s) != 2*len(into) || strings.ContainsAny(s, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(into, []byte(s))
	return err == nil
}

const hyphens = 4

// uuid decodes a UID as Kubernetes makes them.
func uuid(s string, into *[16]byte) bool {
	if len(s) != 2*len(into)+hyphens || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return hexBytes(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:], into[:])
}

func uuidText(u [16]byte) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// number decodes a positive decimal number, such as a resource version.
func number(s string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// seconds decodes a time as Kubernetes writes them: RFC 3339 in UTC, without a fraction.
func seconds(s string) (n int64, ok bool) {
	t, err := time.Parse(time.RFC3339, s)
	return t.Unix(), err == nil && t.Unix() != 0 && secondsText(t.Unix()) == s
}

func secondsText(n int64) string { return time.Unix(n, 0).UTC().Format(time.RFC3339) }

// Intern returns s as one string for all that are equal. It shares no memory with s, and
// what is no longer referenced is freed.
func Intern(s string) string { return unique.Make(s).Value() }

// within returns s as a part of whole when it begins it, as an Application's name does its
// work's name; else a copy.
func within(whole, s string) string {
	if strings.HasPrefix(whole, s) {
		return whole[:len(s)]
	}
	return strings.Clone(s)
}
