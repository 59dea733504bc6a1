// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package request is the contract of viewer and observer. It defines the ManifestWorks by which the
// hub requests views of Applications from a managed cluster, and the result. It is pure.
package request

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
)

const (
	// Label marks ManifestWorks and ConfigMaps of views.
	Label = "apps.open-cluster-management.io/liveview"
	// namePrefix begins the names of ManifestWorks and ConfigMaps.
	namePrefix = "liveview-"
	// MaxApplications is how many Applications one ManifestWork asks for: each change of a view
	// sends all of them.
	MaxApplications = 32
)

// These are keys of the data of a ConfigMap.
const (
	// ApplicationsKey has [Applications] as JSON. The hub writes it.
	ApplicationsKey = "applications"
	// ViewsKey has [Views] as JSON. The observer writes it.
	ViewsKey = "views"
)

// Applications are the requests of one ManifestWork. They map the name that the hub's Argo CD has
// for an Application to namespace/name on the managed cluster.
type Applications map[string]string

// Views are the answers, by the same names.
type Views map[string]View

// View is a managed cluster's view of an Application. It is not checked.
type View struct {
	// Blob is the last view (see package view).
	Blob []byte `json:"blob,omitempty"`
	// Source is a digest of the input of Blob. It is empty if Blob is not the latest view.
	Source string `json:"source,omitempty"`
	// Message is why no view exists or the view is not the latest, or names the parts that the view
	// leaves out. It has at most [MaxMessage] bytes.
	Message string `json:"message,omitempty"`
	// Renewed is the minute of the observer's clock in which it last read the Application. It
	// changes even if the Application does not, so that the hub can detect whether the observer is
	// running.
	Renewed int64 `json:"renewed,omitempty"`
	// Alone is true if the view is too large to share a ManifestWork.
	Alone bool `json:"alone,omitempty"`
}

// These are limits for the content of a ManifestWork.
const (
	// MaxShared is how many bytes the blob of a view has at most in a ManifestWork with others.
	MaxShared = 15 << 10
	// MaxMessage bounds messages.
	MaxMessage = 512
	// maxViews is more than the size of [MaxApplications] views of that size as JSON. maxValues is
	// more than the number of values in that JSON.
	maxViews  = 1 << 20
	maxValues = 10 * MaxApplications
)

// Name returns the name of a ManifestWork and its ConfigMap. A cluster has them by number.
func Name(number int) string { return namePrefix + strconv.Itoa(number) }

// IsName reports whether [Name] returns a name for some number.
func IsName(name string) bool {
	number, err := strconv.Atoi(strings.TrimPrefix(name, namePrefix))
	return err == nil && number >= 0 && Name(number) == name
}

// Work returns a ManifestWork that asks a cluster for views. observer is the namespace of the
// observer.
func Work(cluster, name, observer string, applications Applications) (*workv1.ManifestWork, error) {
	labels := map[string]string{Label: "true"}
	list, err := json.Marshal(applications)
	if err != nil {
		return nil, fmt.Errorf("write the ConfigMap of %s: %w", name, err)
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": observer, "name": name, "labels": labels},
		"data":     map[string]string{ApplicationsKey: string(list)},
	})
	if err != nil {
		return nil, fmt.Errorf("write the ConfigMap of %s: %w", name, err)
	}
	return &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: name, Labels: labels},
		Spec: workv1.ManifestWorkSpec{
			Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}},
			ManifestConfigs: []workv1.ManifestConfigOption{{
				ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: observer, Name: name},
				// The agent does not change fields that it does not apply, and the observer writes
				// only those.
				UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeServerSideApply},
				FeedbackScrapeType: workv1.FeedbackWatchType,
				FeedbackRules: []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{
					{Name: ViewsKey, Path: ".data." + ViewsKey},
				}}},
			}},
		},
	}, nil
}

// ApplicationsOf returns the requests of a work. It returns an error for a work that [Work] did not
// make.
func ApplicationsOf(work *workv1.ManifestWork) (Applications, error) {
	if n := len(work.Spec.Workload.Manifests); n != 1 {
		return nil, fmt.Errorf("ManifestWork %s/%s has %d manifests, want 1", work.Namespace, work.Name, n)
	}
	var requested struct{ Data map[string]string }
	if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &requested); err != nil {
		return nil, fmt.Errorf("read the ConfigMap of ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	return ReadApplications(requested.Data)
}

// ReadApplications reads the data of a ConfigMap.
func ReadApplications(data map[string]string) (applications Applications, err error) {
	if err := json.Unmarshal([]byte(data[ApplicationsKey]), &applications); err != nil {
		return nil, fmt.Errorf("read %s of the ConfigMap: %w", ApplicationsKey, err)
	}
	if len(applications) > MaxApplications {
		return nil, fmt.Errorf("%s of the ConfigMap has %d entries, at most %d are read", ApplicationsKey, len(applications), MaxApplications)
	}
	return applications, nil
}

// ViewsOf reads the feedback of a work. It returns no views if the cluster has not answered.
func ViewsOf(work *workv1.ManifestWork) (Views, error) {
	for i := range work.Status.ResourceStatus.Manifests {
		for _, v := range work.Status.ResourceStatus.Manifests[i].StatusFeedbacks.Values {
			if v.Name == ViewsKey && v.Value.String != nil {
				return ReadViews(*v.Value.String)
			}
		}
	}
	return nil, nil //nolint:nilnil // none is an answer
}

// ReadViews reads the views that an observer wrote.
func ReadViews(text string) (views Views, err error) {
	if len(text) > maxViews {
		return nil, fmt.Errorf("views of %d bytes, at most %d are read", len(text), maxViews)
	}
	if n := view.Values([]byte(text)); n > maxValues {
		return nil, fmt.Errorf("views of up to %d values, at most %d are read", n, maxValues)
	}
	if err := json.Unmarshal([]byte(text), &views); err != nil {
		return nil, fmt.Errorf("read the views: %w", err)
	}
	for name, v := range views {
		v.Message = v.Message[:min(len(v.Message), MaxMessage)]
		views[name] = v
	}
	return views, nil
}
