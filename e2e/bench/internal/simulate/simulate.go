// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate builds the objects around the product. Open Cluster Management and the ApplicationSet
// controller would write them on the hub, and the work agents would report the status. The package is pure.
// Its names agree with e2e/search/memory.
package simulate

import (
	"encoding/json"
	"fmt"

	"open-cluster-management.io/multicluster-integrations/e2e/search/memory"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

// Namespace is the namespace of the Applications.
const Namespace = memory.Namespace

// These are the paths of the resources on the API server.
const (
	Namespaces      = "/api/v1/namespaces"
	ManagedClusters = "/apis/cluster.open-cluster-management.io/v1/managedclusters"
	Works           = "/apis/work.open-cluster-management.io/v1/manifestworks"
	Applications    = "/apis/argoproj.io/v1alpha1/namespaces/" + Namespace + "/applications"
	Sets            = "/apis/argoproj.io/v1alpha1/namespaces/" + Namespace + "/applicationsets"
	Projects        = "/apis/argoproj.io/v1alpha1/namespaces/" + Namespace + "/appprojects"
	Decisions       = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/" + Namespace + "/placementdecisions"
	Reports         = "/apis/apps.open-cluster-management.io/v1alpha1/namespaces/" + Namespace + "/multiclusterapplicationsetreports"
)

// WorksIn returns the path of the ManifestWorks of a cluster.
func WorksIn(cluster string) string {
	return "/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks"
}

// object is a JSON object.
type object = map[string]any

func encode(o object) []byte {
	out, err := json.Marshal(o)
	if err != nil {
		return nil // maps of strings and numbers always encode
	}
	return out
}

// NamespaceObject returns the namespace of a cluster on the hub.
func NamespaceObject(name string) []byte {
	return encode(object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
}

// ManagedCluster returns an accepted cluster.
func ManagedCluster(name string) []byte {
	return encode(object{
		"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": object{"name": name, "labels": object{"name": name, "region": "eu-" + name[len(name)-1:], "vendor": "OpenShift"}},
		"spec":     object{"hubAcceptsClient": true, "leaseDurationSeconds": 60},
	})
}

// Available returns the status of an available cluster.
func Available() []byte {
	condition := func(kind, reason string) object {
		return object{"type": kind, "status": "True", "reason": reason, "message": "Managed cluster is available", "lastTransitionTime": began}
	}
	return encode(object{"status": object{
		"conditions": []object{
			condition("HubAcceptedManagedCluster", "HubClusterAdminAccepted"), condition("ManagedClusterJoined", "ManagedClusterJoined"),
			condition("ManagedClusterConditionAvailable", "ManagedClusterAvailable"),
		},
		"capacity":    object{"cpu": "96", "memory": "402653184Ki", "pods": "750"},
		"allocatable": object{"cpu": "94", "memory": "398458880Ki", "pods": "750"},
		"version":     object{"kubernetes": "v1.37.0"},
	}})
}

// DecisionSize is the highest number of clusters in one PlacementDecision.
const DecisionSize = 100

// Decision returns the n-th PlacementDecision of the placement "all".
func Decision(n int) (name string, body []byte) {
	name = fmt.Sprintf("all-decision-%d", n)
	return name, encode(object{
		"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
		"metadata": object{"namespace": Namespace, "name": name, "labels": object{"cluster.open-cluster-management.io/placement": "all"}},
	})
}

// Decided returns the status of a PlacementDecision that selects clusters.
func Decided(clusters []string) []byte {
	decisions := make([]object, len(clusters))
	for i, c := range clusters {
		decisions[i] = object{"clusterName": c, "reason": ""}
	}
	return encode(object{"status": object{"decisions": decisions}})
}

// Set returns an ApplicationSet. No controller here generates its Applications.
func Set(name string) []byte {
	return encode(object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": object{"namespace": Namespace, "name": name},
		"spec": object{
			"generators": []object{{"clusterDecisionResource": object{"configMapRef": "ocm-placement-generator", "labelSelector": object{
				"matchLabels": object{"cluster.open-cluster-management.io/placement": "all"}}, "requeueAfterSeconds": 30}}},
			"template": object{"metadata": object{"name": name + "-{{name}}"}, "spec": spec(name)},
		},
	})
}

// ApplicationName returns the name of a set's Application for a cluster.
func ApplicationName(set, cluster string) string { return set + "-" + cluster }

// Application returns the Application that the ApplicationSet controller would create for a cluster.
func Application(set, setUID, cluster string) []byte {
	return encode(object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": object{
			"namespace": Namespace, "name": ApplicationName(set, cluster),
			"labels":      object{contract.PullLabel: "true"},
			"annotations": object{contract.ClusterAnnotation: cluster, "argocd.argoproj.io/skip-reconcile": "true"},
			"finalizers":  []string{"resources-finalizer.argocd.argoproj.io"},
			"ownerReferences": []object{{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": set, "uid": setUID, "controller": true, "blockOwnerDeletion": true,
			}},
		},
		"spec": spec(set),
	})
}

// spec returns a spec of a realistic size: a chart with values.
func spec(set string) object {
	return object{
		"project":     "default",
		"destination": object{"namespace": set, "server": "https://kubernetes.default.svc"},
		"source": object{
			"repoURL": "https://git.example.com/apps.git", "path": "charts/" + set, "targetRevision": "main",
			"helm": object{"releaseName": set, "values": "replicaCount: 3\nimage:\n  repository: registry.example.com/shop/" + set +
				"\n  tag: v1.42.0\nresources:\n  requests: {cpu: 100m, memory: 128Mi}\n  limits: {memory: 256Mi}\ningress:\n  enabled: true\n  className: nginx\n" +
				"  hosts:\n  - host: " + set + ".example.com\n    paths: [{path: /, pathType: Prefix}]\nautoscaling: {enabled: true, minReplicas: 3, maxReplicas: 12}\n"},
		},
		"syncPolicy": object{
			"automated":   object{"prune": true, "selfHeal": true},
			"syncOptions": []string{"CreateNamespace=true", "ServerSideApply=true"},
			"retry":       object{"limit": 5, "backoff": object{"duration": "5s", "factor": 2, "maxDuration": "3m"}},
		},
	}
}

// DefaultProject returns the AppProject that every Argo CD has.
func DefaultProject() []byte {
	everything := []object{{"group": "*", "kind": "*"}}
	return encode(object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": object{"namespace": Namespace, "name": "default"},
		"spec": object{"sourceRepos": []string{"*"}, "destinations": []object{{"namespace": "*", "server": "*"}}, "clusterResourceWhitelist": everything},
	})
}
