// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The README is the first page for a new reader, so it is short.
func TestREADME_isShort(t *testing.T) {
	text := read(t, "README.md")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > 120 {
		t.Errorf("README.md has %d lines, want at most 120: move what only some need to docs/", len(lines))
	}
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > 120 {
			t.Errorf("README.md:%d has %d characters, want at most 120", i+1, n)
		}
	}
	if n := len(Links(text)); n > 25 {
		t.Errorf("README.md has %d links, want at most 25: docs/README.md is the index", n)
	}
}

func TestIndex_linksEveryPage(t *testing.T) {
	for _, name := range files(t, "docs/*.md") {
		index := "docs/README.md"
		if path.Dir(name) == "docs/decisions" {
			index = "docs/decisions/README.md"
		}
		if name == index || name == "docs/decisions/README.md" {
			continue
		}
		if !regexp.MustCompile(`\(` + regexp.QuoteMeta(path.Base(name)) + `[)#]`).MatchString(read(t, index)) {
			t.Errorf("%s is not linked from %s", name, index)
		}
	}
}

// The tests do not include the builder of the website. This test finds pages that the builder would
// reject.
func TestWebsite_hasEveryPage(t *testing.T) {
	var site struct {
		Docs string `json:"docs_dir"`
		Nav  []any  `json:"nav"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "mkdocs.yml")), &site); err != nil {
		t.Fatal(err)
	}
	nav := map[string]bool{}
	var walk func(entry any)
	walk = func(entry any) {
		switch e := entry.(type) {
		case string:
			nav[path.Join(site.Docs, e)] = true
		case []any:
			for _, each := range e {
				walk(each)
			}
		case map[string]any:
			for _, each := range e {
				walk(each)
			}
		}
	}
	walk(site.Nav)
	record := regexp.MustCompile(`^docs/decisions/\d`)
	for _, name := range files(t, "docs/*.md") {
		if !nav[name] && !record.MatchString(name) {
			t.Errorf("%s is not in nav of mkdocs.yml", name)
		}
		delete(nav, name)
	}
	for name := range nav {
		t.Errorf("nav of mkdocs.yml names %s, which does not exist", name)
	}
}

// The steps of the architecture are links to code, and their text is the name of a function or type. If the
// code moves or is renamed, the page has to follow.
func TestArchitecture_namesExistingCode(t *testing.T) {
	const page = "docs/architecture.md"
	step := regexp.MustCompile("\\[`([\\w.]+)`\\]\\((\\S+\\.go)\\)")
	steps := step.FindAllStringSubmatch(read(t, page), -1)
	if len(steps) == 0 {
		t.Fatalf("%s links to no function: the test proves nothing", page)
	}
	for _, m := range steps {
		owner, name, method := strings.Cut(m[1], ".")
		file := filepath.Join(path.Dir(page), m[2])
		declared := regexp.MustCompile(`(?m)^(func|type) ` + owner + `\b`)
		if method { // the method of that type
			declared = regexp.MustCompile(`(?m)^func \((\w+ )?\*?` + owner + `\b[^)]*\) ` + name + `\b`)
		}
		if !declared.MatchString(read(t, file)) {
			t.Errorf("%s names %s, which %s does not declare", page, m[1], file)
		}
	}
}

// The page names every package, so that readers can find it.
func TestArchitecture_namesEveryPackage(t *testing.T) {
	page := read(t, "docs/architecture.md")
	room := regexp.MustCompile(`^(?:(?:propagation|resourcesync|aggregation|optional/\w+)/internal|shared)/\w+`)
	rooms := map[string]bool{}
	for _, module := range []string{"propagation", "resourcesync", "aggregation", "optional", "shared"} {
		for _, name := range files(t, module+"/*.go") {
			if folder := room.FindString(path.Dir(name)); folder != "" {
				rooms[folder] = true
			}
		}
	}
	if len(rooms) == 0 {
		t.Fatal("no package found: the test proves nothing")
	}
	for folder := range rooms {
		if !regexp.MustCompile(`\]\(\.\./` + folder + `(/v1alpha1)?\)`).MatchString(page) {
			t.Errorf("docs/architecture.md does not name package %s", folder)
		}
	}
}

// An operator who reacts to an alert finds the same text in the alert and on the page.
func TestAlerts_haveEveryRunbook(t *testing.T) {
	page := plain(read(t, "docs/alerts.md"))
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert       string
					Annotations map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/monitoring/base/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, group := range rules.Spec.Groups {
		for _, r := range group.Rules {
			alerts++
			if !strings.Contains(page, " ### "+r.Alert+" ") {
				t.Errorf("docs/alerts.md has no section %s", r.Alert)
			}
			for _, line := range append(strings.Split(strings.TrimSpace(r.Annotations["runbook"]), "\n"), r.Annotations["description"]) {
				if !strings.Contains(page, strings.TrimSpace(plain(line))) {
					t.Errorf("docs/alerts.md does not have the text of alert %s: %s", r.Alert, line)
				}
			}
		}
	}
	if alerts == 0 {
		t.Fatal("no alert found: the test proves nothing")
	}
}

var label = regexp.MustCompile(`\{\{ \$labels\.(\w+) \}\}`)

// plain returns a text without Markdown's marks, with readable labels and single spaces.
func plain(text string) string {
	text = label.ReplaceAllStringFunc(text, func(l string) string { return strings.ToUpper(label.FindStringSubmatch(l)[1]) })
	return " " + strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ") + " "
}

func TestMetricsPage_hasEveryMetric(t *testing.T) {
	page := read(t, "docs/metrics.md")
	named := regexp.MustCompile(`Name:\s+"((?:propagation|resourcesync|aggregation|gitopscluster|multicluster_integrations)_\w+)"`)
	metrics := 0
	for _, module := range []string{"shared", "propagation", "resourcesync", "aggregation", "optional"} {
		for _, name := range files(t, module+"/*metrics.go") {
			for _, m := range named.FindAllStringSubmatch(read(t, name), -1) {
				metrics++
				if !regexp.MustCompile("`" + m[1] + "[`{]").MatchString(page) {
					t.Errorf("docs/metrics.md has no metric %s, which %s registers", m[1], name)
				}
			}
		}
	}
	if metrics == 0 {
		t.Fatal("no metric found: the test proves nothing")
	}
}

func TestTroubleshooting_hasEveryReason(t *testing.T) {
	page := read(t, "docs/troubleshooting.md")
	declared := regexp.MustCompile(`(?m)^\s+Reason\w+\s+= "(\w+)"`)
	reasons := 0
	for _, name := range files(t, "propagation/internal/*.go") {
		for _, m := range declared.FindAllStringSubmatch(read(t, name), -1) {
			reasons++
			if m[1] != "Delivered" && m[1] != "NotPulled" && !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("docs/troubleshooting.md has no reason %s of %s", m[1], name)
			}
		}
	}
	if reasons == 0 {
		t.Fatal("no reason found: the test proves nothing")
	}
}

// Agents work in spite of a warning, so no condition has it as its reason. Troubleshooting names the condition
// whose message has it, and no page calls it a reason. Troubleshooting has all other reasons as well.
func TestTroubleshooting_distinguishesWarningsFromReasons(t *testing.T) {
	constant := regexp.MustCompile(`(?m)^\s+(Reason\w+)\s+= "(\w+)"`)
	problem := regexp.MustCompile(`Problem\{+(?:Warning: (true|[^,]+), )?Reason: (Reason\w+)`)
	names, fails := map[string]string{}, map[string]bool{}
	var warned []string
	for _, name := range files(t, "optional/gitopscluster/internal/*.go") {
		if strings.HasSuffix(name, "_test.go") || !regexp.MustCompile(`/(principal|certificates)/`).MatchString(name) {
			continue
		}
		text := read(t, name)
		for _, m := range constant.FindAllStringSubmatch(text, -1) {
			names[m[1]] = m[2]
		}
		for _, m := range problem.FindAllStringSubmatch(text, -1) {
			if m[1] == "true" {
				warned = append(warned, m[2])
			} else {
				fails[m[2]] = true
			}
		}
	}
	page := read(t, "docs/troubleshooting.md")
	for reason := range fails {
		if !strings.Contains(page, "`"+names[reason]+"`") {
			t.Errorf("docs/troubleshooting.md has no reason %s", names[reason])
		}
	}
	warnings := 0
	for _, reason := range warned {
		if fails[reason] {
			continue
		}
		warnings++
		row := regexp.MustCompile("(?m)^\\|[^|\n]*`" + names[reason] + "`.*$").FindString(page)
		if !strings.Contains(row, ", in the message of `") {
			t.Errorf("docs/troubleshooting.md: the row of warning %q is %q, want the condition whose message has it", names[reason], row)
		}
		for _, name := range files(t, "docs/*.md") {
			if strings.Contains(read(t, name), "has reason `"+names[reason]+"`") {
				t.Errorf("%s calls warning %s the reason of a condition", name, names[reason])
			}
		}
	}
	if warnings == 0 || !fails["ReasonPingsRefused"] {
		t.Fatalf("%d warnings, failures %v: the test proves nothing", warnings, fails)
	}
}

