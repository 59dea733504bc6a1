// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parameters reads the parameters that an Application passes to the plugin. The Application
// may choose only the parameters of its source. Its environment is not read.
package parameters

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// These are the tools that render. Auto depends on the files of the source.
const (
	Auto      = "auto"
	Directory = "directory"
	Helm      = "helm"
	Kustomize = "kustomize"
)

// MaxShards bounds how many ManifestWorks one group of manifests is spread over.
const MaxShards = 256

// Parameters are an Application's parameters. The zero value is not valid (see [Parse]).
type Parameters struct {
	Tool            string
	Namespace       string // for manifests that name none, and Helm's release namespace
	CreateNamespace bool
	AllowEmpty      bool

	Release     string
	ValuesFiles []string
	Values      map[string]string
	KubeVersion string
	APIVersions []string
	SkipCRDs    bool

	Shards       int // at least 1
	ShardsBefore int // 0 if the number of shards did not change
	WavesBefore  WavesBefore

	Plurals       map[string]string // by "Kind.group"
	ClusterScoped []string          // "Kind.group"
}

// Parse parses ARGOCD_APP_PARAMETERS, the JSON in which Argo CD passes them. Errors name the
// parameter and its valid values, and never its value.
func Parse(text string) (Parameters, error) {
	p := Parameters{Tool: Auto, Shards: 1}
	var given []parameter
	if text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return p, fmt.Errorf("ARGOCD_APP_PARAMETERS: want the JSON list that Argo CD passes to a plugin")
		}
	}
	seen := map[string]bool{}
	for _, g := range given {
		set, known := setters[g.Name]
		if !known {
			return p, fmt.Errorf("parameter %q: want one of %s", g.Name[:min(len(g.Name), 63)], strings.Join(slices.Sorted(maps.Keys(setters)), ", "))
		}
		if seen[g.Name] {
			return p, fmt.Errorf("parameter %s: want it once", g.Name)
		}
		if want := set(&p, g); want != "" {
			return p, fmt.Errorf("parameter %s: want %s", g.Name, want)
		}
		seen[g.Name] = true
	}
	if p.CreateNamespace && p.Namespace == "" {
		return p, fmt.Errorf("parameter namespace: want the namespace that create-namespace is to create")
	}
	return p, nil
}

// parameter is one entry of the list. Argo CD writes exactly one of the values.
type parameter struct {
	Name   string            `json:"name"`
	String *string           `json:"string"`
	Array  []string          `json:"array"`
	Map    map[string]string `json:"map"`
}

// setters set a parameter, or return its valid values.
var setters = map[string]func(*Parameters, parameter) string{
	"tool": text(func(p *Parameters) *string { return &p.Tool }, "one of auto, directory, helm, kustomize", func(v string) bool {
		return slices.Contains([]string{Auto, Directory, Helm, Kustomize}, v)
	}),
	"namespace":        text(func(p *Parameters) *string { return &p.Namespace }, "the name of a namespace", isLabel),
	"create-namespace": boolean(func(p *Parameters) *bool { return &p.CreateNamespace }),
	"allow-empty":      boolean(func(p *Parameters) *bool { return &p.AllowEmpty }),
	"skip-crds":        boolean(func(p *Parameters) *bool { return &p.SkipCRDs }),
	"release":          text(func(p *Parameters) *string { return &p.Release }, releaseWant, IsReleaseName),
	"kube-version":     text(func(p *Parameters) *string { return &p.KubeVersion }, "a Kubernetes version", isPlain),
	"values-files":     array(func(p *Parameters) *[]string { return &p.ValuesFiles }, func(string) bool { return true }),
	"api-versions":     array(func(p *Parameters) *[]string { return &p.APIVersions }, isPlain),
	"cluster-scoped":   array(func(p *Parameters) *[]string { return &p.ClusterScoped }, isPlain),
	"values":           dictionary(func(p *Parameters) *map[string]string { return &p.Values }),
	"plurals":          dictionary(func(p *Parameters) *map[string]string { return &p.Plurals }),
	"shards":           number(func(p *Parameters) *int { return &p.Shards }),
	"shards-before":    number(func(p *Parameters) *int { return &p.ShardsBefore }),
	"waves-before":     waves,
}

func text(field func(*Parameters) *string, want string, valid func(string) bool) func(*Parameters, parameter) string {
	return func(p *Parameters, g parameter) string {
		if g.String == nil || !valid(*g.String) {
			return want + ", as a string"
		}
		*field(p) = *g.String
		return ""
	}
}

func boolean(field func(*Parameters) *bool) func(*Parameters, parameter) string {
	return func(p *Parameters, g parameter) string {
		if g.String == nil || *g.String != "true" && *g.String != "false" {
			return `"true" or "false", as a string`
		}
		*field(p) = *g.String == "true"
		return ""
	}
}

func number(field func(*Parameters) *int) func(*Parameters, parameter) string {
	return func(p *Parameters, g parameter) string {
		if g.String != nil {
			if n, err := strconv.Atoi(*g.String); err == nil && n >= 1 && n <= MaxShards {
				*field(p) = n
				return ""
			}
		}
		return fmt.Sprintf("a whole number from 1 to %d, as a string", MaxShards)
	}
}

func array(field func(*Parameters) *[]string, valid func(string) bool) func(*Parameters, parameter) string {
	return func(p *Parameters, g parameter) string {
		if g.Array == nil || slices.ContainsFunc(g.Array, func(v string) bool { return v == "" || !valid(v) }) {
			return "an array of plain strings, none of them empty"
		}
		*field(p) = g.Array
		return ""
	}
}

func dictionary(field func(*Parameters) *map[string]string) func(*Parameters, parameter) string {
	return func(p *Parameters, g parameter) string {
		if _, empty := g.Map[""]; g.Map == nil || empty {
			return "a map of strings"
		}
		*field(p) = g.Map
		return ""
	}
}

// WavesBefore has the sync waves in which manifests were delivered before they moved to another
// wave or to a hook. Keys are "KIND.GROUP/NAME", "KIND.GROUP" or "*".
type WavesBefore map[string]int

// Of returns the wave in which a manifest was delivered, by its most specific entry.
func (w WavesBefore) Of(kind, name string) (wave int, found bool) {
	for _, key := range []string{kind + "/" + name, kind, "*"} {
		if wave, found = w[key]; found {
			return wave, true
		}
	}
	return 0, false
}

func waves(p *Parameters, g parameter) string {
	const want = `a map of whole numbers, as strings, by KIND.GROUP/NAME, by KIND.GROUP or by "*"`
	if g.Map == nil {
		return want
	}
	p.WavesBefore = WavesBefore{}
	for key, text := range g.Map {
		wave, err := strconv.ParseInt(text, 10, 32)
		if key == "" || err != nil {
			return want
		}
		p.WavesBefore[key] = int(wave)
	}
	return ""
}

const releaseWant = "the name of a Helm release: at most 53 lower-case letters, digits, '-' and '.'"

// IsReleaseName reports whether Helm takes a name for a release.
func IsReleaseName(name string) bool {
	return len(name) <= 53 && len(validation.IsDNS1123Subdomain(name)) == 0
}

func isLabel(v string) bool { return len(validation.IsDNS1123Label(v)) == 0 }

// isPlain reports whether a value is a version or a kind, and cannot be taken for a flag.
func isPlain(v string) bool {
	return v != "" && !strings.HasPrefix(v, "-") && !strings.ContainsFunc(v, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./+-_", r)
	})
}
