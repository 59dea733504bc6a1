// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standin is a TLS server that behaves like argocd-agent's principal, with the agent's side of the
// connection, for tests. The principal itself cannot be built from public Go modules.
//
// It supports TLS 1.3 only. It requires a client certificate of the CAs that Secret argocd-agent-ca has when it
// starts. It finds the agent's name in the text of the subject, with the expression of --auth
// mtls:subject:<expression>.
package standin

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Auth is the setting of the principal for our certificates.
const Auth = `mtls:subject:^CN=([^,]+)(?:,O=g[0-9]+)?$`

// patience is how long one connection may take.
const patience = 20 * time.Second

// Server is a running principal.
type Server struct {
	listener   net.Listener
	expression *regexp.Regexp
	running    sync.WaitGroup
}

// Start starts a server with the data of the Secrets argocd-agent-ca and
// argocd-agent-principal-tls. It reads both only once. now is the clock, or nil for the system's
// clock.
func Start(ca, server map[string][]byte, auth string, now func() time.Time) (*Server, error) {
	text, ok := strings.CutPrefix(auth, "mtls:subject:")
	if !ok {
		return nil, fmt.Errorf("authentication %q is not mtls:subject:<expression>", auth)
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	pair, err := tls.X509KeyPair(server["tls.crt"], server["tls.key"])
	if err != nil {
		return nil, fmt.Errorf("certificate of the principal: %w", err)
	}
	roots := x509.NewCertPool()
	if one, more := roots.AppendCertsFromPEM(ca["tls.crt"]), roots.AppendCertsFromPEM(ca["ca.crt"]); !one && !more {
		return nil, errors.New("the CA's Secret holds no certificate")
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots, Time: now,
	})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{listener: listener, expression: expression}
	s.running.Go(s.serve)
	return s, nil
}

// Address is the address for agents.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close stops the server.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.running.Wait()
	return err
}

func (s *Server) serve() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.answer(connection) })
	}
}

// answer sends an agent its name. Other clients get no answer.
func (s *Server) answer(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(patience))
	secured, ok := connection.(*tls.Conn)
	if !ok || secured.HandshakeContext(context.Background()) != nil {
		return
	}
	subject := secured.ConnectionState().PeerCertificates[0].Subject.String()
	if found := s.expression.FindStringSubmatch(subject); len(found) > 1 && len(validation.IsDNS1123Label(found[1])) == 0 {
		_, _ = fmt.Fprintln(connection, found[1])
	}
}

// Agent has the CAs that an agent trusts, and its client certificate.
type Agent struct{ Roots, Certificate, Key []byte }

// Dial connects like an agent and returns the name by which the principal identifies it. serverName
// is the name in the principal's certificate. now is the clock, or nil for the system's clock.
func (a Agent) Dial(address, serverName string, now func() time.Time) (string, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.Roots) {
		return "", errors.New("the agent trusts nobody")
	}
	pair, err := tls.X509KeyPair(a.Certificate, a.Key)
	if err != nil {
		return "", fmt.Errorf("certificate of the agent: %w", err)
	}
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: serverName, Certificates: []tls.Certificate{pair}, Time: now,
	}}
	connection, err := dialer.DialContext(context.Background(), "tcp", address)
	if err != nil {
		return "", fmt.Errorf("the agent refuses the principal: %w", err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(patience))
	name, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the principal refuses the agent: %w", err)
	}
	return strings.TrimSpace(name), nil
}
