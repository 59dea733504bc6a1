// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/attest"
	"open-cluster-management.io/multicluster-integrations/deploy/release/internal/store"
)

const (
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	predicateAnnotation = "predicateType"
	simpleSigning       = "application/vnd.dev.cosign.simplesigning.v1+json"
	envelopeType        = "application/vnd.dsse.envelope.v1+json"
	payloadKind         = "cosign container image signature"
	// inTotoPayload is the payload type that cosign expects in an envelope.
	inTotoPayload = "application/vnd.in-toto+json"
)

// payload is what is signed of an image: see the signature format of containers/image.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

// SignatureTag is where cosign looks for the signature of a digest.
func SignatureTag(digest v1.Hash) string { return tagFor(digest, "sig") }

func tagFor(digest v1.Hash, suffix string) string {
	return strings.Replace(digest.String(), ":", "-", 1) + "." + suffix
}

// Image signs the digest of an image that is published as repository.
func (k *Key) Image(repository string, digest v1.Hash) (store.Entry, error) {
	var p payload
	p.Critical.Identity.Reference, p.Critical.Image.Digest, p.Critical.Type = repository, digest.String(), payloadKind
	content, err := json.Marshal(p)
	if err != nil {
		return store.Entry{}, err
	}
	signature, err := k.Sign(content)
	if err != nil {
		return store.Entry{}, err
	}
	return entry(SignatureTag(digest), store.Blob{Content: content, Type: simpleSigning, Annotations: map[string]string{signatureAnnotation: signature}})
}

// Statement signs an in-toto statement about digest.
func (k *Key) Statement(statement []byte, digest v1.Hash) (store.Entry, error) {
	signature, err := k.Sign(dsse.PAE(inTotoPayload, statement))
	if err != nil {
		return store.Entry{}, err
	}
	content, err := json.Marshal(dsse.Envelope{
		PayloadType: inTotoPayload, Payload: base64.StdEncoding.EncodeToString(statement), Signatures: []dsse.Signature{{Sig: signature}},
	})
	if err != nil {
		return store.Entry{}, err
	}
	return entry(tagFor(digest, "att"), store.Blob{Content: content, Type: envelopeType, Annotations: map[string]string{
		signatureAnnotation: "", predicateAnnotation: attest.PredicateType,
	}})
}

// entry wraps a signature as cosign does: an image with the signature as its layer.
func entry(tag string, layer store.Blob) (store.Entry, error) {
	digest, _, err := v1.SHA256(bytes.NewReader(layer.Content))
	if err != nil {
		return store.Entry{}, err
	}
	config, err := json.Marshal(map[string]any{"architecture": "", "os": "", "rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest.String()}}, "config": map[string]any{}})
	if err != nil {
		return store.Entry{}, err
	}
	img, err := store.Artifact{Config: store.Blob{Content: config, Type: types.OCIConfigJSON}, Layers: []store.Blob{layer}}.Image()
	return store.Entry{Image: img, Tag: tag}, err
}

// VerifyImage returns an error unless signatures, what a registry has under the
// signature tag, hold one by this key of digest.
func (k *Key) VerifyImage(signatures v1.Image, digest v1.Hash) error {
	manifest, err := signatures.Manifest()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range manifest.Layers {
		err := k.verifyLayer(signatures, d, digest)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("no signature of %s by this key: %w", digest, errors.Join(errs...))
}

func (k *Key) verifyLayer(signatures v1.Image, d v1.Descriptor, digest v1.Hash) error {
	layer, err := signatures.LayerByDigest(d.Digest)
	if err != nil {
		return err
	}
	r, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	const enough = 64 << 10
	content, err := io.ReadAll(io.LimitReader(r, enough))
	if err != nil {
		return err
	}
	if err := k.Verify(content, d.Annotations[signatureAnnotation]); err != nil {
		return err
	}
	var p payload
	if err := json.Unmarshal(content, &p); err != nil {
		return fmt.Errorf("decode what was signed: %w", err)
	}
	if p.Critical.Image.Digest != digest.String() || p.Critical.Type != payloadKind {
		return fmt.Errorf("the signature is of %s", p.Critical.Image.Digest)
	}
	return nil
}
