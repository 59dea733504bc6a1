// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // SPDX 2.3 demands a SHA-1 of every file, beside the SHA-256
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/image"
)

// Subject names the image that a bill of materials is about.
type Subject struct {
	Name, Version, Revision string
	Architecture            string
	Digest                  v1.Hash
	Created                 time.Time
	// Programs are paths of binaries by their names in the image.
	Programs map[string]string
}

const (
	noAssertion = "NOASSERTION"
	ownLicence  = "Apache-2.0"
	spdxSpace   = "https://open-cluster-management.io/multicluster-integrations/spdx/"
)

// SBOM lists what an image consists of, as SPDX 2.3 in JSON: its files, the modules
// that the binaries were linked from, as the linker recorded them, the Go standard
// library and the source of the root certificates.
func SBOM(s Subject) ([]byte, error) {
	b := newBill(s)
	names := make([]string, 0, len(s.Programs))
	for name := range s.Programs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(s.Programs[name])
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("read the modules of %s: %w", name, err)
		}
		file := b.file(name, content)
		b.modules(file, info)
	}
	roots, err := image.Roots()
	if err != nil {
		return nil, err
	}
	rootsFile := b.file(image.RootsPath, roots)
	b.relate(rootsFile, "GENERATED_FROM", b.module(rootsModule()))
	var out bytes.Buffer
	if err := spdxjson.Write(b.document, &out, spdxjson.Indent(" "), spdxjson.EscapeHTML(false)); err != nil {
		return nil, fmt.Errorf("encode the bill of materials of %s: %w", s.Name, err)
	}
	return out.Bytes(), nil
}

// rootsModule is the module of the root certificates, at the version that this
// program was built with.
func rootsModule() *debug.Module {
	if own, ok := debug.ReadBuildInfo(); ok {
		for _, m := range own.Deps {
			if m.Path == image.RootsModule {
				return m
			}
		}
	}
	return &debug.Module{Path: image.RootsModule}
}

// bill is a document under construction.
type bill struct {
	document *spdx.Document
	subject  Subject
	image    spdx.ElementID
	known    map[string]spdx.ElementID
}

func newBill(s Subject) *bill {
	title := fmt.Sprintf("%s-%s-linux-%s", s.Name, s.Version, s.Architecture)
	b := &bill{subject: s, image: "Image", known: map[string]spdx.ElementID{}, document: &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: title, DocumentNamespace: spdxSpace + title + "-" + s.Digest.Hex,
		CreationInfo: &spdx.CreationInfo{
			Created:  s.Created.UTC().Format(time.RFC3339),
			Creators: []spdx.Creator{{CreatorType: "Organization", Creator: "The multicluster-integrations Authors"}},
		},
	}}
	b.document.Packages = append(b.document.Packages, &spdx.Package{
		PackageName: s.Name, PackageSPDXIdentifier: b.image, PackageVersion: s.Version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: ownLicence,
		PackageCopyrightText: noAssertion, PrimaryPackagePurpose: "CONTAINER",
		PackageChecksums: []spdx.Checksum{{Algorithm: spdx.SHA256, Value: s.Digest.Hex}},
		PackageExternalReferences: purl(fmt.Sprintf("pkg:oci/%s@%s?arch=%s&tag=%s",
			s.Name, strings.Replace(s.Digest.String(), ":", "%3A", 1), s.Architecture, s.Version)),
	})
	b.relate("DOCUMENT", "DESCRIBES", b.image)
	return b
}

func (b *bill) relate(from spdx.ElementID, kind string, to spdx.ElementID) {
	b.document.Relationships = append(b.document.Relationships, &spdx.Relationship{
		RefA: spdx.DocElementID{ElementRefID: from}, Relationship: kind, RefB: spdx.DocElementID{ElementRefID: to},
	})
}

func (b *bill) file(path string, content []byte) spdx.ElementID {
	id := spdx.ElementID(fmt.Sprintf("File-%d", len(b.document.Files)+1))
	one, two := sha1.Sum(content), sha256.Sum256(content) //nolint:gosec // see the import
	b.document.Files = append(b.document.Files, &spdx.File{
		FileName: "/" + path, FileSPDXIdentifier: id, LicenseConcluded: noAssertion, FileCopyrightText: noAssertion,
		Checksums: []spdx.Checksum{{Algorithm: spdx.SHA1, Value: hex.EncodeToString(one[:])}, {Algorithm: spdx.SHA256, Value: hex.EncodeToString(two[:])}},
	})
	b.relate(b.image, "CONTAINS", id)
	return id
}

// modules adds what a binary was linked from.
func (b *bill) modules(binary spdx.ElementID, info *debug.BuildInfo) {
	main := info.Main
	main.Version = b.subject.Version
	b.relate(binary, "GENERATED_FROM", b.module(&main))
	b.relate(binary, "DEPENDS_ON", b.module(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}))
	for _, m := range info.Deps {
		if m.Replace != nil && m.Replace.Version == "" {
			m = &debug.Module{Path: m.Path, Version: b.subject.Revision} // a folder of this repository
		} else if m.Replace != nil {
			m = m.Replace
		}
		b.relate(binary, "DEPENDS_ON", b.module(m))
	}
}

func (b *bill) module(m *debug.Module) spdx.ElementID {
	key := m.Path + "@" + m.Version
	if id, ok := b.known[key]; ok {
		return id
	}
	id := spdx.ElementID(fmt.Sprintf("Module-%d", len(b.known)+1))
	b.known[key] = id
	p := &spdx.Package{
		PackageName: m.Path, PackageSPDXIdentifier: id, PackageVersion: m.Version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion,
		PackageCopyrightText: noAssertion, PackageExternalReferences: purl("pkg:golang/" + key),
	}
	if m.Sum != "" {
		p.PackageSourceInfo = "go.sum " + m.Sum
	}
	b.document.Packages = append(b.document.Packages, p)
	return id
}

func purl(locator string) []*spdx.PackageExternalReference {
	return []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: locator}}
}
