package command
import (_ "open-cluster-management.io/multicluster-integrations/rollout/internal/step"
_ "sigs.k8s.io/controller-runtime"
 "open-cluster-management.io/multicluster-integrations/shared/boot"
)
func Program() boot.Program { return boot.Program{}}
func New() boot.Command { return nil }
