// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package must is for programs that measure or show something step by step and stop at the first failure.
// [Try], or a function that defers [Return], returns the error of the failed step.
package must

type failure struct{ error }

// OK stops the step if err is not nil. Only the goroutine of [Try] or [Return] may call it.
func OK(err error) {
	if err != nil {
		panic(failure{err}) //nolint:forbidigo // [Return] returns it
	}
}

// Get returns a value, or stops the step.
func Get[T any](value T, err error) T {
	OK(err)
	return value
}

// Return is for a defer statement. It sets *err to the error that stopped the function.
func Return(err *error) {
	switch ended := recover().(type) {
	case nil:
	case failure:
		*err = ended.error
	default:
		panic(ended) //nolint:forbidigo // it is another one's
	}
}

// Try runs a step and returns the error that stopped it.
func Try(step func()) (err error) {
	defer Return(&err)
	step()
	return nil
}
