// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// bracketed is a doc link: an identifier in brackets. A bracket after a word is the key of a map.
var bracketed = regexp.MustCompile(`(?:^|[^\w])\[\*?([A-Za-z]\w*(?:\.\w+){0,2})\]`)

const module = "open-cluster-management.io/multicluster-integrations/"

// goPackage is one folder of Go files, tests included.
type goPackage struct {
	files   map[string]*ast.File
	symbols map[string]bool // Name, and Type.Name for methods and fields
}

// A doc link without a target is shown with its brackets, and readers search for it without success.
func TestDocLinks_resolve(t *testing.T) {
	set := token.NewFileSet()
	packages := map[string]*goPackage{} // by import path
	for _, name := range files(t, "*.go") {
		file, err := parser.ParseFile(set, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		at := module + path.Dir(name)
		if packages[at] == nil {
			packages[at] = &goPackage{files: map[string]*ast.File{}, symbols: map[string]bool{}}
		}
		packages[at].files[name] = file
		maps.Copy(packages[at].symbols, symbolsOf(file))
	}
	for _, at := range slices.Sorted(maps.Keys(packages)) {
		for name, file := range packages[at].files {
			for _, group := range file.Comments {
				for _, link := range deadLinks(group.Text(), at, file, packages) {
					t.Errorf("%s:%d: [%s] leads nowhere: name what exists, or leave the brackets out", name, set.Position(group.Pos()).Line, link)
				}
			}
		}
	}
}

func TestDeadLinks(t *testing.T) {
	source := strings.Join([]string{
		"package a", `import ("strings"; other "` + module + `b/long"; "k8s.io/api/core/v1")`, "type Outer[T any] struct { Field, inner int; Inner }",
		"type Inner interface { Method() }", "func (o *Outer[T]) Get() {}", "const A, B = 1, 2", "func unexported() {}",
	}, "\n")
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]*goPackage{
		module + "a":      {symbols: symbolsOf(file)},
		module + "b/long": {symbols: map[string]bool{"There": true}},
	}
	alive := "[Outer] [*Outer] [Outer.Get] [Outer.Field] [Inner.Method] [A] [B] [strings] [strings.Builder] [other.There] [v1.Pod] [unexported] [Outer.inner] []string map[string]int [0]"
	if dead := deadLinks(alive, module+"a", file, packages); len(dead) > 0 {
		t.Errorf("%q are dead", dead)
	}
	dead := []string{"Gone", "Outer.Gone", "other.Gone", "nowhere.There", "outer", "unexported.Get"}
	if got := deadLinks("["+strings.Join(dead, "] [")+"]", module+"a", file, packages); !slices.Equal(got, dead) {
		t.Errorf("dead are %q, want %q", got, dead)
	}
}

// deadLinks returns the links in the text of a comment that name nothing that exists. An unexported name
// counts as a link, although only an editor can follow it. deadLinks does not check names in other modules'
// packages.
func deadLinks(text, at string, file *ast.File, packages map[string]*goPackage) []string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = target
	}
	var dead []string
	for _, m := range bracketed.FindAllStringSubmatch(text, -1) {
		target, symbol := at, m[1]
		first, rest, qualified := strings.Cut(m[1], ".")
		if imported, ok := imports[first]; ok {
			target, symbol = imported, rest
		} else if standard, ok := comment.DefaultLookupPackage(first); ok {
			target, symbol = standard, rest
		}
		own := packages[target]
		if own != nil && !own.symbols[symbol] && (target == at || qualified) {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// symbolsOf returns the possible targets of links in a file: Name, and Type.Name of a method or field.
func symbolsOf(file *ast.File) map[string]bool {
	out := map[string]bool{}
	add := func(prefix string, names ...*ast.Ident) {
		for _, name := range names {
			out[prefix+name.Name] = true
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add("", d.Name)
			} else {
				add(typeName(d.Recv.List[0].Type)+".", d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					add("", s.Names...)
				case *ast.TypeSpec:
					add("", s.Name)
					for _, field := range fieldsOf(s.Type) {
						add(s.Name.Name+".", field.Names...)
					}
				}
			}
		}
	}
	return out
}

func fieldsOf(typ ast.Expr) []*ast.Field {
	switch t := typ.(type) {
	case *ast.StructType:
		return t.Fields.List
	case *ast.InterfaceType:
		return t.Methods.List
	}
	return nil
}

// typeName returns the name of a receiver's type.
func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
