module open-cluster-management.io/multicluster-integrations/e2e/tools

go 1.26.0
