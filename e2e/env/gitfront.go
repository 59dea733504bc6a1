// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// gitHost is the host of the repository in the examples.
const gitHost = "github.com"

// startGitFront serves [RepositoryURL] from this machine until ctx ends, so that the examples need no change.
// port is the port of the HTTPS proxy of the repository servers. The proxy connects gitHost to the git server
// here, and rejects every other host. The repository servers trust the certificate of that git server.
func startGitFront(ctx context.Context, port int, certificate tls.Certificate, repositories http.Handler) (err error) {
	defer must.Return(&err)
	listener := must.Get(new(net.ListenConfig).Listen(ctx, "tcp", local(port)))
	git := must.Get(new(net.ListenConfig).Listen(ctx, "tcp", local(0)))
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	inner := &http.Server{Handler: repositories, ReadHeaderTimeout: 10 * time.Second}
	proxy := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != gitHost+":443" {
			http.Error(w, "this machine reaches "+gitHost+" and nothing else", http.StatusForbidden)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n") // if the client has disconnected, Connect ends as well
		Connect(ctx, conn, git.Addr().String())
	})}
	context.AfterFunc(ctx, func() { _, _ = proxy.Close(), inner.Close() }) // connected clients are also ending
	go func() { _ = proxy.Serve(listener) }()
	go func() { _ = inner.Serve(tls.NewListener(git, config)) }()
	return nil
}

// Connect forwards a connection in both directions until one side closes or ctx ends. If the
// connection to the other side fails or breaks, it closes in.
func Connect(ctx context.Context, in net.Conn, to string) {
	defer in.Close()
	out, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return // as if no process listened there
	}
	defer out.Close()
	ctx, done := context.WithCancel(ctx)
	defer done()
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			defer done()
			_, _ = io.Copy(way[1], way[0])
		}()
	}
	<-ctx.Done()
}
