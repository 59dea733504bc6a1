// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Git answers what it has read, before the request ends.
func TestGitFrontForwardsAnEarlyAnswer(t *testing.T) {
	answer := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		if _, err := io.ReadFull(r.Body, make([]byte, 4)); err != nil {
			t.Errorf("read the request: %v", err)
		}
		if _, err := w.Write(answer); err != nil {
			t.Errorf("answer: %v", err)
		}
	}))
	defer backend.Close()
	address, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(forward(address))
	defer front.Close()
	body, request := io.Pipe()
	defer request.Close()
	go func() { _, _ = request.Write([]byte("want")) }() // and no end
	response, err := http.Post(front.URL, "application/x-git-upload-pack-request", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Equal(got, answer) {
		t.Errorf("%d bytes of %d came, %v", len(got), len(answer), err)
	}
}
