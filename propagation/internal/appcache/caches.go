// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package appcache

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/status"
)

// Caches returns the cache settings of the objects that delivery and mirror watch: only the fields
// that they read are kept. AppProjects live in argocdNamespace. A spec of specLimit bytes or more
// is not kept, because it is not delivered.
func Caches(argocdNamespace string, specLimit int) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&argocd.Application{}: {Transform: specs.TrimApplication(specLimit)},
		&workv1.ManifestWork{}: {
			Label:     pulledWorks,
			Transform: manifestcache.Transform(payload.StoredOf, countRejected),
		},
		&argocd.AppProject{}: {Namespaces: map[string]cache.Config{argocdNamespace: {}}, Transform: trimMetadata},
		&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{argocdNamespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", argocd.ConfigMapName)}},
			Transform:  trimSettings,
		},
		&clusterv1.ManagedCluster{}:         {Transform: trimCluster},
		&clusterv1beta1.PlacementDecision{}: {Transform: trimMetadata},
		argocd.ApplicationSetMetadata():     {Transform: trimDecisions},
		NamespaceMetadata():                 {Transform: trimDecisions},
	}
}

// specs limits the memory that the specs of Applications use in this process.
var specs = manifestcache.NewSpecs(payload.ApplicationSpecHash, func(omitted int) { specsOmitted.Set(float64(omitted)) })

// ReleaseSpecs stops counting the specs of Applications that leave a cache with [Caches].
func ReleaseSpecs(ctx context.Context, c cache.Cache) error {
	informer, err := c.GetInformer(ctx, &argocd.Application{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	if _, err = informer.AddEventHandler(release(specs)); err != nil {
		return fmt.Errorf("watch Applications: %w", err)
	}
	return nil
}

// release returns the handler of Applications that leave the cache.
func release(specs *manifestcache.Specs) toolscache.ResourceEventHandlerFuncs {
	return toolscache.ResourceEventHandlerFuncs{
		// After an interrupted watch, a re-created Application is an update of its key.
		UpdateFunc: func(before, after any) {
			was, ok := before.(*argocd.Application)
			if app, same := after.(*argocd.Application); ok && same && was.UID != app.UID {
				specs.Forget(was.UID)
			}
		},
		DeleteFunc: func(o any) {
			if gone, missed := o.(toolscache.DeletedFinalStateUnknown); missed {
				o = gone.Obj
			}
			if app, ok := o.(*argocd.Application); ok {
				specs.Forget(app.UID)
			}
		},
	}
}

// Whole returns a cached Application with everything that decisions need. If the cache left a part
// of it out, Whole reads the Application from the API server. A spec of more than specLimit bytes
// is not delivered, so it stays left out. The error is a conflict if the cache is behind.
func Whole(ctx context.Context, live client.Reader, app *argocd.Application, specLimit int) (*argocd.Application, error) {
	if size := manifestcache.Omitted(app.Spec); !manifestcache.Reduced(app) && (size == 0 || size > specLimit) {
		return app, nil
	}
	whole, err := Live(ctx, live, app)
	if err != nil {
		return nil, err
	}
	_, err = manifestcache.TrimApplication(specLimit)(whole)
	return whole, err
}

// Live reads a cached Application from the API server. The error is a conflict if the cache is
// behind: the Application is gone, or another one has its name.
func Live(ctx context.Context, live client.Reader, app *argocd.Application) (*argocd.Application, error) {
	whole := &argocd.Application{}
	err := live.Get(ctx, client.ObjectKeyFromObject(app), whole)
	if apierrors.IsNotFound(err) || err == nil && whole.UID != app.UID {
		return nil, apierrors.NewConflict(argocd.GroupVersion.WithResource(argocd.ApplicationPlural).GroupResource(), app.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("get Application %s: %w", client.ObjectKeyFromObject(app), err)
	}
	return whole, nil
}

func trimMetadata(in any) (any, error) {
	if o, ok := in.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return in, nil
}

// trimSettings keeps the one key of Argo CD's settings that propagation reads.
func trimSettings(in any) (any, error) {
	if settings, ok := in.(*corev1.ConfigMap); ok {
		settings.ManagedFields, settings.Annotations, settings.BinaryData = nil, nil, nil
		maps.DeleteFunc(settings.Data, func(key, _ string) bool { return key != argocd.GlobalProjectsKey })
	}
	return in, nil
}

func trimCluster(in any) (any, error) {
	if cluster, ok := in.(*clusterv1.ManagedCluster); ok {
		cluster.ManagedFields = nil
		claim := PauseClaim(cluster)
		rejected := status.TrimCluster(&cluster.Status)
		if claim != "" {
			cluster.Status.ClusterClaims = []clusterv1.ManagedClusterClaim{{Name: contract.PauseClaim, Value: strings.Clone(contract.Token(claim, &rejected))}}
		}
		countRejected(&rejected)
	}
	return in, nil
}

// PauseClaim returns the value of the ClusterClaim by which a managed cluster pauses itself, or ""
// if it has none.
func PauseClaim(cluster *clusterv1.ManagedCluster) string {
	for _, claim := range cluster.Status.ClusterClaims {
		if claim.Name == contract.PauseClaim {
			return claim.Value
		}
	}
	return ""
}

// NamespaceMetadata returns an empty Namespace to read metadata into.
func NamespaceMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// trimDecisions keeps the overrides and policies that an ApplicationSet or Namespace carries.
func trimDecisions(in any) (any, error) {
	o, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	kept := metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}
	for _, key := range []string{contract.DeletionBudgetAnnotation, contract.DeletionPolicyAnnotation, contract.PausedAnnotation} {
		if value, exists := o.Annotations[key]; exists {
			if kept.Annotations == nil {
				kept.Annotations = map[string]string{}
			}
			kept.Annotations[key] = strings.Clone(contract.Token(value, &contract.Rejected{}))
		}
	}
	o.ObjectMeta = kept
	return o, nil
}

// TrimCluster returns a ManagedCluster from the API server in the form that the cache has.
func TrimCluster(live *clusterv1.ManagedCluster) *clusterv1.ManagedCluster {
	_, _ = trimCluster(live) // it never returns an error
	return live
}

// TrimDecisions returns an ApplicationSet or Namespace from the API server in the form that the
// cache has.
func TrimDecisions(live *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	_, _ = trimDecisions(live) // it never returns an error
	return live
}

// Compact returns a ManifestWork from the API server in the form that the cache has.
func Compact(live *workv1.ManifestWork) *manifestcache.Work {
	stored := payload.StoredOf(live)
	work, rejected := manifestcache.Compact(live, &stored)
	countRejected(&rejected)
	return work
}
