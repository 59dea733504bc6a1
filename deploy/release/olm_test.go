// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
	"sigs.k8s.io/yaml"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

// olmIsWhole checks the bundle for OLM as a catalog and an administrator would.
func (p *publisher) olmIsWhole(t *testing.T, out, version string) {
	files := filepath.Join(out, "files")
	folder := t.TempDir()
	command(t, "tar", "-xzf", filepath.Join(files, "multicluster-integrations-olm-bundle-"+version+".tgz"), "-C", folder, "--strip-components=1")
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("image", func(t *testing.T) { olmImageHolds(t, filepath.Join(out, "images"), version, folder) })
	t.Run("validators", func(t *testing.T) { p.olmIsValid(t, out, bundle) })
	overlay := objectsOf(t, read(t, filepath.Join(files, "install-rhacm.yaml")))
	prerequisites := objectsOf(t, read(t, filepath.Join(files, "olm-prerequisites.yaml")))
	t.Run("images", func(t *testing.T) { p.olmRunsTheImages(t, out, bundle) })
	t.Run("rights", func(t *testing.T) { olmGrants(t, bundle, prerequisites, overlay) })
	t.Run("objects", func(t *testing.T) { olmMakesAll(t, bundle, prerequisites, overlay) })
	t.Run("ClusterServiceVersion", func(t *testing.T) { p.olmDescribes(t, bundle, version) })
}

func olmImageHolds(t *testing.T, images, version, folder string) {
	img, index := imageOf(t, images, "multicluster-integrations/olm-bundle", version)
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Annotations map[string]string }
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(folder, "metadata", "annotations.yaml"))), &said); err != nil {
		t.Fatal(err)
	}
	for key, want := range said.Annotations {
		if got := config.Config.Labels[key]; got != want {
			t.Errorf("label %s of the image is %q, annotations.yaml says %q", key, got, want)
		}
	}
	root, names := unpack(t, img)
	if len(names) < 5 { // two folders, the annotations, and at least a ClusterServiceVersion and a Service
		t.Errorf("the image holds %q", names)
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(root, name)); err == nil && !info.IsDir() && read(t, filepath.Join(root, name)) != read(t, filepath.Join(folder, name)) {
			t.Errorf("%s in the image is not the one in the archive", name)
		}
	}
}

// warned has the accepted warnings of the validators, by their text, and why each is accepted.
var warned = map[string]string{
	"csv.Spec.Icon not specified":           "there is none",
	"example annotations not found":         "nobody writes a report by hand",
	"invalid node affinity configuration":   "the images are for every architecture that OpenShift has",
	"Migrate the API(s) for events: ([\"Cl": "a rule has no version: what was removed is v1beta1 of events.k8s.io",
}

func (p *publisher) olmIsValid(t *testing.T, out string, bundle *manifests.Bundle) {
	p.playDocker(t, out)
	all := slices.Concat(validation.DefaultBundleValidators, []validator.Validator{
		validation.ObjectValidator, validation.GoodPracticesValidator, validation.OperatorHubV2Validator, validation.StandardCategoriesValidator,
		validation.StandardCapabilitiesValidator, validation.AlphaDeprecatedAPIsValidator, validation.MultipleArchitecturesValidator,
	})
	subjects := append(bundle.ObjectsToValidate(), map[string]string{"k8s-version": "1.37", "container-tools": "docker"})
	heard := map[string]bool{}
	results := 0
	for _, v := range all {
		for _, result := range v.Validate(subjects...) {
			results++
			for _, e := range result.Errors {
				t.Error(e)
			}
			for _, w := range result.Warnings {
				known := slices.DeleteFunc(slices.Collect(maps.Keys(warned)), func(says string) bool { return !strings.Contains(w.Detail, says) })
				if len(known) != 1 {
					t.Errorf("%s: %s", w.Type, w.Detail)
					continue
				}
				heard[known[0]] = true
			}
		}
	}
	if results != len(all)-1 { // the bundle has no CRD
		t.Errorf("%d validators gave %d results, want one of each but that of CRDs", len(all), results)
	}
	for says, because := range warned {
		if !heard[says] {
			t.Errorf("nothing warns any more of %q (%s)", says, because)
		}
	}
}

// playDocker replaces the engine that a validator asks for the existing images. It answers with the
// indexes of the release.
func (p *publisher) playDocker(t *testing.T, out string) {
	t.Helper()
	answers, programs := t.TempDir(), t.TempDir()
	for _, line := range strings.Fields(read(t, filepath.Join(out, "files", "images.txt"))) {
		repository, _, _ := strings.Cut(strings.TrimPrefix(line, p.registry+"/"), ":")
		index, _, err := store.Read(filepath.Join(out, "images", repository))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.RawManifest()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(answers, digestOf(t, index).Hex), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\n[ \"$1\" = pull ] || cat '" + answers + "'/\"${3##*:}\"\n"
	if err := os.WriteFile(filepath.Join(programs, "docker"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
}

func (p *publisher) olmRunsTheImages(t *testing.T, out string, bundle *manifests.Bundle) {
	var related, run []string
	for _, i := range bundle.CSV.Spec.RelatedImages {
		related = append(related, i.Image)
	}
	for _, c := range bundle.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers {
		run = append(run, c.Image)
	}
	slices.Sort(related)
	slices.Sort(run)
	want := p.pinned(t, out)
	if !slices.Equal(run, want) || !slices.Equal(related, want) {
		t.Errorf("the bundle runs %q and lists %q as related, want %q", run, related, want)
	}
	for _, o := range bundle.Objects {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`multicluster-integrations/(propagation|resourcesync|aggregation)[:@][\w:.-]+`).FindAllString(string(text), -1) {
			if !strings.Contains(found, "@sha256:") {
				t.Errorf("%s %s names %s by its tag", o.GetKind(), o.GetName(), found)
			}
		}
	}
}

func (p *publisher) olmDescribes(t *testing.T, bundle *manifests.Bundle, version string) {
	csv := bundle.CSV
	if got := csv.Spec.Version.String(); csv.Name != "multicluster-integrations.v"+version || got != version {
		t.Errorf("the ClusterServiceVersion is called %s and has version %s, want %s", csv.Name, got, version)
	}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == "OwnNamespace") {
			t.Errorf("install mode %s is supported: %v. In an OperatorGroup of all namespaces OLM turns the Roles into ClusterRoles", mode.Type, mode.Supported)
		}
	}
	if got := csv.Annotations["operatorframework.io/suggested-namespace"]; got != "multicluster-integrations" {
		t.Errorf("the suggested namespace is %q, which is not where the prerequisites are", got)
	}
	if want := fmt.Sprintf(`kubeVersion: ">=%s-0"`, csv.Spec.MinKubeVersion); !strings.Contains(read(t, filepath.Join(p.root, "deploy", "chart", "Chart.yaml")), want) {
		t.Errorf("the chart does not say %s", want)
	}
}
