// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/optional/liveview/internal/view"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/slim"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// target is where an Application runs.
type target struct {
	hub         client.ObjectKey
	cluster     string
	application string // namespace/name there
	note        string // the text about the cluster that is shown in addition to the view
	diffs       bool   // the hub gets the managed resources, too
}

// is reports whether another target is the same Application.
func (t *target) is(other *target) bool {
	return other != nil && t.cluster == other.cluster && t.application == other.application
}

// reason is why an Application has no view.
type reason struct {
	text string
	// ours is true if no other writer sets the resources in its status.
	ours bool
	// ofHub is true if the hub's own Argo CD deploys it, as most hubs do with some Applications. It
	// has no text, because nobody expects a view.
	ofHub bool
}

// find returns the cluster of an open Application, and its name there. If no view may be shown, it
// returns nil and the reason. Only Applications that propagation has delivered count. A user who
// may write an Application can name any cluster in it, but propagation has checked whether the
// cluster is allowed.
func (v *Viewer) find(ctx context.Context, instance string) (t *target, why reason, err error) {
	app := application(v.hubKey(instance))
	hub := client.ObjectKeyFromObject(app)
	if err := v.Live.Get(ctx, hub, app); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, reason{text: "there is no Application " + hub.String()}, nil
		}
		return nil, why, fmt.Errorf("read Application %s: %w", hub, err)
	}
	if !contract.IsPulled(app.GetLabels()) {
		return nil, reason{ofHub: true}, nil
	}
	annotations := app.GetAnnotations()
	if skip, _ := contract.IsTrue(annotations[argocd.SkipReconcileAnnotation]); !skip {
		return nil, reason{text: "the hub's own Argo CD reconciles the Application and writes its tree: set annotation " + argocd.SkipReconcileAnnotation + `: "true", in the template of its ApplicationSet if it has one`}, nil
	}
	cluster := annotations[contract.ClusterAnnotation]
	if cluster == "" {
		return nil, reason{text: "the Application names no cluster: set annotation " + contract.ClusterAnnotation + " to the name of a ManagedCluster", ours: true}, nil
	}
	work, err := deliveryOf(ctx, v.Live, v.Works, app, cluster)
	if err != nil {
		return nil, why, err
	}
	if work == nil {
		return nil, reason{text: "the Application is not delivered to " + cluster, ours: true}, nil
	}
	note, _, err := clusterNote(ctx, v.Live, cluster)
	return &target{hub: hub, cluster: cluster, application: deliveredBy(work), note: note, diffs: namesCluster(app, cluster)}, why, err
}

// namesCluster reports whether the destination of a hub Application is its managed cluster, by the
// name or the server that registers it. If an Application has managed resources, argocd-server
// makes server-side diffs on its destination. It uses the caller's manifests and argocd-server's
// rights. If the destination is the hub, such a diff can read everything that argocd-server may
// patch.
func namesCluster(app *unstructured.Unstructured, cluster string) bool {
	destination, _, err := unstructured.NestedStringMap(app.Object, "spec", "destination")
	if err != nil || cluster == "in-cluster" {
		return false
	}
	name, server := destination["name"], destination["server"]
	return name == cluster && server == "" || name == "" && server == contract.RegisteredServer(cluster)
}

