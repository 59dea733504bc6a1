// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern matches names as Argo CD does, with the libraries that Argo CD
// itself does it with: what a pattern lets through decides who may do what, so that a
// pattern must not mean one thing to Argo CD and another here. The conformance
// module holds it against Argo CD's own functions.
package pattern

import (
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/gobwas/glob"
)

// timeLimit ends the search of a regular expression that does not come to an end;
// Argo CD has no limit.
const timeLimit = 100 * time.Millisecond

// Glob reports whether a glob of Argo CD's matches the whole of text: "*" and "?",
// sets like [a-z], alternatives like {a,b}; no character is a separator. A pattern
// that is no glob matches nothing.
func Glob(pattern, text string) bool {
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(text)
}

// Any reports whether one of the patterns matches text, as Argo CD reads the lists
// of namespaces in spec.sourceNamespaces of an AppProject and in its own
// --application-namespaces: each is a [Glob], or between two slashes a regular
// expression that must be found in text (Argo CD's util/glob, MatchStringInList with
// REGEXP). A pattern that is neither matches nothing.
func Any(patterns []string, text string) bool {
	for _, p := range patterns {
		if found(p, text) || Glob(p, text) {
			return true
		}
	}
	return false
}

func found(pattern, text string) bool {
	if len(pattern) < 2 || !strings.HasPrefix(pattern, "/") || !strings.HasSuffix(pattern, "/") {
		return false
	}
	expression, err := regexp2.Compile(pattern[1:len(pattern)-1], regexp2.None)
	if err != nil {
		return false
	}
	expression.MatchTimeout = timeLimit
	ok, err := expression.MatchString(text)
	return err == nil && ok
}
