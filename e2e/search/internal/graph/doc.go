// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package graph is the GraphQL face of the stand-in for search v2: its schema,
// the code that gqlgen makes of it, and the resolvers.
package graph

//go:generate env GOWORK=off go tool -modfile=gqlgen.mod gqlgen generate
//go:generate sed -i 0r../../../../.header.go.txt generated.go models.go
