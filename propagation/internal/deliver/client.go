// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// metadataOnly asks the API server to answer with an object's metadata.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// NewClient returns the client that delivery wants its manager to have. It creates
// ManifestWorks without having the API server send them back: encoding and decoding
// them again is a good part of what a first delivery to a whole fleet costs. After
// Create a work has its new metadata and the spec that it had.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	return newClient(config, options)
}

func newClient(config *rest.Config, options client.Options) (client.WithWatch, error) {
	usual, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	http := options.HTTPClient
	if http == nil {
		if http, err = rest.HTTPClientFor(config); err != nil {
			return nil, err
		}
	}
	works, err := apiutil.RESTClientForGVK(workKind, false, false, config, serializer.NewCodecFactory(usual.Scheme()), http)
	if err != nil {
		return nil, fmt.Errorf("make a client for ManifestWorks: %w", err)
	}
	return &creator{usual, works}, nil
}

type creator struct {
	client.WithWatch
	works rest.Interface
}

// Create creates obj.
func (c *creator) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	work, ok := obj.(*workv1.ManifestWork)
	if !ok || len(options) > 0 {
		return c.WithWatch.Create(ctx, obj, options...)
	}
	sent := *work
	sent.SetGroupVersionKind(workKind)
	body, err := encode("ManifestWork", &sent)
	if err != nil {
		return err
	}
	result := c.works.Post().Namespace(work.Namespace).Resource("manifestworks").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", metadataOnly).Body([]byte(body)).Do(ctx)
	if err := result.Error(); err != nil { // in the words of the API server, unlike Raw's
		return err
	}
	raw, err := result.Raw()
	if err != nil {
		return err
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("decode the answer to the creation of ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	work.ObjectMeta = answer.ObjectMeta
	return nil
}
