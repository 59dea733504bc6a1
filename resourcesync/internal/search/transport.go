// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"net/http"
	"net/url"
	"os"
	"strings"

	"k8s.io/client-go/rest"
)

// rootsError means that there are no roots to verify a server with.
type rootsError struct{ err error }

func (e *rootsError) Error() string { return "load the CAs for search: " + e.err.Error() }
func (e *rootsError) Unwrap() error { return e.err }

// connect returns a client that trusts the CAs of CAFile, else those of FallbackCAFile where
// the platform has mounted it, else the system's. client-go reads the file again within
// five minutes.
func connect(o Options) (*http.Client, error) {
	config := &rest.Config{
		Host: o.URL, TLSClientConfig: rest.TLSClientConfig{CAFile: o.CAFile},
		DisableCompression: true, // the server has none
		Proxy:              func(*http.Request) (*url.URL, error) { return nil, nil },
	}
	if config.CAFile == "" {
		if _, err := os.Stat(o.FallbackCAFile); err == nil {
			config.CAFile = o.FallbackCAFile
		}
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, &rootsError{err}
	}
	// A redirect would carry the token elsewhere.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// readToken returns the bearer token as it is now: the kubelet replaces it. client-go would
// send whatever line the file holds, and go on with the last token without an error.
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
