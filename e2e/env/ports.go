// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// lowestPort is where the search for ports starts. The search ends below the ports that the kernel
// assigns to outgoing connections. An outgoing connection could take such a port between the check and
// the start of a server.
const lowestPort = 10000

// ports allocates free ports on 127.0.0.1. For each port it holds an abstract Unix socket, which reserves the
// port for one fleet on this machine. The kernel removes the socket when the program ends.
type ports struct {
	held []net.Listener
}

// take returns n ports that are free and not reserved by another fleet.
func (p *ports) take(n int) ([]int, error) {
	top := firstEphemeralPort()
	span := top - lowestPort
	if span <= n {
		return nil, fmt.Errorf("ports for outgoing connections begin at %d: none is left above %d", top, lowestPort)
	}
	start := rand.IntN(span)
	var taken []int
	for i := 0; i < span && len(taken) < n; i++ {
		port := lowestPort + (start+i)%span
		reservation, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: "@multicluster-integrations-port-" + strconv.Itoa(port)})
		if err != nil {
			continue // another fleet has reserved it
		}
		if !free(port) {
			_ = reservation.Close()
			continue
		}
		p.held = append(p.held, reservation)
		taken = append(taken, port)
	}
	if len(taken) < n {
		return nil, fmt.Errorf("only %d of %d ports are free between %d and %d", len(taken), n, lowestPort, top)
	}
	return taken, nil
}

// release releases every port.
func (p *ports) release() error {
	errs := make([]error, 0, len(p.held))
	for _, l := range p.held {
		errs = append(errs, l.Close())
	}
	p.held = nil
	return errors.Join(errs...)
}

func free(port int) bool {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func firstEphemeralPort() int {
	const usual = 32768
	content, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	fields := strings.Fields(string(content))
	if len(fields) == 0 {
		return usual
	}
	first, err := strconv.Atoi(fields[0])
	if err != nil || first <= lowestPort {
		return usual
	}
	return first
}

// local returns the loopback address with a port.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
