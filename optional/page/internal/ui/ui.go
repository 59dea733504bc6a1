// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui has the templates, styles and scripts of the page, embedded in the binary. The page
// works without the scripts.
package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"
	"time"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets/*
var assets embed.FS

// Asset is a file that every page uses. Its name changes with its content.
type Asset struct {
	Type string
	Data []byte
}

// UI renders pages.
type UI struct {
	pages  *template.Template
	assets map[string]Asset
	names  map[string]string
}

// script is the only asset that imports another one.
const script = "page.js"

var types = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// New parses the embedded files.
func New() (*UI, error) {
	u := &UI{assets: map[string]Asset{}, names: map[string]string{}}
	files, err := assets.ReadDir("assets")
	if err != nil {
		return nil, fmt.Errorf("read the page's assets: %w", err)
	}
	for _, f := range files { // map.js before page.js, which imports it
		data, err := assets.ReadFile(path.Join("assets", f.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the page's assets: %w", err)
		}
		if f.Name() == script {
			data = bytes.ReplaceAll(data, []byte("./map.js"), []byte("."+strings.TrimPrefix(u.names["map.js"], "/assets")))
		}
		sum := sha256.Sum256(data)
		extension := path.Ext(f.Name())
		name := strings.TrimSuffix(f.Name(), extension) + "." + hex.EncodeToString(sum[:6]) + extension
		u.assets[name] = Asset{types[extension], data}
		u.names[f.Name()] = "/assets/" + name
	}
	u.pages, err = template.New("").Funcs(u.functions()).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("read the page's templates: %w", err)
	}
	return u, nil
}

// Asset returns a file by the name that pages use.
func (u *UI) Asset(name string) (Asset, bool) {
	a, ok := u.assets[name]
	return a, ok
}

// Page writes a whole page. Its template is named by the field Base of view.
func (u *UI) Page(w io.Writer, view any) error {
	if err := u.pages.ExecuteTemplate(w, "layout", view); err != nil {
		return fmt.Errorf("render a page: %w", err)
	}
	return nil
}

// Fragment writes one part of a page.
func (u *UI) Fragment(w io.Writer, page, fragment string, view any) error {
	if err := u.pages.ExecuteTemplate(w, u.fragment(page, fragment), view); err != nil {
		return fmt.Errorf("render %s of page %s: %w", fragment, page, err)
	}
	return nil
}

// HasFragment reports whether a page has a part of that name.
func (u *UI) HasFragment(page, fragment string) bool {
	return u.pages.Lookup(u.fragment(page, fragment)) != nil
}

// fragment returns the template of a part: the page's own, or the shared one.
func (u *UI) fragment(page, fragment string) string {
	if fragment == "notices" || fragment == "leases" {
		return fragment
	}
	return page + "-" + fragment
}

func (u *UI) functions() template.FuncMap {
	return template.FuncMap{
		"asset":  func(name string) string { return u.names[name] },
		"class":  strings.ToLower,
		"number": Number,
		"plural": func(n int, one, many string) string {
			if n == 1 {
				return one
			}
			return many
		},
		"short": short,
		"last":  func(name string) string { return name[strings.LastIndexByte(name, ':')+1:] },
	}
}

// Number returns a number with separated thousands.
func Number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// When is a time in the forms that a page shows.
type When struct{ Stamp, Ago, For, Clock string }

// NewWhen returns a time relative to now, or nil for the zero time.
func NewWhen(t, now time.Time) *When {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &When{Stamp: t.Format(time.RFC3339), Ago: ago(now.Sub(t)), For: lasting(now.Sub(t)), Clock: t.Format("15:04:05 UTC")}
}

func ago(d time.Duration) string {
	if d < time.Minute {
		return "just now"
	}
	return lasting(d) + " ago"
}

func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// short returns the first part of a revision, enough for a person to recognise it.
func short(revision string) string {
	switch {
	case revision == "":
		return "none"
	case len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == "":
		return revision[:8]
	case len([]rune(revision)) > 24:
		return string([]rune(revision)[:23]) + "…"
	}
	return revision
}
