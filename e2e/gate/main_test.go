// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
)

// module writes a module with one package and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	files["go.mod"] = "module example.com/made\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".go") {
			text = "package made\n" + text
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLook(t *testing.T) {
	t.Setenv("GOWORK", "off")
	var methods, circle strings.Builder
	for i := range mostMethods {
		fmt.Fprintf(&methods, "func (t *T) m%d() {}\n", i)
	}
	ring := map[string]string{}
	for i := range mostUpward + 1 {
		fmt.Fprintf(&circle, "func f%d() { f%d() }\n", i, (i+1)%(mostUpward+1))
		ring[fmt.Sprintf("f%d.go", i)] = fmt.Sprintf("func f%d() { f%d() }\n", i, (i+1)%(mostUpward+1))
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []finding
	}{
		"as many methods as there may be":       {files: map[string]string{"a.go": "type T struct{}\n" + methods.String()}},
		"a function on the type is one more":    {files: map[string]string{"a.go": "type T struct{}\n" + methods.String() + "func more(t *T) {}\n"}, want: []finding{{"methods of made.T", mostMethods + 1, mostMethods}}},
		"in any parameter":                      {files: map[string]string{"a.go": "type T struct{}\n" + methods.String() + "func more(n int, t *T) {}\n"}, want: []finding{{"methods of made.T", mostMethods + 1, mostMethods}}},
		"promoted methods":                      {files: map[string]string{"a.go": "type T struct{}\n" + methods.String() + "type U struct{ *T }\nfunc (u *U) more() {}\n"}, want: []finding{{"methods of made.U", mostMethods + 1, mostMethods}}},
		"methods of a field are not the type's": {files: map[string]string{"a.go": "type T struct{}\n" + methods.String() + "type U struct{ t *T }\nfunc (u *U) more() {}\n"}},
		"a part that points back to the whole": {files: map[string]string{"a.go": "type T struct{ part part }\n" + methods.String() + "type part struct{ whole *T }\nfunc (p *part) more() {}\n"}, want: []finding{
			{"methods of made.T", mostMethods + 1, mostMethods}, {"methods of made.part", mostMethods + 1, mostMethods}}},
		"a circle within a file is none":       {files: map[string]string{"a.go": circle.String()}},
		"a circle of files":                    {files: ring, want: []finding{{"arrows upward between files of made", mostUpward + 1, mostUpward}}},
		"a word of nobody's in a name":         {files: map[string]string{"a.go": "func wasTold(calm bool) {}\n"}, want: []finding{{`names with "calm" in made`, 1, 0}, {`names with "told" in made`, 1, 0}}},
		"a word in a comment, and in a longer": {files: map[string]string{"a.go": "// told of calm\nfunc stoldX() {}\n"}},
		"tests are not looked at":              {files: map[string]string{"a.go": "", "a_test.go": "func told() {}\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := look(module(t, c.files))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(finding{})); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLook_countsLinesAndStatements(t *testing.T) {
	t.Setenv("GOWORK", "off")
	_, got, err := look(module(t, map[string]string{
		"a.go":      "\nfunc f(n int) int {\n\tif n > 0 {\n\t\treturn n\n\t}\n\tn++; n++\n\treturn n\n}\n",
		"a_test.go": "func g() { f(1) }\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if want := (sizes{product: size{lines: 9, statements: 5}}); got != want {
		t.Errorf("sizes %+v, want %+v: the if, both returns and both additions", got, want)
	}
}

func TestSizeOf(t *testing.T) {
	empty := &packages.Package{Fset: token.NewFileSet()}
	file, err := parser.ParseFile(empty.Fset, "a.go", "package a\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	empty.Syntax = []*ast.File{file}
	n := size{lines: 1}
	for folder, want := range map[string]sizes{
		"propagation/internal/deliver":           {core: n, product: n},
		"shared":                                 {core: n, product: n},
		"shared/testkit/supervisor":              {around: n},
		"aggregation/internal/rendered":          {product: n},
		"optional/page/internal/model":           {product: n},
		"optional/page/internal/simulate":        {around: n},
		"gitopscluster/internal/agents":          {product: n},
		"gitopscluster/internal/argocd/generate": {around: n},
		"e2e/env":                                {around: n},
		"release/internal/image":                 {around: n},
	} {
		if got := sizeOf(empty, folder); got != want {
			t.Errorf("%s: %+v, want %+v", folder, got, want)
		}
	}
}
