// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Options are the options of a [Client].
type Options struct {
	// URL is the URL of the GraphQL endpoint. It must be https.
	URL string
	// CAFile has the certificates, as PEM, that must have signed the server's. If it is empty,
	// FallbackCAFile is used if that file exists, else the system's.
	CAFile, FallbackCAFile string
	// TokenFile has the bearer token. The client reads the file for every request.
	TokenFile string
	// MaxBytes bounds one answer.
	MaxBytes int64
}

// Client queries search v2. It is safe for concurrent use and never retries. A request lasts as
// long as its context.
type Client struct {
	options Options

	mu   sync.Mutex
	http *http.Client // nil until the next request creates it
}

// New returns a client. It sends and reads nothing yet.
func New(o Options) *Client { return &Client{options: o} }

// connection returns the HTTP client.
func (c *Client) connection() (h *http.Client, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http == nil {
		c.http, err = connect(c.options)
	}
	return c.http, err
}

// Close ends the idle connections. The next request reads the CAs again.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http != nil {
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
		c.http = nil
	}
}

// rootsError means that no root certificates exist to verify a server.
type rootsError struct{ err error }

func (e *rootsError) Error() string { return "load the CAs for search: " + e.err.Error() }
func (e *rootsError) Unwrap() error { return e.err }

// connect returns a client that trusts the CAs of CAFile. Without a CAFile, it trusts the CAs of
// FallbackCAFile if the platform has mounted that file, else the system's. client-go reads the file
// again within five minutes.
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

type graphQLRequest struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables"`
}

// post sends a query and passes the body of the answer to read, which must not keep it. It returns
// the result of read, or an error of this package without a valid answer.
func (c *Client) post(ctx context.Context, q graphQLRequest, read func(body []byte) error) error {
	token, err := readToken(c.options.TokenFile)
	if err != nil {
		return err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode query: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	h, err := c.connection()
	if err != nil {
		return connectionError(err)
	}
	response, err := h.Do(r)
	if err = connectionError(err); err != nil {
		if KindOf(err) == KindTLS {
			c.Close() // the CAs may be others now
		}
		return err
	}
	defer func() { _ = response.Body.Close() }()
	limited := http.MaxBytesReader(nil, response.Body, c.options.MaxBytes)
	if response.StatusCode != http.StatusOK {
		return statusError(response.StatusCode, limited)
	}
	return readBody(limited, read)
}

// statusError returns the error of an HTTP status, by kind.
func statusError(status int, body io.Reader) error {
	head, _ := io.ReadAll(io.LimitReader(body, 4096))
	text := string(head)
	e := &Error{Kind: KindStatus, Status: status, Detail: line(message(head))}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = KindUnauthenticated
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		e.Kind = KindQuery
	case http.StatusNotFound:
		e.Kind = KindAbsent
	case http.StatusInternalServerError:
		if strings.Contains(text, "authenticating") {
			e.Kind = KindAuthenticator
		}
	case http.StatusServiceUnavailable:
		switch {
		case strings.Contains(text, "database"):
			e.Kind = KindDatabase
		case strings.Contains(text, "timed out"):
			e.Kind = KindTimeout
		}
	case http.StatusGatewayTimeout:
		e.Kind = KindTimeout
	}
	return e
}

// message returns the text in the bodies that the server sends with an error.
func message(body []byte) string {
	var m struct {
		Message string         `json:"message"`
		Errors  []graphQLError `json:"errors"`
	}
	if json.Unmarshal(body, &m) != nil {
		return string(body)
	}
	if m.Message == "" && len(m.Errors) > 0 {
		return m.Errors[0].Message
	}
	return m.Message
}

// connectionError reports why search gave no answer at all.
func connectionError(err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Kind: KindUnreachable, Err: err}
	var (
		noRoots     *rootsError
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		alert       tls.AlertError
		record      tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &noRoots), errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &name),
		errors.As(err, &alert), errors.As(err, &record):
		e.Kind = KindTLS
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Kind = KindAbsent
	case isTimeout(err):
		e.Kind = KindTimeout
	}
	return e
}
