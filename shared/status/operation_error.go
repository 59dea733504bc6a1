// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// OperationError is search's condition type for the message of a failed operation. Argo CD has no
// such type.
const OperationError = "OperationError"

// RepeatsOperationError reports whether a condition already has the reason in the message of an operation error. A
// report leaves that error out.
//
// Argo CD copies an operation's message into SyncError, with more text around it ("Failed last sync attempt to
// <revision>: <message> (retried 5 times).", in controller/appcontroller.go of argoproj/argo-cd v3.6; v2.14 has no
// "last"). Search cuts both messages at 512 characters, and contract.Message at [contract.MaxMessage] bytes. So each
// of them may end at another point of the reason.
func RepeatsOperationError(message string, other contract.Condition) bool {
	if other.Type == OperationError || isResourceCondition(other.Type) {
		return false // an OperationError is about the operation, the others are about one resource
	}
	reason := operationReason(message)
	if reason == "" {
		return false // no other condition reports only that it failed
	}
	if strings.Contains(other.Message, reason) {
		return true
	}
	begin := operationReason(other.Message)
	return isCut(other.Message) && begin != "" && strings.HasPrefix(reason, begin)
}

// cutMarks end a message that search or we have cut.
var cutMarks = []string{"...", "…"}

func isCut(message string) bool {
	for _, mark := range cutMarks {
		if strings.HasSuffix(message, mark) {
			return true
		}
	}
	return false
}

// operationReason returns the reason in a message: the text after the first "reason: ", or after
// Argo CD's own text. It has no count of retries and no mark of a cut.
func operationReason(message string) string {
	s := strings.TrimSpace(message)
	for _, mark := range cutMarks {
		s = strings.TrimSuffix(s, mark)
	}
	if _, attempt, ok := strings.Cut(s, "sync attempt to "); ok {
		if _, message, ok := strings.Cut(attempt, ": "); ok {
			s = message
		}
	}
	if _, reason, ok := strings.Cut(s, "reason: "); ok {
		s = reason
	}
	s = strings.TrimRight(s, ". \n\t")
	if i := strings.LastIndex(s, retriedPrefix); i >= 0 {
		// The count may be cut anywhere.
		if rest := strings.TrimLeft(s[i+len(retriedPrefix):], " 0123456789"); strings.HasPrefix(retriedSuffix, rest) {
			s = s[:i]
		}
	}
	return strings.Trim(s, ". \n\t")
}

const (
	retriedPrefix = " (retried"
	retriedSuffix = "times)"
)
