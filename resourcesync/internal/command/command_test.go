// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/multicluster-integrations/shared/boot"
)

func parse(t *testing.T, args ...string) (*Command, error) {
	t.Helper()
	c := New()
	var o boot.Options
	fs := boot.Flags(Program(), c, &o)
	fs.SetOutput(io.Discard)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c, c.Validate()
}

func TestBindFlags_setsDefaults(t *testing.T) {
	c, err := parse(t)
	if err != nil {
		t.Fatal(err)
	}
	if c.poll.Interval != 10*time.Second || c.search.URL != "https://search-search-api.open-cluster-management.svc:4010/searchapi/graphql" ||
		c.search.TokenFile != "/var/run/secrets/kubernetes.io/serviceaccount/token" || c.directory != "/var/run/multicluster-integrations" {
		t.Errorf("%+v", c)
	}
	if Program().LeaseName != "" {
		t.Error("resourcesync runs in every pod: its files are the pod's own")
	}
}

func TestValidate(t *testing.T) {
	tests := []struct{ reason, args, want string }{
		{"the words of the contract", "--intermediate-dir=/x --search-url=https://h:1/p --search-ca-file=/c --search-token-file=/t --search-interval=30s", ""},
		{"plain text would show the token", "--search-url=http://h/p", "--search-url"},
		{"a password belongs in no URL", "--search-url=https://u:p@h/p", "--search-url"},
		{"no host", "--search-url=https:///p", "--search-url"},
		{"no URL at all", "--search-url=", "--search-url"},
		{"no directory", "--intermediate-dir=", "--intermediate-dir"},
		{"no token", "--search-token-file=", "--search-token-file"},
		{"a poll storm", "--search-interval=10ms", "--search-interval"},
		{"a batch of nothing never ends", "--search-batch-size=0", "--search-batch-size"},
		{"no room", "--search-max-answer=0", "--search-max-answer"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			_, err := parse(t, strings.Fields(tc.args)...)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s: %v, want it to name %s", tc.reason, err, tc.want)
			case err != nil && strings.Contains(err.Error(), "u:p@"):
				t.Errorf("the password is shown: %v", err)
			}
		})
	}
}

func TestBindFlags_cannotTurnVerificationOff(t *testing.T) {
	var out bytes.Buffer
	var o boot.Options
	fs := boot.Flags(Program(), New(), &o)
	fs.SetOutput(&out)
	fs.PrintDefaults()
	for _, word := range []string{"insecure", "skip-verify", "skip-tls"} {
		if strings.Contains(strings.ToLower(out.String()), word) {
			t.Errorf("there is a flag with %q", word)
		}
	}
}

func TestNewDirectoryCheck_cachesOnlySuccess(t *testing.T) {
	failure := errors.New("disk full")
	var err error
	asked := 0
	check := newDirectoryCheck(func() error { asked++; return err })
	first, second := check(nil), check(nil)
	if first != nil || second != nil || asked != 1 {
		t.Errorf("a good verdict holds for a while; asked %d times", asked)
	}
	err = failure
	failing := newDirectoryCheck(func() error { asked++; return err })
	if !errors.Is(failing(nil), failure) {
		t.Error("a full disk passes")
	}
	err = nil
	if failing(nil) != nil {
		t.Error("a bad verdict is not looked at again")
	}
}
