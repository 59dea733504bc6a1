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
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/request"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
)

// StoredOf returns the data that the cache keeps of a work to compare it with a desired work.
func StoredOf(work *workv1.ManifestWork) manifestcache.Stored {
	spec := &work.Spec
	// A spec that cannot be hashed is not ours. It gets no hash, so that it is repaired.
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
	var app types.NamespacedName // a spec without manifests delivers nothing, even if its options name an Application
	if len(spec.Workload.Manifests) > 0 {
		app = DeliveredBy(spec)
	}
	stored.Delivers = &app
	return stored
}

// CachedBase returns the hash of a cached work's spec without its request.
func CachedBase(work *manifestcache.Work) string {
	return cmp.Or(work.Stored.BaseHash, work.Stored.Hash)
}

// Compare returns the hashes of a desired work with the request r. If want asks for nothing and
// only a finished refresh in the work differs, Compare keeps the refresh. Removing it would be an
// unnecessary write.
func Compare(current *manifestcache.Work, want *workv1.ManifestWork, r request.Request) (Hashes, error) {
	h, err := HashesOf(&want.Spec, r)
	sent := current.Extra.Request
	if err != nil || want.Annotations[contract.RequestAnnotation] != "" || !request.IsRefresh(sent) || CachedBase(current) != h.Base || Polls(current) {
		return h, err
	}
	want.Annotations[contract.RequestAnnotation] = sent
	return Hashes{Spec: current.Stored.Hash, Base: h.Base}, nil
}

// Polls reports whether a stored work uses polling although the CRD supports watching.
func Polls(work *manifestcache.Work) bool { return work.Stored.Polls }

// scrapeType returns the scrape type of the Application, which is the last manifest.
func scrapeType(spec *workv1.ManifestWorkSpec) workv1.FeedbackScrapeType {
	if len(spec.ManifestConfigs) == 0 {
		return ""
	}
	return spec.ManifestConfigs[len(spec.ManifestConfigs)-1].FeedbackScrapeType
}

// keepGeneration keeps the generation at which more than a request last changed on the desired
// work. Otherwise earlier feedback would count as outdated after a request was added and removed.
// Any other change removes the annotation, so that the work's own generation counts.
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

// writtenAs returns the hash of the spec that was written, if the API server stores it as a spec
// with the hash stored. The work has a note of both.
func writtenAs(work *workv1.ManifestWork, stored string) string {
	written, noted := strings.CutSuffix(work.Annotations[contract.StoredSpecAnnotation], "/"+stored)
	if !noted {
		return stored
	}
	return written
}

// StoredSpecPatch returns the JSON patch that notes two hashes on a work: of the written spec, and
// of the spec that the API server stored instead. They differ, for example, if the CRD does not
// have a field. With the note, the spec is not written again, even after a restart.
func StoredSpecPatch(current *manifestcache.Work, now *metav1.PartialObjectMetadata, written string) (json.RawMessage, error) {
	stored := current.Stored.Hash
	if is, noted := strings.CutPrefix(current.Annotations[contract.StoredSpecAnnotation], stored+"/"); noted {
		stored = is
	}
	return patchOf(now.ResourceVersion, patchOperation{"add", "/metadata/annotations/" + pointer.Replace(contract.StoredSpecAnnotation), written + "/" + stored})
}
