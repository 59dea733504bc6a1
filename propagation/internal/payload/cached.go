// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// StoredOf returns what is kept of a work in the cache to compare it with a wanted one.
func StoredOf(work *workv1.ManifestWork) manifestcache.Stored {
	spec := &work.Spec
	// A spec that cannot be hashed is not one of ours: no hash, and it is repaired.
	stored := manifestcache.Stored{
		Polls: scrapeType(spec) == workv1.FeedbackPollType, Labelled: len(work.Labels) > 0, Annotated: len(work.Annotations) > 0,
		Finalized: slices.Contains(work.Finalizers, workv1.ManifestWorkFinalizer),
	}
	if c := meta.FindStatusCondition(work.Status.Conditions, workv1.WorkApplied); c != nil && c.ObservedGeneration >= work.Generation {
		stored.Refused = c.Status == metav1.ConditionFalse
	}
	stored.Project, stored.ProjectHash = carriedProject(spec)
	stored.Hash, _ = SpecHash(spec)
	stored.Hash = writtenAs(work, stored.Hash)
	if work.Annotations[contract.RequestAnnotation] != "" {
		stored.BaseHash, _ = baseHash(spec)
	}
	if len(spec.Workload.Manifests) > 0 {
		app := DeliveredBy(spec)
		stored.Delivers = &app
	}
	return stored
}

// CachedBase returns the hash of a cached work's spec without its request.
func CachedBase(work *manifestcache.Work) string {
	return cmp.Or(work.Stored.BaseHash, work.Stored.Hash)
}

// Compare returns the hashes of a wanted work with the request r. A want that asks for nothing
// leaves a refresh that has been in the work when nothing else differs: taking it out would be
// a write for nothing.
func Compare(current *manifestcache.Work, want *workv1.ManifestWork, r request.Request) (Hashes, error) {
	h, err := HashesOf(&want.Spec, r)
	sent := current.Extra.Request
	if err != nil || want.Annotations[contract.RequestAnnotation] != "" || !request.IsRefresh(sent) || CachedBase(current) != h.Base || Polls(current) {
		return h, err
	}
	want.Annotations[contract.RequestAnnotation] = sent
	return Hashes{Spec: current.Stored.Hash, Base: h.Base}, nil
}

// Polls reports whether a stored work polls although the CRD knows to watch.
func Polls(work *manifestcache.Work) bool { return work.Stored.Polls }

// scrapeType returns the scrape type of the Application, the last manifest.
func scrapeType(spec *workv1.ManifestWorkSpec) workv1.FeedbackScrapeType {
	if len(spec.ManifestConfigs) == 0 {
		return ""
	}
	return spec.ManifestConfigs[len(spec.ManifestConfigs)-1].FeedbackScrapeType
}

// keepGeneration keeps, on the wanted work, the generation at which more than a
// request last changed, so that a request coming and going does not make yesterday's
// feedback look outdated. A change of more drops the mark: then it is the work's own.
func keepGeneration(current *manifestcache.Work, want *workv1.ManifestWork, withSpec bool, base string) {
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

// writtenAs returns the hash of the spec that was written when the API server stores it as
// one with the hash stored, as the work notes.
func writtenAs(work *workv1.ManifestWork, stored string) string {
	written, noted := strings.CutSuffix(work.Annotations[contract.StoredSpecAnnotation], "/"+stored)
	if !noted {
		return stored
	}
	return written
}

// StoredSpecPatch returns the JSON patch that notes, on a work as it is now, that the API
// server stores a spec with the hash written as what current has, be it that its CRD does not
// know a field: so that it is not written again to find out, not even after a restart.
func StoredSpecPatch(current *manifestcache.Work, now *metav1.PartialObjectMetadata, written string) (json.RawMessage, error) {
	stored := current.Stored.Hash
	if is, noted := strings.CutPrefix(current.Annotations[contract.StoredSpecAnnotation], stored+"/"); noted {
		stored = is
	}
	return patchOf(now.ResourceVersion, patchOperation{"add", "/metadata/annotations/" + pointer.Replace(contract.StoredSpecAnnotation), written + "/" + stored})
}
