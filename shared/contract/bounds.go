// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
)

// Limits of what is kept of what a managed cluster says. Its agent may write
// whatever the API server accepts, up to 1.5 MiB an object, and each hub component
// keeps an object for every Application of the fleet: so they are applied before
// anything is kept. A longer value is cut or left out, and counted in [Rejected];
// it never costs the values beside it.
const (
	// MaxMessage is the length of a message in bytes: some lines for a person. With
	// one of each kind a status stays under 16 KiB.
	MaxMessage = 1024
	// MaxToken is the length of a value that names something, such as a revision (a
	// SHA-256 in hexadecimal has 64 bytes) or a field manager (Kubernetes allows 128).
	MaxToken = 128
	// MaxTime is the length of a time. RFC 3339 with nanoseconds and an offset has 35.
	MaxTime = 40
	// MaxName is the length of a name; Kubernetes allows 253.
	MaxName = 253
	// MaxManifests is how many entries of a work's resource status are looked at. A
	// work of ours carries a handful.
	MaxManifests = 64
	// MaxValues is how many feedback values of a manifest are looked at. A work of
	// ours asks for 52 at most.
	MaxValues = 64
	// MaxConditions is how many conditions of a list are looked at. An agent writes
	// up to six.
	MaxConditions = 32
	// MaxFailures is how many manifests that could not be applied are reported.
	MaxFailures = 4

	// maxRaw is the length of a JSON value that is decoded; an agent sends up to 1 KiB.
	maxRaw = 16 << 10
)

// Rejected counts the values that were cut, repaired or left out, by reason.
type Rejected struct {
	// TooLong were cut, or left out where a part would be something else.
	TooLong int
	// InvalidText held control characters or invalid UTF-8, which were replaced.
	InvalidText int
	// UnknownCode is a health, sync status or phase that Argo CD does not have.
	UnknownCode int
	// InvalidTime is a time that is not RFC 3339.
	InvalidTime int
	// TooMany is a list with more entries than are looked at.
	TooMany int
}

// Each calls f with every reason, in the form of a metric's label, and its count.
func (r *Rejected) Each(f func(reason string, count int)) {
	f("too_long", r.TooLong)
	f("invalid_text", r.InvalidText)
	f("unknown_code", r.UnknownCode)
	f("invalid_time", r.InvalidTime)
	f("too_many", r.TooMany)
}

// Message returns a message for a person: of at most [MaxMessage] bytes, in valid
// UTF-8 and without control characters but for newlines and tabs. What is cut ends
// with an ellipsis. A message that is returned once is returned unchanged again.
func Message(s string, rejected *Rejected) string { return text(s, MaxMessage, true, rejected) }

// Token is [Message] for a value of one line and at most [MaxToken] bytes that is
// only compared or shown, so that a part of it does no harm.
func Token(s string, rejected *Rejected) string { return text(s, MaxToken, false, rejected) }

// Name returns s if it can be a name of Kubernetes, else nothing: a part of a name
// is another name.
func Name(s string, rejected *Rejected) string { return whole(s, MaxName, rejected) }

// Clip returns the first entries of a list, up to limit.
func Clip[T any](list []T, limit int, rejected *Rejected) []T {
	if len(list) <= limit {
		return list
	}
	rejected.TooMany++
	return list[:limit]
}

// revision returns a revision, or nothing: a part of it is another revision.
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

// exact returns a value that is compared, or nothing: a part of it is another value.
func exact(s string, rejected *Rejected) (string, bool) {
	kept := whole(s, MaxMessage, rejected)
	return kept, kept == s
}

// wholeName returns a name, or nothing: a part of it is another name.
func wholeName(s string, rejected *Rejected) (string, bool) {
	kept := Name(s, rejected)
	return kept, kept == s
}

func message(s string, rejected *Rejected) (string, bool) { return Message(s, rejected), true }

// wholeMessage is a message that is there.
func wholeMessage(s string, rejected *Rejected) (string, bool) {
	s = Message(s, rejected)
	return s, s != ""
}

func token(s string, rejected *Rejected) (string, bool) { return Token(s, rejected), true }

// moment returns a time, or nothing. It is as strict as the API server is with the
// times in an Application's status, which would refuse the whole status: package time
// also takes an hour of one digit, and a comma before the fraction.
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

// code returns a bound that lets known codes pass, and the empty one that Argo CD
// writes before it knows.
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

// text returns what of s fits into limit bytes, with a space for each control
// character and U+FFFD for what is not UTF-8.
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

// IsControl reports characters that a terminal or a browser would act on rather than show.
// With lines, the end of a line and a tab are none of them.
func IsControl(c rune, lines bool) bool {
	if c == '\n' || c == '\t' {
		return !lines
	}
	return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
}
