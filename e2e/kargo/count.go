// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

// kargoUser is the user of Kargo's controller on the hub's API server and in the audit policy.
const kargoUser = "kargo-controller"

// entry is a line of the audit log of the hub's API server.
type entry struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject struct {
		Reason         string                `json:"reason"`
		InvolvedObject struct{ Name string } `json:"involvedObject"`
		Operation      json.RawMessage       `json:"operation"`
	} `json:"requestObject"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// counted is the number of writes on the hub for one Application.
type counted struct {
	// started are the Events by which Kargo reports that it began an operation.
	started int
	// operations are Kargo's writes of a new operation.
	operations int
	// writes are propagation's, by resource.
	writes map[string]int
}

// count counts the writes for an Application of a cluster in the audit log since a time.
func count(audit, app, cluster string, since time.Time) counted {
	c := counted{writes: map[string]int{}}
	lines := bufio.NewScanner(bytes.NewReader(must.Get(os.ReadFile(audit))))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		must.OK(json.Unmarshal(lines.Bytes(), &e))
		of := e.ObjectRef.Name == app || e.ObjectRef.Namespace == cluster
		switch {
		case e.Received.Before(since) || e.ResponseStatus.Code >= 300:
		case e.User.Username != kargoUser:
			if of {
				c.writes[e.ObjectRef.Resource]++
			}
		case e.RequestObject.Reason == "OperationStarted" && e.RequestObject.InvolvedObject.Name == app:
			c.started++
		case of && len(e.RequestObject.Operation) > 0:
			c.operations++
		}
	}
	must.OK(lines.Err())
	return c
}

// String returns the figures as text.
func (c counted) String() string {
	writes := make([]string, 0, len(c.writes))
	for _, resource := range slices.Sorted(maps.Keys(c.writes)) {
		writes = append(writes, fmt.Sprintf("%d %s", c.writes[resource], resource))
	}
	return fmt.Sprintf("%d operation, writes of propagation: %s", c.operations, strings.Join(writes, ", "))
}
