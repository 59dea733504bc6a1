// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"os"
	"strings"
)

// readToken returns the present bearer token, because the kubelet replaces it. client-go would send
// any line of the file. If the file cannot be used, client-go would go on with the last token
// without an error.
func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", &Error{Kind: KindToken, Err: err}
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", &Error{Kind: KindToken, Detail: file + " does not hold one token"}
	}
	return token, nil
}
