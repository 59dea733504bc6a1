// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// StartHub starts a control plane until the benchmark ends, and creates the objects of this hub in
// it. flags are flags of kube-apiserver.
func (h *MemoryHub) StartHub(b *testing.B, flags map[string]string) *rest.Config {
	b.Helper()
	for variable, value := range map[string]string{assetsVariable: "", "TMPDIR": os.Getenv("TMPDIR")} {
		b.Setenv(variable, value) // Start changes it
	}
	config, stop, err := Start(func(env *envtest.Environment) {
		for name, value := range flags {
			env.ControlPlane.GetAPIServer().Configure().Set(name, value)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stop(); err != nil {
			b.Errorf("stop the control plane: %v", err)
		}
	})
	config.WarningHandler = rest.NoWarnings{} // one for each finalizer
	if err := h.load(b.Context(), config); err != nil {
		b.Fatal(err)
	}
	return config
}

func (h *MemoryHub) load(ctx context.Context, config *rest.Config) error {
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	namespaces := map[string]bool{}
	for _, k := range h.kinds {
		writers, ctx := errgroup.WithContext(ctx)
		writers.SetLimit(16)
		for i := range k.objects {
			object := &unstructured.Unstructured{}
			if err := json.Unmarshal(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,%s`, k.GroupVersion(), k.kind, k.object(i)[1:]), &object.Object); err != nil {
				return err
			}
			object.SetUID("")
			object.SetResourceVersion("")
			if namespace := object.GetNamespace(); namespace != "" && !namespaces[namespace] {
				namespaces[namespace] = true
				if err := createNamespace(ctx, c, namespace); err != nil {
					return err
				}
			}
			writers.Go(func() error {
				return create(ctx, c.Resource(k.GroupVersionResource).Namespace(object.GetNamespace()), object)
			})
		}
		if err := writers.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func createNamespace(ctx context.Context, c dynamic.Interface, name string) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, namespace, metav1.CreateOptions{})
	return err
}

// create creates an object and writes its status, unless the kind has no status subresource.
func create(ctx context.Context, c dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	created, err := c.Create(ctx, object, metav1.CreateOptions{})
	if err != nil || created.Object["status"] != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": object.Object["status"]})
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, object.GetName(), types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return client.IgnoreNotFound(err)
}