func (v *Viewer) hubKey(instance string) client.ObjectKey {
	namespace, name := view.Application(v.ArgoCDNamespace, instance)
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// Works lists the metadata of ManifestWorks one by one, because a managed cluster may fill the
// labels of all its works.
type Works = slim.Lister[listedWork]

type listedWork struct {
	Metadata slim.Meta `json:"metadata"`
}

// NewWorks returns the lister of a hub.
func NewWorks(config *rest.Config) (Works, error) {
	config = rest.CopyConfig(config) // the API server leaves out specs and statuses
	config.AcceptContentTypes = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	return slim.NewLister[listedWork](config, schema.GroupVersion(workv1.GroupVersion).WithResource("manifestworks"))
}

// pulled selects the ManifestWorks of propagation.
var pulled = labels.SelectorFromSet(labels.Set{contract.PullLabel: "true"})

// deliveryOf returns the ManifestWork by which propagation delivers an Application to a cluster, or
// nil.
func deliveryOf(ctx context.Context, live client.Reader, works Works, app *unstructured.Unstructured, cluster string) (*workv1.ManifestWork, error) {
	key := client.ObjectKey{Namespace: cluster, Name: contract.WorkName(app.GetName(), string(app.GetUID()))}
	work, err := read(ctx, live, key)
	if err != nil || work != nil && isDelivery(work, app) {
		return work, err
	}
	// A work has another name if it was taken over, or if its usual name was taken.
	other := ""
	err = works.Each(ctx, cluster, pulled, func(w *listedWork) (more bool) {
		if w.Metadata.Name != key.Name && isDelivery(&w.Metadata, app) {
			other = w.Metadata.Name
		}
		return other == ""
	})
	if err != nil {
		return nil, fmt.Errorf("list ManifestWorks of %s: %w", cluster, err)
	}
	if other == "" {
		return nil, nil //nolint:nilnil // none is an answer
	}
	key.Name = other
	return read(ctx, live, key)
}

// isDelivery reports whether a work belongs to an Application, by propagation's proof: its name was
// made from the Application's UID, or it carries that UID.
func isDelivery(work metav1.Object, app *unstructured.Unstructured) bool {
	annotations := work.GetAnnotations()
	return contract.IsPulled(work.GetLabels()) && work.GetDeletionTimestamp() == nil &&
		annotations[contract.HubNamespaceAnnotation] == app.GetNamespace() && annotations[contract.HubNameAnnotation] == app.GetName() &&
		(strings.HasPrefix(work.GetName(), contract.WorkName(app.GetName(), string(app.GetUID()))) || annotations[contract.HubUIDAnnotation] == string(app.GetUID()))
}

// deliveredBy returns namespace/name of the Application in a ManifestWork of propagation.
func deliveredBy(work *workv1.ManifestWork) string {
	for i := range work.Spec.Workload.Manifests {
		var o metav1.PartialObjectMetadata
		if json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &o) == nil && o.Kind == "Application" {
			return o.Namespace + "/" + o.Name
		}
	}
	return ""
}

// clusterNote returns the note about an unreachable cluster.
func clusterNote(ctx context.Context, live client.Reader, name string) (note string, unreachable bool, err error) {
	cluster := &clusterv1.ManagedCluster{}
	if err := live.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		if apierrors.IsNotFound(err) {
			return "", false, nil // its works go with it
		}
		return "", false, fmt.Errorf("read ManagedCluster %s: %w", name, err)
	}
	state := status.ClusterOf(name, cluster)
	if state.Available || state.Since.IsZero() {
		return "", false, nil
	}
	return "away since " + utc(state.Since), true, nil
}

// noStatus is the status of an Application that has no view.
const noStatus = "{}"

// patchStatus writes the resources of a view into the hub Application's status, because Argo CD's
// page needs them to show one. [noStatus] removes the list.
func (v *Viewer) patchStatus(ctx context.Context, instance string, e *entry, wanted string) error {
	if wanted == e.status || wanted == noStatus && e.status == "" {
		return nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(wanted), &fields); err != nil {
		return err
	}
	for _, field := range []string{"resources", "resourceHealthSource"} {
		if fields[field] == nil {
			fields[field] = json.RawMessage("null")
		}
	}
	patch, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return err
	}
	hub := v.hubKey(instance)
	only := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: hub.Namespace, Name: hub.Name}}
	only.SetGroupVersionKind(applicationKind)
	err = v.Client.Patch(ctx, only, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status.resources of Application %s: %w", hub, err)
	}
	e.status = wanted
	if wanted == noStatus {
		e.status = ""
	}
	return nil
}

var applicationKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// application is an Application to be read.
func application(key client.ObjectKey) *unstructured.Unstructured {
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(applicationKind)
	app.SetNamespace(key.Namespace)
	app.SetName(key.Name)
	return app
}
