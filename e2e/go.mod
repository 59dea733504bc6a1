module open-cluster-management.io/multicluster-integrations/e2e

go 1.26.0

// Shared code is never copied and never released on its own: every module builds
// with the checkout's shared, with and without the workspace.
replace open-cluster-management.io/multicluster-integrations/shared => ../shared
