// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package must

import (
	"errors"
	"testing"
)

func TestTry(t *testing.T) {
	failed, went := errors.New("failed"), 0
	if err := Try(func() { OK(nil); went = Get(1, nil); OK(failed); went = 2 }); !errors.Is(err, failed) || went != 1 {
		t.Errorf("%v after step %d: want the error of what did not succeed, and nothing after it", err, went)
	}
	if err := Try(func() { OK(nil) }); err != nil {
		t.Errorf("%v, and all succeeded", err)
	}
	defer func() {
		if recover() != "another" {
			t.Error("the panic of another one was taken for a failure")
		}
	}()
	_ = Try(func() { panic("another") })
}
