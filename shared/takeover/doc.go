// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package takeover has a new leader begin with what changed while nobody led. It looks at
// everything once, which takes seconds where there is much; that those changes wait for
// their turn in it is what users would see of a takeover.
package takeover
