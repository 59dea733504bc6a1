// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// transport keeps connections to the one server. Its trust follows the file of
// roots: after a change every connection is made anew.
// client-go's transport does so within five minutes only, see docs/decisions/0006.
type transport struct {
	roots roots
	http  *http.Transport
}

func newTransport(caFile, fallback string) *transport {
	t := &transport{roots: roots{file: caFile, fallback: fallback}}
	t.http = &http.Transport{
		DialTLSContext:      t.dial,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // the server has none
	}
	return t
}

// RoundTrip sends a request over a connection that the present roots vouch for.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	changed, err := t.roots.refresh()
	if err != nil {
		return nil, err
	}
	if changed {
		t.http.CloseIdleConnections()
	}
	return t.http.RoundTrip(r)
}

// dial verifies the server's certificate against the roots of this moment.
func (t *transport) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: 10 * time.Second},
		Config:    &tls.Config{RootCAs: t.roots.pool(), ServerName: host, MinVersion: tls.VersionTLS12},
	}
	return d.DialContext(ctx, network, address)
}

// rootsError means that there are no roots to verify a server with.
type rootsError struct{ err error }

func (e *rootsError) Error() string { return "load roots: " + e.err.Error() }
func (e *rootsError) Unwrap() error { return e.err }

// roots are the certificates that a server's must lead to: those of file, else
// those of fallback where the platform has mounted it, else the system's. They
// are read again when the bytes change; bytes that hold no certificate leave the
// ones before in use.
type roots struct {
	file, fallback string
	loaded         atomic.Pointer[certificates] // nil before the first time
}

type certificates struct {
	sum  [sha256.Size]byte
	pool *x509.CertPool // nil: the system's
}

func (r *roots) pool() *x509.CertPool {
	if loaded := r.loaded.Load(); loaded != nil {
		return loaded.pool
	}
	return nil
}

// refresh reports whether the roots are others than before.
func (r *roots) refresh() (changed bool, err error) {
	before := r.loaded.Load()
	pem, err := r.read()
	if err != nil {
		if before != nil {
			return false, nil // being replaced, perhaps
		}
		return false, &rootsError{err}
	}
	now := &certificates{sum: sha256.Sum256(pem)}
	if before != nil && before.sum == now.sum {
		return false, nil
	}
	if pem != nil {
		now.pool = x509.NewCertPool()
		if !now.pool.AppendCertsFromPEM(pem) {
			if before != nil {
				return false, nil
			}
			return false, &rootsError{fmt.Errorf("%s%s holds no certificate", r.file, r.fallbackName())}
		}
	}
	// Another request may have loaded them at the same time: the next one reads again.
	return r.loaded.CompareAndSwap(before, now) && before != nil, nil
}

func (r *roots) fallbackName() string {
	if r.file != "" {
		return ""
	}
	return r.fallback
}

// read returns nil for the system's roots.
func (r *roots) read() ([]byte, error) {
	if r.file != "" {
		return os.ReadFile(r.file)
	}
	if r.fallback == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(r.fallback)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return pem, err
}

// readToken returns the bearer token as it is now: the kubelet replaces it.
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
