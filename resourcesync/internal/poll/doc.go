// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package poll requests the resources on managed clusters from search at an interval, and keeps the intermediate
// reports up to date.
//
// Only a valid answer replaces the data about a cluster. After a failed or incomplete answer, the data stays, and
// after some time the report shows the data's age. Additions in a valid answer count at once. Resources and
// Applications that are missing in it are held for five minutes, each with its time in the report. A cluster without
// an answer, or with a slow answer, is requested alone.
package poll