// The page has the flags that each binary prints with -h. .ci/verify checks that they are current.
func TestConfiguration_hasTheFlagsOfEveryBinary(t *testing.T) {
	page := read(t, "docs/configuration.md") + read(t, "docs/liveview.md") + read(t, "docs/page.md") + read(t, "docs/placement.md") + read(t, "docs/rendered.md")
	for _, main := range files(t, "*/main.go") {
		binary, rest, _ := strings.Cut(strings.TrimPrefix(main, "optional/"), "/")
		if rest != "main.go" || binary == "e2e" {
			continue
		}
		if !strings.Contains(page, "<!-- flags of "+binary+" -->") {
			t.Errorf("docs/configuration.md has no flags of %s", binary)
		}
	}
}

// An example with a repository that does not exist would fail for each new user.
func TestExamples_runUnchanged(t *testing.T) {
	sources := 0
	url := regexp.MustCompile(`(?:repoURL|sourceRepos): (\S+)`)
	for _, folder := range []string{"deploy/examples/*.yaml", "deploy/rendered/*.yaml"} {
		for _, name := range files(t, folder) {
			for _, m := range url.FindAllStringSubmatch(read(t, name), -1) {
				sources++
				if !strings.Contains(m[1], "https://github.com/argoproj/argocd-example-apps.git") && m[1] != `["*"]` {
					t.Errorf("%s names repository %s, want the public one of all examples", name, m[1])
				}
			}
		}
	}
	if sources == 0 {
		t.Fatal("no example names a repository: the test proves nothing")
	}
}
