// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Command gate fails when the code becomes too large for one reader. It reports types with too many methods,
// and files of a package that use each other in circles. It reports declared names with words that
// Kubernetes, OCM and Argo CD do not use. It prints the number of lines and statements. Arguments are module
// folders. The flag -allowed names a file with exceptions, one a line. The gate lists each exception, and
// fails for an exception that no finding needs.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/tools/go/packages"

	"open-cluster-management.io/multicluster-integrations/e2e/must"
)

const (
	mostMethods = 25 // see methodsOf
	mostUpward  = 8  // arrows between files that use each other, directly or indirectly
)

// words must not be used in declared identifiers, because no API of our readers has them.
var words = strings.Fields(`
	doom doomed lull calm ruling carry foresee judge yield contender elder unheard spoken asked
	tell told hear heard roster kick handed survey dear company spare begun sighting bare looker
	lookers struck somebody nobody barge lately`)

var verbose = flag.Bool("v", false, "list the arrows, and the methods of types that have too many")

func main() {
	allowed := flag.String("allowed", "", "file with the exceptions that are left")
	flag.Parse()
	left, err := exceptions(*allowed)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	failed := false
	var sizes sizes
	for _, module := range flag.Args() {
		found, size, err := look(module)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		sizes.add(size)
		for _, f := range found {
			if most, exists := left[f.what]; exists {
				delete(left, f.what)
				if f.n <= most {
					fmt.Printf("%s: %d, at most %d: an exception\n", f.what, f.n, f.most)
					continue
				}
			}
			failed = true
			fmt.Printf("%s: %d, at most %d\n", f.what, f.n, f.most)
		}
		for what := range left {
			if strings.Contains(what, " "+filepath.Base(module)+"/") {
				failed = true
				fmt.Printf("%s: an exception that is not needed any more; take it out of %s\n", what, *allowed)
				delete(left, what)
			}
		}
	}
	fmt.Print(sizes)
	if failed {
		os.Exit(1)
	}
}

// finding is a count above its limit.
type finding struct {
	what    string
	n, most int
}

// exceptions reads lines of "<number> <what>".
func exceptions(path string) (map[string]int, error) {
	left := map[string]int{}
	if path == "" {
		return left, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number, what, ok := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if number == "" || strings.HasPrefix(number, "#") {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s: %q: want a number and what it is allowed for", path, lines.Text())
		}
		left[what] = n
	}
	return left, nil
}

// look returns the findings in a module, and the size of its code.
func look(module string) (_ []finding, _ sizes, err error) {
	defer must.Return(&err)
	list, err := packages.Load(&packages.Config{Dir: module, Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile}, "./...")
	if err != nil {
		return nil, sizes{}, fmt.Errorf("load %s: %w", module, err)
	}
	root := must.Get(filepath.Abs(module))
	var (
		found []finding
		size  sizes
	)
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, sizes{}, fmt.Errorf("load %s: %w", p.PkgPath, p.Errors[0])
		}
		if len(p.GoFiles) == 0 {
			continue
		}
		folder := must.Get(filepath.Rel(filepath.Dir(root), filepath.Dir(p.GoFiles[0])))
		found = append(found, ofPackage(p, filepath.ToSlash(folder))...)
		size.add(sizeOf(p, filepath.ToSlash(folder)))
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.what, b.what) })
	return found, size, nil
}

func ofPackage(p *packages.Package, folder string) []finding {
	named := map[string]int{}
	for _, file := range p.Syntax {
		if generated(p.Fset, file) {
			continue
		}
		for id, object := range p.TypesInfo.Defs {
			if object == nil || p.Fset.File(id.Pos()) != p.Fset.File(file.Pos()) {
				continue
			}
			for _, word := range wordsOf(id.Name) {
				if slices.Contains(words, word) {
					named[word]++
				}
			}
		}
	}
	var found []finding
	for name, methods := range methodsOf(p) {
		if n := len(methods); n > mostMethods {
			found = append(found, finding{"methods of " + folder + "." + name, n, mostMethods})
			if *verbose {
				fmt.Println(name, slices.Sorted(maps.Keys(methods)))
			}
		}
	}
	for word, n := range named {
		found = append(found, finding{fmt.Sprintf("names with %q in %s", word, folder), n, 0})
	}
	if n := len(upward(p)); n > mostUpward {
		found = append(found, finding{"arrows upward between files of " + folder, n, mostUpward})
		if *verbose {
			fmt.Println(strings.Join(upward(p), "\n"))
		}
	}
	return found
}

func generated(fset *token.FileSet, file *ast.File) bool {
	return ast.IsGenerated(file) || strings.HasSuffix(fset.Position(file.Pos()).Filename, "_test.go")
}

// wordsOf splits an identifier at its capitals.
func wordsOf(name string) []string {
	var list []string
	for i, r := range name {
		if i == 0 || unicode.IsUpper(r) || r == '_' {
			list = append(list, "")
		}
		list[len(list)-1] += string(unicode.ToLower(r))
	}
	return list
}

// upward returns the arrows between files of a package that lie on a circle.
func upward(p *packages.Package) (found []string) {
	arrows := map[string]map[string]bool{}
	for id, object := range p.TypesInfo.Uses {
		if object.Pkg() != p.Types || object.Pos() == token.NoPos {
			continue
		}
		if _, field := object.(*types.Var); field && object.Parent() != p.Types.Scope() {
			continue
		}
		from, to := p.Fset.Position(id.Pos()).Filename, p.Fset.Position(object.Pos()).Filename
		if from == to {
			continue
		}
		if arrows[from] == nil {
			arrows[from] = map[string]bool{}
		}
		arrows[from][to] = true
	}
	for from, targets := range arrows {
		for to := range targets {
			if reaches(arrows, to, from) {
				found = append(found, filepath.Base(from)+" -> "+filepath.Base(to))
			}
		}
	}
	slices.Sort(found)
	return found
}

func reaches(arrows map[string]map[string]bool, from, to string) bool {
	seen := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; {
		file := next[0]
		next = next[1:]
		if file == to {
			return true
		}
		for _, target := range slices.Sorted(maps.Keys(arrows[file])) {
			if !seen[target] {
				seen[target] = true
				next = append(next, target)
			}
		}
	}
	return false
}
