// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit counts the product's requests to an API server. The audit log contains every request by
// account, with microseconds, and needs no watch.
package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Policy is the audit policy. It logs every finished request of the accounts of a namespace, and
// the start of every watch. It logs all requests in the namespaces in baselines, so that these cost
// the server as much.
func Policy(namespace string, baselines []string) ([]byte, error) {
	const level = "Metadata"
	return json.Marshal(map[string]any{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": []string{"RequestReceived"},
		"rules": []map[string]any{
			{"level": level, "userGroups": []string{"system:serviceaccounts:" + namespace}},
			{"level": level, "namespaces": baselines},
			{"level": "None"},
		},
	})
}

// Entry is one request.
type Entry struct {
	// Account is the name of the ServiceAccount.
	Account string
	// Verb is the verb in RBAC: create, patch, list, watch.
	Verb string
	// Resource is "resource" or "resource/subresource" in the plural.
	Resource  string
	Namespace string
	Name      string
	Code      int
	// Done is when the answer was sent.
	Done time.Time
}

// writes are the verbs that change an object.
var writes = map[string]bool{"create": true, "update": true, "patch": true, "delete": true, "deletecollection": true}

// Write reports whether the request changes an object of the hub. The Lease of a leader, and client-go's
// Event about it in the Lease's namespace, do not count. The access reviews for metrics do not count either.
func (e *Entry) Write(own string) bool {
	switch {
	case e.Resource == "leases", e.Resource == "tokenreviews", e.Resource == "subjectaccessreviews",
		e.Resource == "events" && e.Namespace == own:
		return false
	}
	return writes[e.Verb]
}

// line is the part of an audit event that [Parse] reads.
type line struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Status struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	URI  string    `json:"requestURI"`
	Time time.Time `json:"stageTimestamp"`
}

// Parse parses one line of an audit log. ok is false for a second line about one request, such as the end of
// a watch.
func Parse(raw []byte) (e Entry, ok bool, err error) {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return e, false, fmt.Errorf("parse an audit event: %w", err)
	}
	e = Entry{Account: l.User.Username[strings.LastIndexByte(l.User.Username, ':')+1:], Verb: l.Verb, Resource: l.Object.Resource, Namespace: l.Object.Namespace, Name: l.Object.Name, Code: l.Status.Code, Done: l.Time}
	if l.Object.Subresource != "" {
		e.Resource += "/" + l.Object.Subresource
	}
	if e.Resource == "" {
		e.Resource = l.URI
	}
	if l.Verb == "watch" {
		return e, l.Stage == "ResponseStarted", nil
	}
	return e, l.Stage != "ResponseStarted", nil
}
