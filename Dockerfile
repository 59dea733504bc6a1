# Copyright 2026 The multicluster-integrations Authors.
# SPDX-License-Identifier: Apache-2.0
#
# One image for each of the three binaries:
#
#   docker build --build-arg MODULE=propagation --build-arg VERSION=0.1.0 \
#     --build-arg REVISION=$(git rev-parse HEAD) -t multicluster-integrations/propagation:0.1.0 .
#
# With `docker buildx build --platform linux/amd64,linux/arm64` Go compiles on the
# builder's own architecture for each target; nothing is emulated.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG MODULE
ARG REVISION=unknown
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
# The module and what it shares, and nothing else: a change in another module does
# not rebuild this image.
COPY shared shared
COPY ${MODULE} ${MODULE}
WORKDIR /src/${MODULE}
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOWORK=off GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X open-cluster-management.io/multicluster-integrations/shared/boot.Revision=${REVISION}" \
    -o /binary .

FROM scratch
ARG MODULE
ARG VERSION
ARG REVISION=unknown
LABEL org.opencontainers.image.title="multicluster-integrations ${MODULE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# System roots: a search service may have a certificate of a public authority.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /binary /binary
USER 65532:65532
ENTRYPOINT ["/binary"]
