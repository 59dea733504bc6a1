// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/types"
	"maps"

	"golang.org/x/tools/go/packages"
)

// methodsOf returns, for each named type of a package, the functions that a reader of the type must read.
// These are the methods that the package declares for it, promoted ones included, and the functions of the
// package with the type as a parameter. Two struct types with fields of each other's type count as one type
// in two parts.
func methodsOf(p *packages.Package) map[string]map[string]bool {
	found := map[string]map[string]bool{}
	for _, name := range p.Types.Scope().Names() {
		if t, ok := p.Types.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() && declared(p, t) {
			found[name] = methodSet(p, t)
		}
	}
	addFunctions(p, found)
	fields := map[string]map[string]bool{}
	for name := range found {
		fields[name] = fieldTypes(p, name)
	}
	whole := map[string]map[string]bool{}
	for name, methods := range found {
		whole[name] = maps.Clone(methods)
		for part := range fields[name] {
			if part != name && found[part] != nil && reaches(fields, part, name) {
				maps.Copy(whole[name], found[part])
			}
		}
	}
	return whole
}

// addFunctions adds the functions of a package to the types of their parameters.
func addFunctions(p *packages.Package, found map[string]map[string]bool) {
	for _, file := range p.Syntax {
		if generated(p.Fset, file) {
			continue
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			for _, parameter := range f.Type.Params.List {
				if name := typeName(p, p.TypesInfo.TypeOf(parameter.Type)); found[name] != nil {
					found[name][f.Name.Name] = true
				}
			}
		}
	}
}

// declared reports whether a type is declared in a file that the gate reads.
func declared(p *packages.Package, t *types.TypeName) bool {
	for _, file := range p.Syntax {
		if file.FileStart <= t.Pos() && t.Pos() < file.FileEnd {
			return !generated(p.Fset, file)
		}
	}
	return false
}

func methodSet(p *packages.Package, t *types.TypeName) map[string]bool {
	receiver := t.Type()
	if !types.IsInterface(receiver) {
		receiver = types.NewPointer(receiver)
	}
	methods := map[string]bool{}
	for method := range types.NewMethodSet(receiver).Methods() {
		if f := method.Obj(); f.Pkg() == p.Types {
			name := f.Name()
			if named, ok := f.(*types.Func); ok {
				name = named.FullName()
			}
			methods[name] = true
		}
	}
	return methods
}

// fieldTypes returns the types of the package that the fields of a struct type have, by pointer or value.
func fieldTypes(p *packages.Package, name string) map[string]bool {
	found := map[string]bool{}
	structure, ok := p.Types.Scope().Lookup(name).Type().Underlying().(*types.Struct)
	if !ok {
		return found
	}
	for field := range structure.Fields() {
		if of := typeName(p, field.Type()); of != "" {
			found[of] = true
		}
	}
	return found
}

// typeName returns the name of a type of the package, or of its pointer type. It returns "" for another type.
func typeName(p *packages.Package, t types.Type) string {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if named, ok := t.(*types.Named); ok && named.Obj().Pkg() == p.Types {
		return named.Obj().Name()
	}
	return ""
}
