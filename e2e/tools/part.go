// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
)

// part is one thing the builder puts into bin/: a binary, or a folder of files copied from pinned modules.
type part struct {
	// name is what people call the part, and the file or folder under bin/.
	name string
	// module is the folder of the tool module that pins the part's version.
	module string
	// pkg is the main package to build; empty for copied files.
	pkg string
	// ldflags are linker flags beyond those that every binary gets, for parts that report their version. {version}, {major} and
	// {minor} stand for the version that the tool module pins versionOf at.
	ldflags   string
	versionOf string
	// tags are build tags, comma-separated; empty: none.
	tags string
	// edit is the one change made to the part's source before it is built, or nil.
	edit *edit
	// copies are the files to copy instead of building a package.
	copies []copyRule
	// groups are the names that stand for this part and others.
	groups []string
}

// commonFlags are the same for every binary on every machine: building one with and one without -trimpath would compile
// everything they share twice. -v is what the progress is counted by.
var commonFlags = []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-v"}

// flags are those of the go command that say what p is made of.
func (p part) flags() []string {
	if p.tags == "" {
		return slices.Clone(commonFlags)
	}
	return append(slices.Clone(commonFlags), "-tags="+p.tags)
}

// copyRule says which files of a pinned module go to which folder below the part's own.
type copyRule struct {
	// toolModule is the folder of the tool module that pins module.
	toolModule string
	module     string
	// glob selects files of module, by their path in it. It has to match.
	glob string
	// to is the folder the files are copied to.
	to string
	// templates says that the files are wanted although they are Go templates.
	templates bool
}

// recipe spells out how p is made, as text to be hashed.
func (p part) recipe() string {
	text := fmt.Sprintf("%s\n%s\n%q\n%q\n%q\n", p.name, p.pkg, commonFlags, commonEnv, p.ldflags)
	if p.tags != "" {
		text += fmt.Sprintf("tags %s\n", p.tags)
	}
	if p.edit != nil {
		text += fmt.Sprintf("edit %+v\n", *p.edit)
	}
	for _, rule := range p.copies {
		text += fmt.Sprintf("copy %+v\n", rule)
	}
	return text
}

// modules lists the folders of the tool modules that p is made from, sorted.
func (p part) modules() []string {
	var modules []string
	if p.module != "" {
		modules = append(modules, p.module)
	}
	for _, rule := range p.copies {
		modules = append(modules, rule.toolModule)
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}
