// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"regexp"

	"golang.org/x/tools/go/packages"
)

// size is the amount of code without tests and generated files. The number of statements does not
// depend on line breaks.
type size struct{ lines, statements int }

func (s *size) add(other size) {
	s.lines += other.lines
	s.statements += other.statements
}

// sizes is the size of code by its readers. core is the pod's three binaries and their common code. product
// adds the options. around is the code that builds and tests the product.
type sizes struct{ core, product, around size }

func (s *sizes) add(other sizes) {
	s.core.add(other.core)
	s.product.add(other.product)
	s.around.add(other.around)
}

func (s sizes) String() string {
	return fmt.Sprintf("core: %d lines, %d statements\nproduct: %d lines, %d statements\naround: %d lines, %d statements\n",
		s.core.lines, s.core.statements, s.product.lines, s.product.statements, s.around.lines, s.around.statements)
}

var (
	around = regexp.MustCompile(`^e2e(/|$)|^release(/|$)|(^|/)(testkit|generate|simulate)(/|$)`)
	core   = regexp.MustCompile(`^(propagation|resourcesync|aggregation|shared)(/|$)`)
	option = regexp.MustCompile(`^aggregation/internal/rendered(/|$)`)
)

func sizeOf(p *packages.Package, folder string) (s sizes) {
	var n size
	for _, file := range p.Syntax {
		if generated(p.Fset, file) {
			continue
		}
		n.lines += p.Fset.File(file.Pos()).LineCount()
		ast.Inspect(file, func(node ast.Node) bool {
			switch node.(type) {
			case *ast.BlockStmt, *ast.LabeledStmt, *ast.EmptyStmt, *ast.CaseClause, *ast.CommClause:
			case ast.Stmt:
				n.statements++
			}
			return true
		})
	}
	switch {
	case around.MatchString(folder):
		s.around = n
	default:
		s.product = n
		if core.MatchString(folder) && !option.MatchString(folder) {
			s.core = n
		}
	}
	return s
}
