// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
)

const testLimit = 500 << 10

// The cache bounds the memory for an Application, however large a tenant makes it.
func TestTrimApplication_boundsWhatIsKept(t *testing.T) {
	pulled := func(a *argocd.Application) {
		a.Labels, a.Annotations = map[string]string{contract.PullLabel: "true"}, map[string]string{contract.ClusterAnnotation: "cluster1"}
	}
	results := strings.TrimSuffix(strings.Repeat(`{"group":"apps","kind":"Deployment","name":"web","status":"Synced"},`, 300), ",")
	state := `{"finishedAt":"2026-01-01T00:00:01Z","phase":"Succeeded","syncResult":%s}`
	whole := fmt.Sprintf(`{"health":{"status":"Healthy"},"operationState":`+state+`,"resources":[]}`, `{"resources":[`+results+`]}`)
	const own = `[{"message":"theirs","type":"SyncError"},{"message":"ours","type":"%s"}]`
	spec := `{"destination":{"namespace":"sales"},"project":"team","source":{"path":"x"}}`
	large := func(bytes int) string {
		with := strings.Replace(spec, `"x"`, `"%s"`, 1)
		return fmt.Sprintf(with, strings.Repeat("x", bytes-len(with)+len("%s")))
	}
	for name, c := range map[string]struct {
		reason             string
		change             func(*argocd.Application)
		spec, status       string
		wantSpec, wantStat string
		omitted            int
	}{
		"not pulled":     {reason: "no reader has a word for it", spec: large(1 << 20), status: whole},
		"pulled before":  {reason: "our conditions are taken off, others stay", spec: spec, status: `{"conditions":` + fmt.Sprintf(own, "ApplyFailedError") + `,"health":{}}`, wantStat: `{"conditions":` + fmt.Sprintf(own, "ApplyFailedError") + `}`},
		"refused before": {reason: "so are delivery's", spec: spec, status: `{"conditions":` + fmt.Sprintf(own, contract.DeliveryErrorCondition) + `}`, wantStat: `{"conditions":` + fmt.Sprintf(own, contract.DeliveryErrorCondition) + `}`},
		"hostile":        {reason: "a condition of ours lets nobody keep a list without end", status: `{"conditions":` + fmt.Sprintf(own, "ApplyFailedError"+strings.Repeat("x", 1<<20)) + `}`},
		"others' words":  {reason: "conditions of others alone have no reader", status: `{"conditions":[{"message":"m","type":"SyncError"}]}`},
		"pulled": {
			reason: "delivered and compared, but for the results of a sync; their name stays, so that a patch can remove them", change: pulled, spec: spec, status: whole, wantSpec: spec,
			wantStat: `{"health":{"status":"Healthy"},"operationState":` + fmt.Sprintf(state, `{"resources":0}`) + `}`,
		},
		"unlabelled":  {reason: "its annotation asks for a cluster", change: func(a *argocd.Application) { pulled(a); a.Labels = nil }, spec: spec, wantSpec: spec},
		"at limit":    {reason: "it may just be delivered", change: pulled, spec: large(testLimit), wantSpec: large(testLimit)},
		"above limit": {reason: "it never is", change: pulled, spec: large(testLimit + 1), omitted: testLimit + 1, wantSpec: `{"destination":{"namespace":"sales"},"multicluster-integrations/bytes":512001,"project":"team"}`},
		"large project": {
			reason: "what is left of it is bounded, too", change: pulled, spec: `{"project":"` + strings.Repeat("x", testLimit) + `"}`, omitted: testLimit + 14, wantSpec: `{"multicluster-integrations/bytes":512014}`,
		},
	} {
		app := &argocd.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop"}}
		if c.spec != "" {
			app.Spec = json.RawMessage(c.spec)
		}
		if c.status != "" {
			app.Status = json.RawMessage(c.status)
		}
		if c.change != nil {
			c.change(app)
		}
		if _, err := TrimApplication(testLimit)(app); err != nil {
			t.Fatal(err)
		}
		if got := string(app.Spec); got != c.wantSpec {
			t.Errorf("%s: %s: kept %d bytes of spec: %.200s", name, c.reason, len(got), got)
		}
		if got := string(app.Status); got != c.wantStat {
			t.Errorf("%s: %s: kept %d bytes of status: %.300s", name, c.reason, len(got), got)
		}
		if got := OmittedSpec(app.Spec); got != c.omitted {
			t.Errorf("%s: %s: %d bytes are omitted, want %d", name, c.reason, got, c.omitted)
		}
	}
}
