// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation/path"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// These are limits for the parts of a managed cluster's report that are kept. An agent may write
// whatever the API server accepts, up to 1.5 MiB an object. Each hub component keeps an object for
// every Application of the fleet. So the limits apply before anything is kept. A longer value is
// cut or left out, and counted in [Rejected]. Other values are not affected.
const (
	// MaxMessage is the length of a message in bytes: some lines for a person. A status with one
	// message of each kind is smaller than 16 KiB.
	MaxMessage = 1024
	// MaxToken is the length of a value that names something, such as a revision or a field
	// manager. A SHA-256 in hexadecimal has 64 bytes, and Kubernetes allows 128 for a field
	// manager.
	MaxToken = 128
	// MaxTime is the length of a time. RFC 3339 with nanoseconds and an offset has 35.
	MaxTime = 40
	// MaxName is the length of a name. Kubernetes allows 253.
	MaxName = 253
	// MaxManifests is how many entries of a work's resource status are read. Our works have fewer
	// than ten.
	MaxManifests = 64
	// MaxValues is how many feedback values of a manifest are read. Our works ask for 52 at most.
	MaxValues = 64
	// MaxConditions is how many conditions of a list are read. An agent writes up to six.
	MaxConditions = 32
	// MaxFailures is how many manifests that could not be applied are reported.
	MaxFailures = 4

	// maxRaw is the length of a JSON value that is decoded. An agent sends up to 1 KiB.
	maxRaw = 16 << 10
)

// Rejected counts the values that were cut, repaired or left out, by reason.
type Rejected struct {
	// TooLong counts values that were cut, or left out because a part would have another meaning.
	TooLong int
	// InvalidText counts texts with control characters or invalid UTF-8, which were replaced, and
	// names that no object can have.
	InvalidText int
	// UnknownCode counts health statuses, sync statuses and phases that Argo CD does not have.
	UnknownCode int
	// InvalidTime counts times that are not RFC 3339.
	InvalidTime int
	// TooMany counts lists with more entries than are read.
	TooMany int
}

// Each calls f with every reason, as the value of a metric label, and its count.
func (r *Rejected) Each(f func(reason string, count int)) {
	f("too_long", r.TooLong)
	f("invalid_text", r.InvalidText)
	f("unknown_code", r.UnknownCode)
	f("invalid_time", r.InvalidTime)
	f("too_many", r.TooMany)
}

// Message returns a message for a person: at most [MaxMessage] bytes of valid UTF-8, without
// control characters except newlines and tabs. A cut message ends with an ellipsis. Message returns
// its own results unchanged.
func Message(s string, rejected *Rejected) string { return text(s, MaxMessage, true, rejected) }

// Token is [Message] for a value of one line and at most [MaxToken] bytes. The value is only
// compared or shown, so that it may be cut.
func Token(s string, rejected *Rejected) string { return text(s, MaxToken, false, rejected) }

// Name returns s if an object of some kind can have that name, else "". It does not cut names,
// because a part is another name. A name is a part of a path in requests to the API server, so it
// contains no slash, for example.
func Name(s string, rejected *Rejected) string {
	s = whole(s, MaxName, rejected)
	// Its successor does not exist in Kubernetes 0.31 and 0.34, with which e2e/tools/conformance builds.
	if len(path.IsValidPathSegmentName(s)) > 0 { //nolint:staticcheck // see above
		rejected.InvalidText++
		return ""
	}
	return s
}

// Clip returns the first entries of a list, up to limit.
func Clip[T any](list []T, limit int, rejected *Rejected) []T {
	if len(list) <= limit {
		return list
	}
	rejected.TooMany++
	return list[:limit]
}

// revision returns a revision, or "" if it is too long, because a part is another revision.
func revision(s string, rejected *Rejected) (string, bool) {
	kept := whole(s, MaxToken, rejected)
	return kept, kept == s
}

func whole(s string, limit int, rejected *Rejected) string {
	switch {
	case len(s) > limit:
		rejected.TooLong++
		return ""
	case !clean(s, false):
		rejected.InvalidText++
		return ""
	}
	return s
}

// exact returns a value for comparisons, or "" if it is too long, because a part is another value.
func exact(s string, rejected *Rejected) (string, bool) {
	kept := whole(s, MaxMessage, rejected)
	return kept, kept == s
}

// wholeName returns a name, or "" if it is too long, because a part is another name.
func wholeName(s string, rejected *Rejected) (string, bool) {
	kept := Name(s, rejected)
	return kept, kept == s
}

func message(s string, rejected *Rejected) (string, bool) { return Message(s, rejected), true }

// wholeMessage returns a message. ok is false if the message is empty.
func wholeMessage(s string, rejected *Rejected) (string, bool) {
	s = Message(s, rejected)
	return s, s != ""
}

func token(s string, rejected *Rejected) (string, bool) { return Token(s, rejected), true }

// moment returns a time, or "" if it is invalid. It is as strict as the API server, which would
// reject the whole status of an Application for an invalid time. Package time also accepts an hour
// with one digit, and a comma before the fraction.
func moment(s string, rejected *Rejected) (string, bool) {
	if s == "" {
		return s, true
	}
	if len(s) <= MaxTime {
		if _, err := time.Parse(time.RFC3339, s); err == nil && s[len("2006-01-02T15")] == ':' && !strings.Contains(s, ",") {
			return s, true
		}
	}
	rejected.InvalidTime++
	return "", false
}

// code returns a bound that accepts known codes, and the empty code that Argo CD writes first.
func code(known ...string) bound {
	return func(s string, rejected *Rejected) (string, bool) {
		if s == "" || slices.Contains(known, s) {
			return s, true
		}
		rejected.UnknownCode++
		return "", false
	}
}

var (
	healthCode = code(argocd.HealthUnknown, argocd.HealthProgressing, argocd.HealthHealthy, argocd.HealthSuspended,
		argocd.HealthDegraded, argocd.HealthMissing)
	syncCode  = code(argocd.SyncUnknown, argocd.SyncSynced, argocd.SyncOutOfSync)
	phaseCode = code(argocd.OperationRunning, argocd.OperationTerminating, argocd.OperationFailed, argocd.OperationError,
		argocd.OperationSucceeded)
)

const ellipsis = "…"

// text returns the part of s that fits into limit bytes. It replaces each control character by a
// space, and invalid UTF-8 by U+FFFD.
func text(s string, limit int, lines bool, rejected *Rejected) string {
	if len(s) <= limit && clean(s, lines) {
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), limit) + utf8.UTFMax)
	end, replaced := 0, false // end is where a cut leaves room for the ellipsis
	for rest := s; rest != "" && b.Len() <= limit; {
		if b.Len() <= limit-len(ellipsis) {
			end = b.Len()
		}
		c, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch {
		case c == utf8.RuneError && size == 1:
			replaced = true
		case IsControl(c, lines):
			c, replaced = ' ', true
		}
		b.WriteRune(c)
	}
	if replaced {
		rejected.InvalidText++
	}
	if b.Len() <= limit {
		return b.String()
	}
	rejected.TooLong++
	return b.String()[:end] + ellipsis
}

func clean(s string, lines bool) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, c := range s {
		if IsControl(c, lines) {
			return false
		}
	}
	return true
}

// IsControl reports whether a terminal or a browser would interpret c instead of showing it. With
// lines, it accepts line ends and tabs.
func IsControl(c rune, lines bool) bool {
	if c == '\n' || c == '\t' {
		return !lines
	}
	return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
}
