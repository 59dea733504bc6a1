// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"strconv"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// These annotations exist on cached works only: they stand for the
// spec, which the cache does not keep.
const (
	cachePrefix        = "cache.propagation/"
	HashAnnotation     = cachePrefix + "spec-hash"
	BaseHashAnnotation = cachePrefix + "base-hash" // only while there is a request
	ScrapeAnnotation   = cachePrefix + "scrape"
)

// hasStoredKeys reports whether a map of a cached work is there on the API server too: the
// cache adds keys of its own.
func hasStoredKeys(m map[string]string) bool {
	for key := range m {
		if !strings.HasPrefix(key, cachePrefix) {
			return true
		}
	}
	return false
}

// CachedBase returns the hash of a cached work's spec without its request.
func CachedBase(work *workv1.ManifestWork) string {
	if base, there := work.Annotations[BaseHashAnnotation]; there {
		return base
	}
	return work.Annotations[HashAnnotation]
}

// Polls reports whether a stored work polls although the CRD knows to watch.
func Polls(work *workv1.ManifestWork) bool {
	return work.Annotations[ScrapeAnnotation] == string(workv1.FeedbackPollType)
}

// ScrapeType returns the scrape type of the Application, the last manifest.
func ScrapeType(spec *workv1.ManifestWorkSpec) string {
	if len(spec.ManifestConfigs) == 0 {
		return ""
	}
	return string(spec.ManifestConfigs[len(spec.ManifestConfigs)-1].FeedbackScrapeType)
}

// MarkGeneration keeps, on the wanted work, the generation at which more than a
// request last changed, so that a request coming and going does not make yesterday's
// feedback look outdated. A change of more drops the mark: then it is the work's own.
func MarkGeneration(current, want *workv1.ManifestWork, withSpec bool, base string) {
	mark := current.Annotations[contract.ChangeGenerationAnnotation]
	switch {
	case withSpec && CachedBase(current) != base:
		return
	case withSpec && mark == "":
		mark = strconv.FormatInt(current.Generation, 10)
	}
	if mark != "" {
		want.Annotations[contract.ChangeGenerationAnnotation] = mark
	}
}

// MarkStored notes, on the wanted work, that the API server stores the wanted spec
// as what current has, be it that its CRD does not know a field: so that propagation need
// not write it again to find out, not even after a restart.
func MarkStored(current, want *workv1.ManifestWork, hash string, same, withSpec bool) {
	is := current.Annotations[HashAnnotation]
	switch {
	case withSpec: // what becomes of it will be seen
	case same && is != hash && is != "": // a work that is not from the cache has no hash
		want.Annotations[contract.StoredSpecAnnotation] = StoredAs(hash, is)
	case !same: // held back: what was noted is still true
		if mark, there := current.Annotations[contract.StoredSpecAnnotation]; there {
			want.Annotations[contract.StoredSpecAnnotation] = mark
		}
	}
}

// StoredAs says that a spec with the hash wanted is stored as one with the hash is.
func StoredAs(wanted, is string) string { return wanted + "/" + is }
