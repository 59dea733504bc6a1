module open-cluster-management.io/multicluster-integrations/e2e/tools/next

go 1.26.3

require github.com/argoproj/argo-cd/v3 v3.5.7
