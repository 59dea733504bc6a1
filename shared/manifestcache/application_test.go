// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package manifestcache

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
		if got := Omitted(app.Spec); got != c.omitted {
			t.Errorf("%s: %s: %d bytes are omitted, want %d", name, c.reason, got, c.omitted)
		}
	}
}

// A tenant decides how large each part of an Application is. The cache keeps little more than a usual Application
// has, and what is kept is enough to find it.
func TestSpecs_boundEachApplication(t *testing.T) {
	const size = 256 << 10
	text := strings.Repeat("x", size)
	many := func(size int) map[string]string {
		m := map[string]string{}
		for i := range size / 64 {
			m[fmt.Sprintf("example.com/%08d", i)] = text[:44]
		}
		return m
	}
	for name, c := range map[string]struct {
		change func(*argocd.Application)
		whole  bool // although a part is too large
	}{
		"usual":     {change: func(*argocd.Application) {}, whole: true},
		"operation": {change: func(a *argocd.Application) { a.Operation = json.RawMessage(`{"sync":{"manifests":["` + text + `"]}}`) }},
		"undeliverable": {change: func(a *argocd.Application) {
			a.Operation = json.RawMessage(`{"a":"` + strings.Repeat("x", testLimit) + `"}`)
		}, whole: true},
		"annotation":          {change: func(a *argocd.Application) { a.Annotations["example.com/note"] = text }},
		"annotations we read": {change: func(a *argocd.Application) { a.Annotations[contract.PausedAnnotation] = text }},
		"labels":              {change: func(a *argocd.Application) { maps.Copy(a.Labels, many(size)) }},
		"tiny labels": {change: func(a *argocd.Application) {
			for i := range maxRest / overhead {
				a.Labels[fmt.Sprint(i)] = ""
			}
		}},
		"finalizers": {change: func(a *argocd.Application) { a.Finalizers = slices.Collect(maps.Keys(many(size))) }},
		"owners": {change: func(a *argocd.Application) {
			a.OwnerReferences = append(a.OwnerReferences, metav1.OwnerReference{Name: text})
		}},
		"status": {change: func(a *argocd.Application) { a.Status = json.RawMessage(`{"conditions":[{"message":"` + text + `"}]}`) }},
		"spec": {change: func(a *argocd.Application) {
			a.Spec = json.RawMessage(`{"project":"team","x":"` + strings.Repeat("x", testLimit) + `"}`)
		}, whole: true},
		"spec and annotation": {change: func(a *argocd.Application) {
			a.Spec = json.RawMessage(`{"project":"team","x":"` + strings.Repeat("x", testLimit) + `"}`)
			a.Annotations["example.com/note"] = text
		}},
		"not pulled": {change: func(a *argocd.Application) {
			notPulled(a)
			maps.Copy(a.Annotations, many(size))
			maps.Copy(a.Labels, many(size))
		}, whole: true},
		"not pulled, and hostile": {change: func(a *argocd.Application) { notPulled(a); a.Annotations[contract.PausedAnnotation] = text }},
	} {
		s, left := bounded()
		app := withSpec("team", "app", "", 100)
		app.Annotations = map[string]string{contract.ClusterAnnotation: "cluster1", "example.com/short": "note"}
		app.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "set"}}
		c.change(app)
		pulled, cluster := app.Labels[contract.PullLabel], app.Annotations[contract.ClusterAnnotation]
		var before string
		for range 2 { // a resync of the informer transforms a cached object
			kept(t, s, app)
			raw, err := json.Marshal(app)
			if err != nil {
				t.Fatal(err)
			}
			if len(raw) > maxRest+2<<10 || before != "" && before != string(raw) {
				t.Errorf("%s: %d bytes are kept: %.500s", name, len(raw), raw)
			}
			before = string(raw)
		}
		if Reduced(app) == c.whole || (*left > 0) == c.whole {
			t.Errorf("%s: reduced is %t, %d are reported", name, Reduced(app), *left)
		}
		if app.Labels[contract.PullLabel] != pulled || app.Annotations[contract.ClusterAnnotation] != cluster || app.OwningApplicationSet() != "set" || pulled != "" && !strings.Contains(string(app.Spec), `"project":"team"`) {
			t.Errorf("%s: it cannot be found: %s", name, before)
		}
		s.Forget(app.UID)
		if *left != 0 {
			t.Errorf("%s: it is still counted", name)
		}
	}
}

func notPulled(a *argocd.Application) {
	a.Labels, a.Annotations = map[string]string{}, map[string]string{}
}

// Each change of a field that the cache leaves out changes the kept Application, so that handlers receive the event.
func TestReduced_changesWithEachField(t *testing.T) {
	large := func(change func(*argocd.Application)) string {
		s, _ := bounded()
		app := withSpec("team", "app", "", 100)
		app.Annotations = map[string]string{contract.ClusterAnnotation: "cluster1", "example.com/note": strings.Repeat("x", maxRest)}
		change(app)
		kept(t, s, app)
		if !Reduced(app) {
			t.Fatal("it is kept completely")
		}
		return string(app.Spec)
	}
	same := large(func(*argocd.Application) {})
	if again := large(func(a *argocd.Application) {
		a.ResourceVersion, a.ManagedFields = "7", make([]metav1.ManagedFieldsEntry, 1)
	}); again != same {
		t.Errorf("%s became %s without a change", same, again)
	}
	for name, change := range map[string]func(*argocd.Application){
		"label":      func(a *argocd.Application) { a.Labels["a"] = "b" },
		"annotation": func(a *argocd.Application) { a.Annotations["example.com/note"] += "y" },
		"finalizer":  func(a *argocd.Application) { a.Finalizers = []string{argocd.ResourcesFinalizer} },
		"operation":  func(a *argocd.Application) { a.Operation = json.RawMessage(`{"sync":{}}`) },
		"status":     func(a *argocd.Application) { a.Status = json.RawMessage(`{"health":{}}`) },
		"spec": func(a *argocd.Application) {
			a.Spec = json.RawMessage(strings.Replace(string(a.Spec), "shop", "sold", 1))
		},
	} {
		if large(change) == same {
			t.Errorf("a change of the %s is lost", name)
		}
	}
}
