// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pattern matches names in the same way as Argo CD, with the libraries that Argo CD uses.
// Patterns decide who may do what, so a pattern must not have another meaning here. The conformance
// module compares the results with the results of Argo CD's functions.
package pattern

import (
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/gobwas/glob"
)

// timeLimit stops a regular expression that takes too long. Argo CD has no limit.
const timeLimit = 100 * time.Millisecond

// Glob reports whether a glob of Argo CD matches the whole text. It supports "*" and "?", sets like
// [a-z], and alternatives like {a,b}. No character is a separator. An invalid glob matches nothing.
func Glob(pattern, text string) bool {
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(text)
}

// Any reports whether one of the patterns matches text. It uses the rules for spec.sourceNamespaces
// of an AppProject and for --application-namespaces of Argo CD. A pattern is a [Glob], or a regular
// expression between two slashes that has to match a part of text (Argo CD's util/glob,
// MatchStringInList with REGEXP). An invalid pattern matches nothing.
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
